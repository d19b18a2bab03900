//! Work over several devices, and over more data than a device has memory for.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::device::MemoryKind;
use crate::error::During;
use crate::{Device, Error, Result};

/// Work that can be cut into parts, whose results together are those of the whole.
pub trait Part: Sized + Send {
    /// Bytes of a device's memory that it takes, about.
    fn bytes(&self) -> u64;

    /// About as many parts, in order, as equal as can be: fewer where it cannot be cut further, but at least one.
    fn cut(self, parts: usize) -> Vec<Self>;
}

/// Does the work part by part on whichever device is free, and returns the results in the order of the parts.
///
/// There are as many parts as devices, or more where one is expected to need more memory than a device has; a part for
/// which the memory does not suffice all the same is cut in two. After an error no more parts are begun; of several errors the one
/// of the first part is returned.
pub fn spread<P: Part, R: Send>(
    devices: &[Device],
    operation: &'static str,
    whole: P,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    require_devices(devices, operation)?;
    over_devices(devices, parts(devices, whole), &|device, part, results| {
        in_fitting_pieces(device, part, &work, results)
    })
    .during(operation)
}

/// The same for parts that the caller has made, on at least one device.
pub fn spread_parts<P: Part, R: Send>(
    devices: &[Device],
    parts: Vec<P>,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    over_devices(devices, parts, &|device, part, results| {
        in_pieces(device, part, &work, results)
    })
}

fn over_devices<P: Part, R: Send>(
    devices: &[Device],
    parts: Vec<P>,
    work: &(impl Fn(&Device, P, &mut Vec<R>) -> Result<()> + Sync),
) -> Result<Vec<R>> {
    if let [device] = devices {
        let mut results = Vec::new();
        for part in parts {
            work(device, part, &mut results)?;
        }
        return Ok(results);
    }
    let queue = Queue::new(parts);
    match rayon::current_thread_index() {
        // A thread of rayon that only waited might be what the others wait for.
        Some(_) => rayon::scope(|scope| {
            for device in devices {
                let queue = &queue;
                scope.spawn(move |_| queue.work_off(device, work));
            }
        }),
        None => std::thread::scope(|scope| {
            for device in devices {
                scope.spawn(|| queue.work_off(device, work));
            }
        }),
    }
    queue.results()
}

/// Fails if there is none.
pub fn require_devices(devices: &[Device], operation: &'static str) -> Result<()> {
    if !devices.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidInput {
        operation,
        message: "there is no device in the set".into(),
    })
}

/// Parts of a device that are cut before the first one is tried: others are when their turn comes.
const MOST_ROUNDS: u64 = 1 << 10;

/// As many parts as the devices need, the same number for each.
fn parts<P: Part>(devices: &[Device], whole: P) -> Vec<P> {
    let rounds = match least_budget(devices) {
        Some(budget) => {
            let of_each = whole.bytes().div_ceil(devices.len() as u64);
            of_each.div_ceil(budget.max(1)).min(MOST_ROUNDS)
        }
        None => 1,
    };
    let rounds = usize::try_from(rounds.max(1)).unwrap_or(usize::MAX);
    match devices.len().saturating_mul(rounds) {
        1 => vec![whole],
        count => whole.cut(count),
    }
}

/// The only device, if there is only one and such work fits its memory.
pub fn alone(devices: &[Device], bytes: u64) -> Option<&Device> {
    match devices {
        [device] if budget(device).is_none_or(|budget| bytes <= budget) => Some(device),
        _ => None,
    }
}

/// Bytes that each of the devices can give to work, as far as that is known.
pub fn least_budget(devices: &[Device]) -> Option<u64> {
    devices.iter().filter_map(budget).min()
}

/// Whether an error says that a device's memory does not suffice: smaller parts may do. The host's memory is no larger
/// for them.
pub fn is_short_of_memory(device: &Device, error: &Error) -> bool {
    let short = match error {
        Error::Allocation { memory, .. } => *memory == MemoryKind::Device(device.id()),
        _ => false,
    };
    short && budget(device).is_some()
}

fn budget(device: &Device) -> Option<u64> {
    device.memory_budget()
}

/// Does a part, in pieces that are expected to fit the device's memory, as far as it can be cut.
fn in_fitting_pieces<P: Part, R>(
    device: &Device,
    part: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
    if budget(device).is_none_or(|budget| part.bytes() <= budget) {
        return in_pieces(device, part, work, results);
    }
    let pieces = part.cut(2);
    let can_be_cut = pieces.len() > 1;
    for piece in pieces {
        match can_be_cut {
            true => in_fitting_pieces(device, piece, work, results)?,
            false => in_pieces(device, piece, work, results)?,
        }
    }
    Ok(())
}

/// Does a part, in ever smaller pieces if the device's memory does not suffice.
fn in_pieces<P: Part, R>(
    device: &Device,
    part: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
    let mut part = part;
    let error = match work(device, &mut part) {
        Ok(result) => {
            results.push(result);
            return Ok(());
        }
        Err(error) => error,
    };
    if !is_short_of_memory(device, &error) {
        return Err(error);
    }
    let pieces = part.cut(2);
    if pieces.len() < 2 {
        return Err(error);
    }
    for piece in pieces {
        in_pieces(device, piece, work, results)?;
    }
    Ok(())
}

/// Parts that wait, and the results of those that do not.
struct Queue<P, R> {
    waiting: Mutex<VecDeque<(usize, P)>>,
    done: Mutex<Vec<(usize, Result<Vec<R>>)>>,
}

impl<P: Part, R: Send> Queue<P, R> {
    fn new(parts: Vec<P>) -> Queue<P, R> {
        Queue {
            waiting: Mutex::new(parts.into_iter().enumerate().collect()),
            done: Mutex::default(),
        }
    }

    fn work_off(&self, device: &Device, work: &impl Fn(&Device, P, &mut Vec<R>) -> Result<()>) {
        loop {
            let next = lock(&self.waiting).pop_front();
            let Some((index, part)) = next else {
                return;
            };
            let mut results = Vec::new();
            let outcome = work(device, part, &mut results);
            if outcome.is_err() {
                lock(&self.waiting).clear();
            }
            lock(&self.done).push((index, outcome.map(|()| results)));
        }
    }

    fn results(self) -> Result<Vec<R>> {
        let mut done = (self.done.into_inner()).unwrap_or_else(|poisoned| poisoned.into_inner());
        done.sort_by_key(|&(index, _)| index);
        let mut all = Vec::new();
        for (_, results) in done {
            all.extend(results?);
        }
        Ok(all)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// So many ranges of `0..length`, cut at multiples of `step` and as equal as that allows: fewer where one would be shorter
/// than a step, and none is empty.
pub fn equal_ranges(
    length: usize,
    parts: usize,
    step: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let steps = length / step;
    let count = parts.clamp(1, steps.max(1)).min(length);
    let start = move |part: usize| match part == count {
        true => length,
        // Below the length.
        false => (steps as u128 * part as u128 / count as u128) as usize * step,
    };
    (0..count).map(move |part| start(part)..start(part + 1))
}

/// Bytes of so many elements, of so many bytes each. Views may have more elements than there is memory for.
pub fn bytes_of(elements: usize, size: usize) -> u64 {
    (elements as u64).saturating_mul(size as u64)
}

/// The parts of something in ranges that follow each other: at least one, and the last one has all the rest.
pub fn split<P>(
    whole: P,
    ranges: impl Iterator<Item = std::ops::Range<usize>>,
    split_at: impl Fn(P, usize) -> (P, P),
) -> Vec<P> {
    let lengths: Vec<usize> = ranges.map(|range| range.len()).collect();
    let before = lengths.split_last().map_or(&[][..], |(_, before)| before);
    let mut rest = whole;
    let mut parts = Vec::new();
    for &length in before {
        let (part, behind) = split_at(rest, length);
        parts.push(part);
        rest = behind;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(std::ops::Range<u64>);

    impl Part for Numbers {
        fn bytes(&self) -> u64 {
            self.0.end - self.0.start
        }

        fn cut(self, parts: usize) -> Vec<Numbers> {
            let start = self.0.start;
            equal_ranges(self.bytes() as usize, parts, 1)
                .map(|range| Numbers(start + range.start as u64..start + range.end as u64))
                .collect()
        }
    }

    fn sum(devices: &[Device], count: u64) -> Result<Vec<u64>> {
        let work = |device: &Device, part: &mut Numbers| {
            let room = device.alloc::<u8>(part.bytes() as usize)?;
            assert_eq!(room.len() as u64, part.bytes());
            Ok(part.0.clone().sum())
        };
        spread(devices, "sum", Numbers(0..count), work)
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn only_the_memory_of_the_device_itself_makes_parts_smaller() {
        let device = Device::simulator().unwrap().with_memory_limit(100);
        let other = Device::simulator().unwrap().with_memory_limit(100);
        let error = |memory| Error::Allocation {
            operation: "test",
            memory,
            requested: 1000,
            free: None,
            total: None,
        };
        for (memory, is_short) in [
            (MemoryKind::Device(device.id()), true),
            (MemoryKind::Device(other.id()), false),
            (MemoryKind::PageLocked, false),
            (MemoryKind::Host, false),
        ] {
            assert_eq!(
                is_short_of_memory(&device, &error(memory)),
                is_short,
                "{memory}"
            );
        }
        assert!(is_short_of_memory(
            &device,
            &device.alloc::<u8>(101).unwrap_err()
        ));
    }

    #[test]
    fn parts_are_done_once_and_in_order() {
        for count in [1, 2, 3, 7] {
            let devices = vec![Device::cpu(); count];
            let sums = sum(&devices, 1000).unwrap();
            assert_eq!(sums.len(), count);
            assert_eq!(sums.iter().sum::<u64>(), 499_500);
            assert!(sums.is_sorted());
        }
        assert_eq!(
            sum(&[], 3).unwrap_err().to_string(),
            "sum: there is no device in the set"
        );
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn parts_fit_the_memory() {
        let device = Device::simulator().unwrap().with_memory_limit(100);
        let sums = sum(std::slice::from_ref(&device), 1000).unwrap();
        assert_eq!(sums.len(), 10);
        // Less is left than the parts were cut for.
        let taken = Mutex::new(None);
        let work = |device: &Device, part: &mut Numbers| {
            let mut taken = lock(&taken);
            if taken.is_none() {
                *taken = Some(device.alloc::<u8>(60)?);
            }
            let room = device.alloc::<u8>(part.bytes() as usize)?;
            Ok(room.len())
        };
        let lengths = spread(&[device], "sum", Numbers(0..1000), work).unwrap();
        assert_eq!(lengths.iter().sum::<usize>(), 1000);
        assert!(lengths.iter().all(|&length| length <= 40));
    }

    #[test]
    fn ranges_are_equal_and_cover_all() {
        for (length, parts, step) in [
            (0, 3, 1),
            (1, 3, 1),
            (10, 3, 1),
            (10, 3, 4),
            (257, 7, 32),
            (5, 1, 8),
        ] {
            let ranges: Vec<_> = equal_ranges(length, parts, step).collect();
            assert_eq!(
                ranges.iter().map(|range| range.len()).sum::<usize>(),
                length
            );
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let least = ranges
                .iter()
                .map(|range| range.len())
                .min()
                .unwrap_or(length);
            assert!(
                ranges
                    .iter()
                    .all(|range| range.start % step == 0 && range.len() < least + 2 * step)
            );
            assert!(ranges.len() <= parts && (least > 0 || ranges.is_empty()));
        }
    }

    #[test]
    fn the_last_part_has_the_rest() {
        let split_at = |text: &'static str, index| text.split_at(index);
        assert_eq!(
            split("abcde", equal_ranges(5, 2, 1), split_at),
            ["ab", "cde"]
        );
        assert_eq!(split("", equal_ranges(0, 2, 1), split_at), [""]);
    }

    #[test]
    fn threads_of_rayon_may_call_it() {
        use rayon::prelude::*;

        let devices = vec![Device::cpu(); 3];
        let work = |_: &Device, part: &mut Numbers| Ok(part.0.clone().into_par_iter().sum::<u64>());
        let calls = 4 * rayon::current_num_threads();
        (0..calls).into_par_iter().for_each(|_| {
            let sums = spread(&devices, "sum", Numbers(0..1000), work).unwrap();
            assert_eq!(sums.iter().sum::<u64>(), 499_500);
        });
    }

    #[test]
    fn the_first_error_is_returned() {
        let work = |_: &Device, part: &mut Numbers| -> Result<()> {
            Err(Error::InvalidInput {
                operation: "fail",
                message: part.0.start.to_string(),
            })
        };
        let devices = vec![Device::cpu(); 3];
        let error = spread(&devices, "fail", Numbers(0..9), work).unwrap_err();
        assert_eq!(error.to_string(), "fail: 0");
    }
}
