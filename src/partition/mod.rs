//! Work over several devices, and over more data than a device has memory for.
//!
//! A kernel describes its work as a [`Partition`]: how many bytes of a device it takes, and how it splits. [`run`] splits
//! the whole so that each part fits, has the devices take parts from one [queue](schedule), and splits a part again
//! when a device turns out to have less memory than expected. [`concat`] joins results that are plain arrays.

pub mod concat;
mod schedule;

use std::ops::Range;
use std::sync::Mutex;

use crate::device::{MemoryKind, into_inner, lock};
use crate::error::During;
use crate::{Device, Error, Result};

/// Work that splits into parts whose results, joined in order, are those of the whole.
pub trait Partition: Sized + Send {
    /// Estimates the bytes of a device's memory that the work takes.
    fn bytes(&self) -> u64;

    /// Splits the work into about `count` parts of similar size, in order: fewer where it cannot be split further, and
    /// at least one.
    fn split(self, count: usize) -> Vec<Self>;
}

/// Runs `whole` part by part on whichever device is free, and returns the results in the order of the parts.
///
/// There are as many parts as devices, or more where a part would need more memory than a device has. A part for which
/// the memory does not suffice all the same is split in two. After an error no more parts start; of several errors,
/// that of the first part is returned.
///
/// # Errors
/// [`Error::InvalidInput`] if there are no devices, and those of `work`.
pub fn run<P: Partition, R: Send>(
    devices: &[Device],
    operation: &'static str,
    whole: P,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    require_devices(devices, operation)?;
    run_each(
        devices,
        split_for(devices, whole),
        &|device, part, results| in_fitting_pieces(device, part, &work, results),
    )
    .during(operation)
}

/// Runs parts that the caller has made on at least one device, as [`run`] does, but tries each part as it is first.
pub fn run_parts<P: Partition, R: Send>(
    devices: &[Device],
    parts: Vec<P>,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    run_each(devices, parts, &|device, part, results| {
        in_pieces(device, part, &work, results)
    })
}

fn run_each<P: Send, R: Send>(
    devices: &[Device],
    parts: Vec<P>,
    work: &(impl Fn(&Device, P, &mut Vec<R>) -> Result<()> + Sync),
) -> Result<Vec<R>> {
    let slots: Vec<_> = (parts.into_iter())
        .map(|part| Mutex::new((Some(part), Vec::new())))
        .collect();
    schedule::run(devices, slots.len(), &|device, index| {
        let (part, results) = &mut *lock(&slots[index]);
        work(device, part.take().expect("a part runs once"), results)
    })?;
    Ok(slots
        .into_iter()
        .flat_map(|slot| into_inner(slot).1)
        .collect())
}

/// Replaces an error about the input of some part by that of the whole input, which `check` reads from the beginning: the
/// first mistake is named, with its index in the whole, whatever the devices and the parts.
pub fn recheck<R>(result: Result<R>, check: impl FnOnce() -> Result<()>) -> Result<R> {
    if let Err(Error::InvalidInput { .. }) = result {
        check()?;
    }
    result
}

/// Fails if there are no devices.
pub fn require_devices(devices: &[Device], operation: &'static str) -> Result<()> {
    if !devices.is_empty() {
        return Ok(());
    }
    Err(Error::input(operation, "there is no device in the set"))
}

/// The most parts per device that [`run`] makes before it tries the first one. Others are split when their turn comes.
const MAX_ROUNDS: u64 = 1 << 10;

/// Splits the work into as many parts as the devices need, the same number for each.
fn split_for<P: Partition>(devices: &[Device], whole: P) -> Vec<P> {
    let rounds = match least_budget(devices) {
        Some(budget) => {
            let per_device = whole.bytes().div_ceil(devices.len() as u64);
            per_device.div_ceil(budget.max(1)).min(MAX_ROUNDS)
        }
        None => 1,
    };
    let rounds = usize::try_from(rounds.max(1)).unwrap_or(usize::MAX);
    match devices.len().saturating_mul(rounds) {
        1 => vec![whole],
        count => whole.split(count),
    }
}

/// Returns the only device, if there is only one and work of so many bytes fits its memory.
pub fn alone(devices: &[Device], bytes: u64) -> Option<&Device> {
    match devices {
        [device] if device.memory_budget().is_none_or(|budget| bytes <= budget) => Some(device),
        _ => None,
    }
}

/// Returns the least memory budget of the devices, `None` if none is known.
pub fn least_budget(devices: &[Device]) -> Option<u64> {
    devices.iter().filter_map(Device::memory_budget).min()
}

/// Whether an error says that a device's memory does not suffice, so that smaller parts may. They do not help when the
/// host's memory does not.
pub fn is_short_of_memory(device: &Device, error: &Error) -> bool {
    let is_short = match error {
        Error::Allocation { memory, .. } => *memory == MemoryKind::Device(device.id()),
        _ => false,
    };
    is_short && device.memory_budget().is_some()
}

/// Runs a part, first split into pieces that are expected to fit the device's memory, as far as it splits.
fn in_fitting_pieces<P: Partition, R>(
    device: &Device,
    part: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
    if device
        .memory_budget()
        .is_none_or(|budget| part.bytes() <= budget)
    {
        return in_pieces(device, part, work, results);
    }
    let mut pieces = part.split(2);
    if pieces.len() < 2 {
        return in_pieces(device, pieces.remove(0), work, results);
    }
    (pieces.into_iter()).try_for_each(|piece| in_fitting_pieces(device, piece, work, results))
}

/// Runs a part, in ever smaller pieces if the device's memory does not suffice.
pub fn in_pieces<P: Partition, R>(
    device: &Device,
    mut part: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
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
    let pieces = part.split(2);
    if pieces.len() < 2 {
        return Err(error);
    }
    (pieces.into_iter()).try_for_each(|piece| in_pieces(device, piece, work, results))
}

/// Returns up to `count` ranges that cover `0..length`, split at multiples of `step` and as equal as that allows. There
/// are fewer where one would be shorter than a step, and none is empty.
pub fn equal_ranges(
    length: usize,
    count: usize,
    step: usize,
) -> impl Iterator<Item = Range<usize>> {
    let steps = length / step;
    let count = count.clamp(1, steps.max(1)).min(length);
    let start = move |part: usize| match part == count {
        true => length,
        // Below the length.
        false => (steps as u128 * part as u128 / count as u128) as usize * step,
    };
    (0..count).map(move |part| start(part)..start(part + 1))
}

/// Returns the bytes of `elements` elements of `size` bytes each. Views may have more elements than there is memory for.
pub fn bytes_of(elements: usize, size: usize) -> u64 {
    (elements as u64).saturating_mul(size as u64)
}

/// Splits something into adjacent ranges: at least one part, of which the last has all the rest.
pub fn split_at_ranges<P>(
    whole: P,
    ranges: impl Iterator<Item = Range<usize>>,
    split_at: impl Fn(P, usize) -> (P, P),
) -> Vec<P> {
    let lengths: Vec<usize> = ranges.map(|range| range.len()).collect();
    let mut rest = whole;
    let mut parts = Vec::new();
    for &length in lengths.split_last().map_or(&[][..], |(_, before)| before) {
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

    impl Partition for Numbers {
        fn bytes(&self) -> u64 {
            self.0.end - self.0.start
        }

        fn split(self, parts: usize) -> Vec<Numbers> {
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
        run(devices, "sum", Numbers(0..count), work)
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
        let lengths = run(&[device], "sum", Numbers(0..1000), work).unwrap();
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
            split_at_ranges("abcde", equal_ranges(5, 2, 1), split_at),
            ["ab", "cde"]
        );
        assert_eq!(split_at_ranges("", equal_ranges(0, 2, 1), split_at), [""]);
    }

    #[test]
    fn threads_of_rayon_may_call_it() {
        use rayon::prelude::*;

        let devices = vec![Device::cpu(); 3];
        let work = |_: &Device, part: &mut Numbers| Ok(part.0.clone().into_par_iter().sum::<u64>());
        let calls = 4 * rayon::current_num_threads();
        (0..calls).into_par_iter().for_each(|_| {
            let sums = run(&devices, "sum", Numbers(0..1000), work).unwrap();
            assert_eq!(sums.iter().sum::<u64>(), 499_500);
        });
    }

    #[test]
    fn the_first_error_is_returned() {
        let work = |_: &Device, part: &mut Numbers| -> Result<()> {
            Err(Error::input("fail", part.0.start.to_string()))
        };
        let devices = vec![Device::cpu(); 3];
        let error = run(&devices, "fail", Numbers(0..9), work).unwrap_err();
        assert_eq!(error.to_string(), "fail: 0");
    }
}
