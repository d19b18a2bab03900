//! The memory of all live buffers of the process.
//!
//! Arguments of kernels are addresses. The list tells which buffer an address is of: a launch refuses
//! the buffers of other devices, and a graph keeps the buffers that its launches use.

use super::DeviceId;
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
// The types of the models in `crate::sync` cannot be in statics.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A live buffer.
struct Allocation {
    addresses: Range<usize>,
    device: DeviceId,
    /// Whether the memory is that of another library, of which several devices may have buffers.
    is_foreign: bool,
    memory: Weak<dyn Any + Send + Sync>,
}

/// The live buffers, and places that are free.
struct List {
    places: Vec<Option<Allocation>>,
    free: Vec<usize>,
}

static LIST: Mutex<List> = Mutex::new(List {
    places: Vec::new(),
    free: Vec::new(),
});

fn list() -> MutexGuard<'static, List> {
    // Ignores poisoning: the list is valid between statements.
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a buffer in the list, which it leaves when this is dropped.
pub struct Listed(AtomicUsize);

/// Not in the list.
const NOWHERE: usize = usize::MAX;

impl Listed {
    pub fn nowhere() -> Listed {
        Listed(AtomicUsize::new(NOWHERE))
    }

    /// Adds memory to the list.
    pub fn add(
        &self,
        memory: &Arc<dyn Any + Send + Sync>,
        addresses: Range<usize>,
        device: DeviceId,
        is_foreign: bool,
    ) {
        self.leave();
        if addresses.is_empty() {
            return;
        }
        let allocation = Some(Allocation {
            addresses,
            device,
            is_foreign,
            memory: Arc::downgrade(memory),
        });
        let mut list = list();
        let place = list.free.pop().unwrap_or(list.places.len());
        match list.places.get_mut(place) {
            Some(free) => *free = allocation,
            None => list.places.push(allocation),
        }
        self.0.store(place, Relaxed);
    }

    /// Takes the memory off the list.
    pub fn leave(&self) {
        let place = self.0.swap(NOWHERE, Relaxed);
        if place != NOWHERE {
            let mut list = list();
            let left = list.places[place].take();
            list.free.push(place);
            // Freeing the list's share of the memory needs no lock.
            std::mem::drop((list, left));
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Returns the memory of the buffers that an address is in.
pub fn memory_at(address: usize) -> Vec<Arc<dyn Any + Send + Sync>> {
    let list = list();
    let found = list.places.iter().flatten();
    let found = found.filter(|allocation| allocation.addresses.contains(&address));
    found
        .filter_map(|allocation| allocation.memory.upgrade())
        .collect()
}

/// Returns the device of the buffer that an address is in, if it is another one than `device`.
pub fn other_device(address: usize, device: DeviceId) -> Option<DeviceId> {
    let list = list();
    let found = list.places.iter().flatten();
    let mut found = found.filter(|allocation| allocation.addresses.contains(&address));
    let first = found.next()?;
    let is_right = |allocation: &Allocation| allocation.is_foreign || allocation.device == device;
    let is_one_right = is_right(first) || found.any(is_right);
    (!is_one_right).then_some(first.device)
}
