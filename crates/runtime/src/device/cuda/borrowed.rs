//! Memory of other libraries, which is given back once the work on it has finished.

use super::event::Event;
use super::primary::Primary;
use super::stream::Stream;
use crate::device::host_allocation::ForeignOwner;
use crate::device::lock;
use crate::sync::Mutex;
use cust::event::EventFlags;
use std::collections::VecDeque;
use std::sync::Arc;

/// The owners of memory that work on a GPU may still use.
pub struct Borrowed {
    owners: Mutex<Owners>,
    primary: Arc<Primary>,
}

#[derive(Default)]
struct Owners {
    /// In the order in which the last handle to their memory was dropped.
    pending: VecDeque<(Event, ForeignOwner)>,
    /// Events for later owners.
    idle: Vec<Event>,
}

impl Borrowed {
    pub fn new(primary: &Arc<Primary>) -> Borrowed {
        Borrowed {
            owners: Mutex::default(),
            primary: primary.clone(),
        }
    }

    /// Drops an owner after the present work of `stream`: in one of the next calls of
    /// [`give_back`](Self::give_back).
    pub fn keep(&self, stream: &Stream, owner: ForeignOwner) {
        let idle = lock(&self.owners).idle.pop();
        let new = || Event::new(&self.primary, EventFlags::DISABLE_TIMING);
        let event = idle.map_or_else(new, Ok);
        match event.and_then(|event| event.record(stream).map(|()| event)) {
            Ok(event) => lock(&self.owners).pending.push_back((event, owner)),
            // Memory that work may still use is not given back.
            Err(_) if stream.synchronize().is_err() => std::mem::forget(owner),
            Err(_) => {}
        }
    }

    /// Drops the owners whose work has finished, but for those behind an owner whose work has not.
    pub fn give_back(&self) {
        // Dropped when the lock is free: an owner may wait for another thread that waits for it.
        let mut finished = Vec::new();
        let mut guard = lock(&self.owners);
        let owners = &mut *guard;
        while let Some((event, owner)) = owners.pending.pop_front() {
            if !event.has_happened() {
                owners.pending.push_front((event, owner));
                break;
            }
            finished.push(owner);
            owners.idle.push(event);
        }
        drop(guard);
    }
}
