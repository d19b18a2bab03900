//! Page-locked memory from which a stream copies a few bytes at a time to the GPU.
//!
//! The driver may read pageable memory after the call that starts a copy has returned. Few bytes are
//! therefore written to page-locked memory first, so that calls need not wait for the stream.

use super::event::Event;
use super::page_locked::HostAllocation;
use super::primary::Primary;
use crate::Result;
use crate::device::lock;
use crate::sync::Mutex;
use cust::event::EventFlags;
use cust::stream::Stream;
use cust::sys;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Bytes of a slot, which is the longest copy.
pub const SLOT: usize = 1 << 10;

/// The number of slots.
const SLOTS: usize = 64;

/// The slots that are used again together, once the stream has copied all of them.
const HALF: usize = SLOTS / 2;

/// The slots of a stream, made for the first copy that needs them.
#[derive(Default)]
pub struct Outbox {
    /// `None` if the host cannot lock so much memory.
    ring: OnceLock<Option<Mutex<Ring>>>,
}

/// Slots that are used in turn.
struct Ring {
    memory: HostAllocation<u8>,
    /// The number of the slot for the next copy.
    next: usize,
    /// The events after the last copies from each half.
    copied: [Event; 2],
}

impl Outbox {
    /// Whether copies may have been started.
    pub fn is_used(&self) -> bool {
        self.ring.get().is_some_and(Option::is_some)
    }

    /// Starts a copy of at most [`SLOT`] bytes on `stream`, the owner of the slots. The source may
    /// change when this returns. Returns `None` if there are no slots. An error names `operation`.
    ///
    /// # Safety
    /// `source` points to `bytes` bytes, which may be padding, and the memory at `address` has as
    /// many. It is freed only after the stream has done this.
    pub unsafe fn copy_in(
        &self,
        primary: &Arc<Primary>,
        stream: &Stream,
        source: *const u8,
        bytes: usize,
        address: sys::CUdeviceptr,
        operation: impl fmt::Display,
    ) -> Option<Result<()>> {
        let make = || Ring::new(primary).ok().map(Mutex::new);
        let mut ring = lock(self.ring.get_or_init(make).as_ref()?);
        // SAFETY: the caller keeps the contract, which is that of `Ring::copy_in` too: both ends
        // have `bytes` bytes, and the memory of the GPU is freed only after the copy.
        Some(unsafe { ring.copy_in(primary, stream, source, bytes, address, operation) })
    }
}

impl Ring {
    fn new(primary: &Arc<Primary>) -> Result<Ring> {
        let event = || Event::new(primary, EventFlags::DISABLE_TIMING);
        Ok(Ring {
            memory: HostAllocation::new(primary, SLOTS * SLOT)?,
            next: 0,
            copied: [event()?, event()?],
        })
    }

    /// # Safety
    /// As [`Outbox::copy_in`].
    unsafe fn copy_in(
        &mut self,
        primary: &Primary,
        stream: &Stream,
        source: *const u8,
        bytes: usize,
        address: sys::CUdeviceptr,
        operation: impl fmt::Display,
    ) -> Result<()> {
        let (slot, copied) = (self.next, &self.copied[self.next / HALF]);
        if slot.is_multiple_of(HALF) {
            // Returns at once if the event has not been recorded yet.
            copied.synchronize()?;
        }
        let place = self.memory.as_mut_slice()[slot * SLOT..][..bytes].as_mut_ptr();
        // SAFETY: both have these bytes, and the stream has copied what the slot had before: the
        // event of its half was awaited.
        unsafe { place.copy_from_nonoverlapping(source, bytes) };
        let (raw, from) = (stream.as_inner(), place.cast_const().cast());
        // SAFETY: both have these bytes. Until the event of the half is awaited, nothing else writes
        // to the slot; by the contract of this function, the memory at `address` is freed only
        // after the copy.
        let start = || unsafe { sys::cuMemcpyHtoDAsync_v2(address, from, bytes, raw) };
        let started = primary.call(operation, || start().to_result());
        self.next = (slot + 1) % SLOTS;
        if self.next.is_multiple_of(HALF) {
            // If waiting fails too, the context is lost, and its copies with it.
            let wait = || primary.call("waiting for a stream", || stream.synchronize());
            let recorded = copied.record_on(stream).or_else(|_| wait());
            return started.and(recorded);
        }
        started
    }
}
