//! Work over several devices, and over more data than a device has memory for.
//!
//! A kernel describes its work as a [`Partition`]: how many bytes of a device it takes, and how it
//! splits. [`run`] splits the whole so that each partition fits, has the devices take partitions
//! from one queue, and splits a partition again when a device turns out to have less memory than
//! expected. [`mod@concat`] joins results that are plain arrays.

pub mod concat;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

use crate::device::{Aside, MemoryKind, into_inner, lock, refuse_capture};
use crate::error::During;
use crate::parallel::Slots;
use crate::sync::thread;
use crate::{Device, Error, Result};

/// Work that splits into partitions whose results, joined in order, are those of the whole.
pub trait Partition: Sized + Send {
    /// Estimates the bytes of a device's memory that the work takes.
    fn bytes(&self) -> u64;

    /// Splits the work into about `count` partitions of similar size, in order: fewer if the work
    /// cannot be split further, and at least one.
    fn split(self, count: usize) -> Result<Vec<Self>>;
}

/// Runs the partitions of `whole` on whichever device is free, and returns their results in order.
///
/// There are as many partitions as devices, or more if a partition would need more memory than a
/// device has. A partition that runs out of memory is split in two. After an error no more
/// partitions start; of several errors, the error of the first partition is returned. Fails if
/// there are no devices.
pub fn run<P: Partition, R: Send>(
    devices: &[Device],
    operation: &'static str,
    whole: P,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    require_devices(devices, operation)?;
    let partitions = split_for(devices, whole).during(operation)?;
    run_divided(devices, operation, partitions, work)
}

/// As [`run`], for work that has been divided among the devices, of which there is at least one.
pub fn run_divided<P: Partition, R: Send>(
    devices: &[Device],
    operation: &'static str,
    partitions: Vec<P>,
    work: impl Fn(&Device, &mut P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    run_each(devices, partitions, &|device, partition, results| {
        run_within_memory(device, partition, &work, results)
    })
    .during(operation)
}

fn run_each<P: Send, R: Send>(
    devices: &[Device],
    partitions: Vec<P>,
    work: &(impl Fn(&Device, P, &mut Vec<R>) -> Result<()> + Sync),
) -> Result<Vec<R>> {
    let partitions = Slots::full(partitions);
    let results = Slots::empty(partitions.len());
    take_in_turn(devices, partitions.len(), &|device, index| {
        let mut finished = Vec::new();
        work(device, partitions.take(index), &mut finished)?;
        results.put(index, finished);
        Ok(())
    })?;
    Ok(results.into_vec().into_iter().flatten().collect())
}

/// Runs `count` jobs, each on the next free device: `job` gets the device and its number.
///
/// After an error no more jobs start. Of several errors, the error of the first job is returned.
fn take_in_turn(
    devices: &[Device],
    count: usize,
    job: &(dyn Fn(&Device, usize) -> Result<()> + Sync),
) -> Result<()> {
    if let [device] = devices {
        return (0..count).try_for_each(|index| job(device, index));
    }
    // Other threads do the work, which would be no part of the capture.
    for device in devices {
        refuse_capture(device, "a call on several devices")?;
    }
    let (next, errors) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work_off = |device: &Device| {
        let indices = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        for index in indices.take_while(|&index| index < count) {
            if let Err(error) = job(device, index) {
                next.store(count, Ordering::Relaxed);
                lock(&errors).push((index, error));
            }
        }
    };
    match rayon::current_thread_index() {
        // A thread of rayon that only waited might be the thread that the work waits for.
        Some(_) => {
            let _aside = Aside::new();
            rayon::scope(|scope| {
                for device in devices {
                    scope.spawn(|_| work_off(device));
                }
            });
        }
        None => thread::scope(|scope| {
            for device in devices {
                scope.spawn(|| work_off(device));
            }
        }),
    }
    let errors = into_inner(errors).into_iter();
    errors
        .min_by_key(|&(index, _)| index)
        .map_or(Ok(()), |(_, error)| Err(error))
}

/// Replaces an error about the input of a partition by the error that `check` finds in the whole
/// input: the message then names the first mistake, with its index in the whole, whatever the
/// devices and the partitions.
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
    let message =
        "there is no device in the set (Device::gpus() is empty without a GPU: use Device::auto())";
    Err(Error::input(operation, message))
}

/// The most partitions per device that [`run`] makes at first. They are split later if necessary.
const MAX_ROUNDS: u64 = 1 << 10;

/// Splits the work into as many partitions as the devices need, the same number for each.
fn split_for<P: Partition>(devices: &[Device], whole: P) -> Result<Vec<P>> {
    let rounds = least_budget(devices).map_or(1, |budget| {
        let per_device = whole.bytes().div_ceil(devices.len() as u64);
        per_device.div_ceil(budget.max(1)).clamp(1, MAX_ROUNDS)
    });
    match devices.len().saturating_mul(rounds as usize) {
        1 => Ok(vec![whole]),
        count => whole.split(count),
    }
}

/// Whether work of `bytes` bytes fits the device's memory, as far as that is known.
fn fits(device: &Device, bytes: u64) -> bool {
    (device.memory_budget()).is_none_or(|budget| bytes <= budget)
}

/// Returns the least memory budget of the devices, `None` if none is known.
fn least_budget(devices: &[Device]) -> Option<u64> {
    devices.iter().filter_map(Device::memory_budget).min()
}

/// Whether an error says that the device's memory does not suffice, so that smaller partitions may
/// fit. They do not help if the host runs out of memory.
pub fn is_short_of_memory(device: &Device, error: &Error) -> bool {
    let memory = MemoryKind::Device(device.id());
    let is_short = matches!(error, Error::Allocation { memory: short, .. } if *short == memory);
    is_short && device.memory_budget().is_some()
}

/// Whether an error says that the memory of one of the devices does not suffice.
pub fn lack_memory(devices: &[Device], error: &Error) -> bool {
    (devices.iter()).any(|device| is_short_of_memory(device, error))
}

/// Runs a partition, first split until each half is expected to fit the device's memory.
fn run_within_memory<P: Partition, R>(
    device: &Device,
    partition: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
    if fits(device, partition.bytes()) {
        return run_splitting(device, partition, work, results);
    }
    let mut halves = partition.split(2)?;
    if halves.len() < 2 {
        return run_splitting(device, halves.remove(0), work, results);
    }
    (halves.into_iter()).try_for_each(|half| run_within_memory(device, half, work, results))
}

/// Runs a partition, split into ever smaller ones if the device's memory does not suffice.
fn run_splitting<P: Partition, R>(
    device: &Device,
    mut partition: P,
    work: &impl Fn(&Device, &mut P) -> Result<R>,
    results: &mut Vec<R>,
) -> Result<()> {
    match work(device, &mut partition) {
        Ok(result) => results.push(result),
        Err(error) if is_short_of_memory(device, &error) => {
            let halves = partition.split(2)?;
            if halves.len() < 2 {
                return Err(error);
            }
            for half in halves {
                run_splitting(device, half, work, results)?;
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns up to `count` ranges that cover `0..length`, split at multiples of `step` and as equal
/// as possible. There are fewer ranges if some would be shorter than a step, and none is empty.
pub fn equal_ranges(
    length: usize,
    count: usize,
    step: usize,
) -> impl Iterator<Item = Range<usize>> {
    let steps = length / step;
    let count = count.clamp(1, steps.max(1)).min(length);
    let start = move |range: usize| match range == count {
        true => length,
        // Below the length.
        false => (steps as u128 * range as u128 / count as u128) as usize * step,
    };
    (0..count).map(move |range| start(range)..start(range + 1))
}

/// Splits a range in the middle.
pub fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

/// Returns the bytes of `elements` elements, which may be more than there is memory for.
pub fn bytes_of(elements: usize, size: usize) -> u64 {
    (elements as u64).saturating_mul(size as u64)
}

/// Splits something at the ends of adjacent ranges. The last partition has all the rest.
pub fn split_at_ranges<P>(
    whole: P,
    ranges: impl Iterator<Item = Range<usize>>,
    split_at: impl Fn(P, usize) -> (P, P),
) -> Vec<P> {
    let mut lengths: Vec<usize> = ranges.map(|range| range.len()).collect();
    lengths.pop();
    let (mut rest, mut partitions) = (whole, Vec::new());
    for length in lengths {
        let (partition, behind) = split_at(rest, length);
        partitions.push(partition);
        rest = behind;
    }
    partitions.push(rest);
    partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(Range<u64>);

    impl Partition for Numbers {
        fn bytes(&self) -> u64 {
            self.0.end - self.0.start
        }

        fn split(self, count: usize) -> Result<Vec<Numbers>> {
            let start = self.0.start;
            Ok(equal_ranges(self.bytes() as usize, count, 1)
                .map(|range| Numbers(start + range.start as u64..start + range.end as u64))
                .collect())
        }
    }

    fn sum(devices: &[Device], count: u64) -> Result<Vec<u64>> {
        let work = |device: &Device, partition: &mut Numbers| {
            let room = device.alloc::<u8>(partition.bytes() as usize)?;
            assert_eq!(room.len() as u64, partition.bytes());
            Ok(partition.0.clone().sum())
        };
        run(devices, "sum", Numbers(0..count), work)
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn only_the_memory_of_the_device_itself_makes_partitions_smaller() {
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
            let found = is_short_of_memory(&device, &error(memory));
            assert_eq!(found, is_short, "{memory}");
        }
        let error = device.alloc::<u8>(101).unwrap_err();
        assert!(is_short_of_memory(&device, &error));
    }

    #[test]
    fn partitions_run_once_and_in_order() {
        for count in [1, 2, 3, 7] {
            let devices = vec![Device::cpu(); count];
            let sums = sum(&devices, 1000).unwrap();
            assert_eq!(sums.len(), count);
            assert_eq!(sums.iter().sum::<u64>(), 499_500);
            assert!(sums.is_sorted());
        }
        let error = sum(&[], 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sum: there is no device in the set (Device::gpus() is empty without a GPU: \
             use Device::auto())"
        );
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn partitions_fit_the_memory() {
        let device = Device::simulator().unwrap().with_memory_limit(100);
        let sums = sum(std::slice::from_ref(&device), 1000).unwrap();
        assert_eq!(sums.len(), 10);
        // The first call allocates memory that the partitions were made for.
        let taken = Mutex::new(None);
        let work = |device: &Device, partition: &mut Numbers| {
            let mut taken = lock(&taken);
            if taken.is_none() {
                *taken = Some(device.alloc::<u8>(60)?);
            }
            let room = device.alloc::<u8>(partition.bytes() as usize)?;
            Ok(room.len())
        };
        let lengths = run(&[device], "sum", Numbers(0..1000), work).unwrap();
        assert_eq!(lengths.iter().sum::<usize>(), 1000);
        assert!(lengths.iter().all(|&length| length <= 40));
    }

    #[test]
    fn ranges_are_equal_and_cover_all() {
        for (length, count, step) in [
            (0, 3, 1),
            (1, 3, 1),
            (10, 3, 1),
            (10, 3, 4),
            (257, 7, 32),
            (5, 1, 8),
        ] {
            let ranges: Vec<_> = equal_ranges(length, count, step).collect();
            let lengths = || ranges.iter().map(|range| range.len());
            assert_eq!(lengths().sum::<usize>(), length);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(ranges.iter().all(|range| range.start % step == 0));
            let least = lengths().min().unwrap_or(length);
            assert!(lengths().all(|length| length < least + 2 * step));
            assert!(ranges.len() <= count && (least > 0 || ranges.is_empty()));
        }
    }

    #[test]
    fn the_last_partition_has_the_rest() {
        let halves = |text: &'static str| {
            split_at_ranges(text, equal_ranges(text.len(), 2, 1), str::split_at)
        };
        assert_eq!(halves("abcde"), ["ab", "cde"]);
        assert_eq!(halves(""), [""]);
    }

    #[test]
    fn threads_of_rayon_may_call_it() {
        use rayon::prelude::*;

        let devices = vec![Device::cpu(); 3];
        let work = |_: &Device, partition: &mut Numbers| {
            Ok(partition.0.clone().into_par_iter().sum::<u64>())
        };
        let calls = 4 * rayon::current_num_threads();
        (0..calls).into_par_iter().for_each(|_| {
            let sums = run(&devices, "sum", Numbers(0..1000), work).unwrap();
            assert_eq!(sums.iter().sum::<u64>(), 499_500);
        });
    }

    /// The only thread runs the partitions while it waits for them, and may run other tasks.
    #[cfg(feature = "simulator")]
    #[test]
    fn captures_do_not_record_what_their_thread_does_while_it_waits() {
        let captured = Device::simulator().unwrap();
        let work = |_: &Device, partition: &mut Numbers| {
            // Would be refused in a capture.
            captured.buffer_from(&[partition.0.start])?.to_vec()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let starts = pool.unwrap().install(|| {
            let devices = vec![Device::cpu(); 3];
            let call = || run(&devices, "copy", Numbers(0..9), work);
            captured.capture(call).map(|(_, starts)| starts)
        });
        assert_eq!(starts.unwrap().concat(), [0, 3, 6]);
    }

    #[test]
    fn the_first_error_is_returned() {
        let work = |_: &Device, partition: &mut Numbers| -> Result<()> {
            Err(Error::input("fail", partition.0.start.to_string()))
        };
        let devices = vec![Device::cpu(); 3];
        let error = run(&devices, "fail", Numbers(0..9), work).unwrap_err();
        assert_eq!(error.to_string(), "fail: 0");
    }
}

#[cfg(all(test, shuttle))]
mod model;
