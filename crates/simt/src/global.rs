//! Global memory: buffers of a simulated device, with guard zones.

use crate::guard::{Guarded, Side};
use crate::pages::Pages;
use std::alloc::Layout;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The bytes of the zones: NaN as floats of each type, and large as integers.
const ZONE_WORD: u64 = 0x7ff4_dead_7ff4_dead;

/// The bytes of new and of freed memory: NaN as floats of each type, and the largest unsigned integers.
const POISON: u8 = 0xff;

/// The largest number of freed buffers whose addresses a device does not use again.
const QUARANTINED: usize = 256;

/// The most bytes of freed buffers that are kept where the system cannot make them inaccessible.
const QUARANTINED_BYTES: usize = 64 << 20;

/// The global memory of a simulated device.
///
/// [`Simulator::launch_in`](crate::Simulator::launch_in) checks after each launch that nothing was
/// written around its buffers. On Linux, accesses beyond the last page of a buffer and accesses to
/// freed buffers end the launch with an error that names the thread.
///
/// ```
/// use cuda_std::host::LaunchConfig;
/// use cuda_std::prelude::*;
/// use simt::{GlobalMemory, Simulator};
///
/// /// Writes one element too many.
/// #[kernel]
/// unsafe fn fill(data: DeviceSliceMut<u32>) {
///     for i in 0..=data.len() {
///         // SAFETY: not given: `i` may be the length.
///         unsafe { data.as_mut_ptr().add(i).write(1) };
///     }
/// }
///
/// # fn main() {
/// let memory = GlobalMemory::new();
/// let buffer = memory.allocate::<u32>(10).expect("40 bytes");
/// // SAFETY: the buffer has 10 elements, and lives until the launch has ended. The mistake is one
/// // that the simulator finds.
/// let error = unsafe {
///     let data = DeviceSliceMut::from_raw_parts(buffer.as_mut_ptr().cast(), 10);
///     Simulator::default().launch_in(&memory, &fill, LaunchConfig::new(1, 1), (data,))
/// };
/// let message = "kernel `fill`: something wrote past the end of a buffer of 10 u32, at byte 40";
/// assert_eq!(error.unwrap_err().to_string(), message);
/// # }
/// ```
#[derive(Clone)]
pub struct GlobalMemory(Arc<Heap>);

/// A buffer of [global memory](GlobalMemory), which is freed when this is dropped.
pub struct GlobalBuffer {
    /// `None` while it is dropped.
    memory: Option<Arc<Guarded>>,
    heap: Arc<Heap>,
}

/// The elements of a buffer, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The name of the type.
    pub name: &'static str,
    /// The number of elements.
    pub count: usize,
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, count } = self;
        write!(f, "{count} {name}")
    }
}

#[derive(Default)]
struct Heap(Mutex<Buffers>);

#[derive(Default)]
struct Buffers {
    /// By the address of the first byte.
    live: BTreeMap<usize, (Arc<Guarded>, Elements)>,
    freed: VecDeque<Freed>,
    /// The bytes of those of `freed` that are not inaccessible.
    freed_bytes: usize,
    /// What was found when a buffer was freed, for the next launch.
    damage: Option<(Elements, Damage)>,
}

struct Freed {
    place: FreedPlace,
    first: usize,
    elements: Elements,
}

enum FreedPlace {
    Inaccessible(Pages),
    Poisoned(Arc<Guarded>),
}

/// What was written where nothing may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Beside a buffer, at a byte counted from the buffer's start.
    Beside(Side, isize),
    /// In a buffer that was freed before, at this byte.
    Freed(usize),
}

/// A place that an address is in or near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) elements: Elements,
    pub(crate) is_freed: bool,
    /// The place of the address, counted from the buffer's start.
    pub(crate) byte: isize,
}

/// The memories of the process, for the description of addresses.
static ALL: Mutex<Vec<Weak<Heap>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Weak<Heap>>> {
    // Ignores poisoning: the list is valid between statements.
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the buffer, of any device, that an address is in or near.
pub(crate) fn find(address: usize) -> Option<Found> {
    let heaps: Vec<_> = all().iter().filter_map(Weak::upgrade).collect();
    heaps.iter().find_map(|heap| heap.buffers().find(address))
}

/// Returns the bytes around all buffers that only mistakes access, in ascending order.
#[cfg(feature = "race-detector")]
pub(crate) fn zones() -> Vec<Range<usize>> {
    let heaps: Vec<_> = all().iter().filter_map(Weak::upgrade).collect();
    let mut zones = Vec::new();
    for heap in heaps {
        for (first, (memory, _)) in &heap.buffers().live {
            let range = memory.range();
            zones.push(range.start..*first);
            zones.push(first + memory.size()..range.end);
        }
    }
    zones.sort_by_key(|zone| zone.start);
    zones
}

impl Default for GlobalMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for GlobalMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffers = self.0.buffers().live.len();
        write!(f, "GlobalMemory({buffers} buffers)")
    }
}

impl fmt::Debug for GlobalBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GlobalBuffer({:p})", self.as_mut_ptr())
    }
}

impl GlobalMemory {
    /// Returns the memory of a new device.
    pub fn new() -> Self {
        let heap = Arc::new(Heap::default());
        let mut all = all();
        all.retain(|heap| heap.strong_count() > 0);
        all.push(Arc::downgrade(&heap));
        Self(heap)
    }

    /// Allocates a buffer of `count` elements, aligned to 256 bytes, as on a GPU. All bytes are
    /// `0xff`: NaN as floats, and the largest unsigned integers. `None` if there is no memory.
    pub fn allocate<T>(&self, count: usize) -> Option<GlobalBuffer> {
        let layout = Layout::array::<T>(count).ok()?.align_to(256).ok()?;
        let name = std::any::type_name::<T>();
        let buffer = self.allocate_zeros(layout, Elements { name, count })?;
        // SAFETY: the buffer has these bytes, and nothing uses it yet.
        unsafe { buffer.as_mut_ptr().write_bytes(POISON, layout.size()) };
        Some(buffer)
    }

    /// Allocates a buffer of `layout` for these `elements`. All bytes are zero: pages are made when
    /// they are first accessed.
    pub fn allocate_zeros(&self, layout: Layout, elements: Elements) -> Option<GlobalBuffer> {
        let memory = Arc::new(Guarded::new(layout, true, false)?);
        memory.fill_zones(|| ZONE_WORD);
        let buffer = (memory.clone(), elements);
        let mut buffers = self.0.buffers();
        buffers.live.insert(memory.pointer() as usize, buffer);
        drop(buffers);
        Some(GlobalBuffer {
            memory: Some(memory),
            heap: self.0.clone(),
        })
    }

    /// Returns where something was written around a buffer, or into a freed one, since the last check.
    pub(crate) fn check(&self) -> Option<(Elements, Damage)> {
        self.0.buffers().check()
    }
}

impl GlobalBuffer {
    /// Returns the address of the first byte.
    pub fn as_mut_ptr(&self) -> *mut u8 {
        let memory = self.memory.as_ref();
        memory.expect("only dropping takes the memory").pointer()
    }
}

impl Drop for GlobalBuffer {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        let first = memory.pointer() as usize;
        let mut buffers = self.heap.buffers();
        let Some((listed, elements)) = buffers.live.remove(&first) else {
            return;
        };
        drop(listed);
        if let Some((side, byte)) = memory.damage(|| ZONE_WORD) {
            let damage = Damage::Beside(side, byte);
            buffers.damage.get_or_insert((elements, damage));
        }
        buffers.quarantine(memory, first, elements);
    }
}

impl Heap {
    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        // Ignores poisoning: the lists are valid between statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let buffers = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        buffers.release(0, 0);
        if let Some((buffer, damage)) = buffers.check() {
            eprintln!(
                "the simulator: after the last launch, something wrote {}",
                Described { buffer, damage }
            );
        }
    }
}

impl Buffers {
    fn check(&mut self) -> Option<(Elements, Damage)> {
        let mut found = self.damage.take();
        for (memory, elements) in self.live.values() {
            if let Some((side, byte)) = memory.damage(|| ZONE_WORD) {
                // The next launch reports only what comes then.
                memory.fill_zones(|| ZONE_WORD);
                found = found.or(Some((*elements, Damage::Beside(side, byte))));
            }
        }
        found
    }

    /// Frees a buffer later, so that its addresses are not used again for some time.
    fn quarantine(&mut self, memory: Arc<Guarded>, first: usize, elements: Elements) {
        let bytes = memory.size();
        let place = if memory.has_pages() {
            // No launch holds the memory: it has no other owner here.
            let Some(pages) = Arc::into_inner(memory).and_then(Guarded::revoke) else {
                return;
            };
            FreedPlace::Inaccessible(pages)
        } else {
            if bytes > QUARANTINED_BYTES {
                return;
            }
            poison(&memory);
            self.freed_bytes += bytes;
            FreedPlace::Poisoned(memory)
        };
        self.freed.push_back(Freed {
            place,
            first,
            elements,
        });
        self.release(QUARANTINED, QUARANTINED_BYTES);
    }

    /// Frees the oldest freed buffers, until at most `count` and `bytes` are left.
    fn release(&mut self, count: usize, bytes: usize) {
        while self.freed.len() > count || self.freed_bytes > bytes {
            let Some(freed) = self.freed.pop_front() else {
                break;
            };
            if let FreedPlace::Poisoned(memory) = freed.place {
                self.freed_bytes -= memory.size();
                if let Some(byte) = changed(&memory) {
                    let damage = (freed.elements, Damage::Freed(byte));
                    self.damage.get_or_insert(damage);
                }
            }
        }
    }

    fn find(&self, address: usize) -> Option<Found> {
        let live = self
            .live
            .iter()
            .map(|(first, (memory, elements))| (memory.range(), *first, *elements, false));
        let freed = self.freed.iter().map(|freed| {
            let range = match &freed.place {
                FreedPlace::Inaccessible(pages) => pages.range(),
                FreedPlace::Poisoned(memory) => memory.range(),
            };
            (range, freed.first, freed.elements, true)
        });
        let is_there =
            |(range, ..): &(Range<usize>, usize, Elements, bool)| range.contains(&address);
        let (_, first, elements, is_freed) = live.chain(freed).find(is_there)?;
        Some(Found {
            elements,
            is_freed,
            byte: address.wrapping_sub(first) as isize,
        })
    }
}

fn poison(memory: &Guarded) {
    // SAFETY: the memory has these bytes. It was freed, so that nothing uses it but mistakes.
    unsafe { memory.pointer().write_bytes(POISON, memory.size()) };
}

/// Returns the first byte of freed memory that is not poison.
fn changed(memory: &Guarded) -> Option<usize> {
    // SAFETY: the memory has these bytes, which `poison` has initialised.
    (0..memory.size()).find(|&byte| unsafe { memory.pointer().add(byte).read() } != POISON)
}

/// Where something was written, after "something wrote".
pub(crate) struct Described {
    pub(crate) buffer: Elements,
    pub(crate) damage: Damage,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, damage } = self;
        match damage {
            Damage::Beside(side, byte) => write!(f, "{side} a buffer of {buffer}, at byte {byte}"),
            Damage::Freed(byte) => write!(f, "to a freed buffer of {buffer}, at byte {byte}"),
        }
    }
}
