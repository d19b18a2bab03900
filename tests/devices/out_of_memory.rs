//! Errors where the process has less memory than an operation needs.
//!
//! The work runs in a separate process, whose allocator refuses allocations beyond a limit: an
//! allocation that cannot report failure would end that process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicIsize, AtomicUsize};
use std::time::{Duration, Instant};

use fake_driver::in_own_process;
use gridstride::box_overlap::{overlaps, self_overlaps};
use gridstride::distances::{Distances, Metric, distances, pairwise};
use gridstride::edit_distance::{edit_distances, edit_distances_within};
use gridstride::matmul::matmul;
use gridstride::tensor_sketch::{Alphabet, Form, Sequences, Tables, TensorSketch, Unknown};
use gridstride::time_series::{
    Aggregates, Duplicates, Fill, Method, Order, Singletons, TimeBuckets, aggregate, bucket_counts,
    round_timestamps,
};
use gridstride::{Device, Error, Result};
use ndarray::{Array1, Array2, ArrayView2, array, s};

use crate::common::{devices, simulator};

const MIB: usize = 1 << 20;

/// The system's allocator with a limit, which counts what is allocated. Allocations below [`SMALL`] bytes always succeed, since
/// queues of threads and texts of errors need them.
struct Limited;

const SMALL: usize = 12_000;

/// Bytes that may still be allocated.
static ROOM: AtomicUsize = AtomicUsize::new(UNLIMITED);
const UNLIMITED: usize = usize::MAX / 2;

/// How many more allocations succeed before one fails.
static SUCCEEDING: AtomicUsize = AtomicUsize::new(UNLIMITED);

/// Bytes that are allocated.
static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

/// Returns the bytes that the process has allocated.
pub fn allocated() -> isize {
    ALLOCATED.load(Relaxed)
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

impl Limited {
    fn limit(layout: Layout, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
        let has_room = layout.size() < SMALL
            || ROOM
                .try_update(Relaxed, Relaxed, |room| room.checked_sub(layout.size()))
                .is_ok();
        let fails = layout.size() >= SMALL && SUCCEEDING.fetch_sub(1, Relaxed) == 0;
        if !has_room || fails {
            return null_mut();
        }
        ALLOCATED.fetch_add(layout.size() as isize, Relaxed);
        allocate()
    }
}

// SAFETY: it returns what the system's allocator returns, or null, which stands for a failure.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the system's allocator has the same conditions, which the caller meets.
        Self::limit(layout, || unsafe { System.alloc(layout) })
    }

    // Pages that the system has zeroed take no memory before they are written to.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the system's allocator has the same conditions, which the caller meets.
        Self::limit(layout, || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() >= SMALL {
            ROOM.fetch_add(layout.size(), Relaxed);
        }
        ALLOCATED.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: the block was allocated by the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `work` in a separate process, since a limit would apply to all tests of this program.
fn in_limited_process<T>(test: T, work: impl FnOnce()) {
    // The same work on machines with any number of cores.
    in_own_process(
        test,
        |command| {
            command.env("RAYON_NUM_THREADS", "2");
            // Buffers with guard zones do not come from the allocator.
            command.env("GRIDSTRIDE_SIMULATOR_GUARDS", "0");
        },
        work,
    );
}

/// Calls `work` while the process may allocate at most `bytes` more than it has now.
fn with_room<R>(bytes: usize, work: impl FnOnce() -> R) -> R {
    let before = ROOM.swap(bytes, Relaxed);
    let result = work();
    ROOM.store(before, Relaxed);
    result
}

/// Fails unless the memory of the host does not suffice for the operation.
fn assert_no_memory<T>(operation: &str, result: Result<T>) {
    match result {
        Ok(_) => panic!("{operation} had memory"),
        Err(Error::Allocation { operation: of, .. }) if of == operation => {}
        Err(error) => panic!("{operation}: {error}"),
    }
}

/// Repeats the work, in which another allocation fails each time. It must fail with an error then, or
/// do without the memory.
fn with_each_allocation_failing<T: PartialEq + Debug>(
    operation: &str,
    work: impl Fn() -> Result<T>,
) {
    let expected = work().unwrap();
    for number in 0.. {
        SUCCEEDING.store(number, Relaxed);
        let result = work();
        // Beyond zero the counter has gone round.
        let has_failed = SUCCEEDING.swap(UNLIMITED, Relaxed) > UNLIMITED;
        match result {
            Ok(found) => assert_eq!(found, expected),
            error => assert_no_memory(operation, error),
        }
        assert_eq!(work().unwrap(), expected, "{operation} after {number}");
        if !has_failed {
            assert!(number > 0, "{operation} allocates nothing");
            return;
        }
    }
}

/// Repeats the work with more and more memory until it succeeds. It must fail with an error before. From
/// 4 MiB on each try has a quarter more than the one before.
fn with_ever_more_memory<T: PartialEq + Debug>(operation: &str, work: impl Fn() -> Result<T>) {
    let expected = work().unwrap();
    let (mut room, mut failures) = (0, 0);
    loop {
        match with_room(room, &work) {
            Ok(found) => {
                assert_eq!(found, expected);
                break;
            }
            error => assert_no_memory(operation, error),
        }
        failures += 1;
        room += MIB.max(room / 4);
    }
    assert!(failures > 0, "{operation} never ran out of memory");
}

fn sketcher() -> TensorSketch {
    TensorSketch::new(Tables::from_seed(4, 3, 512, 0).unwrap())
}

fn empty_sequences(count: usize) -> Sequences {
    Sequences::from_concatenated(vec![], vec![0; count + 1]).unwrap()
}

#[test]
fn large_results_are_refused() {
    in_limited_process(large_results_are_refused, || {
        for device in [Device::cpu(), simulator()] {
            let sequences = empty_sequences(200_000);
            let letter = array![0u8];
            let letters = letter.broadcast(300_000_000).unwrap();
            let few = array![0u8].broadcast(3_000_000).unwrap().to_owned();
            let row = array![[0.0, 1.0]];
            let rows = row.broadcast((20_000, 2)).unwrap();
            let (zero, one) = (array![0i64], array![1.0]);
            let timestamps = zero.broadcast(50_000_000).unwrap();
            let values = one.broadcast(50_000_000).unwrap();
            sketcher().sketch(&device, &empty_sequences(3)).unwrap();
            with_room(64 * MIB, || {
                let sketcher = sketcher();
                assert_no_memory("sketch", sketcher.sketch(&device, &sequences));
                assert_no_memory("sketch_rows", sketcher.sketch_rows(&device, &sequences));
                assert_no_memory("sketch_one", sketcher.sketch_one(&device, letters));
                assert_no_memory("windows", sketcher.windows(&device, letters, 5, 1));
                assert_no_memory("windows", sketcher.windows(&device, few.view(), 5, 1));
                assert_no_memory("distances", distances(&device, rows, rows));
                assert_no_memory("pairwise", pairwise(&device, rows));
                assert_no_memory("matmul", matmul(&device, rows, rows.t()));
                let sums = aggregate(&device, timestamps, values, 5, &[Method::SUM]);
                assert_no_memory("aggregate", sums);
                let rounded = round_timestamps(&device, timestamps, 5, 0);
                assert_no_memory("round_timestamps", rounded);
                let far = array![0, i64::MAX / 2];
                let filled = TimeBuckets::every(1_000_000_000).fill(Fill::Nan);
                let filled = filled.aggregate(&device, far.view(), array![1.0, 2.0].view());
                assert_no_memory("aggregate", filled);
                assert_no_memory("allocation of a buffer", device.alloc::<f64>(1 << 24));
                let locked = device.pinned::<f64>(1 << 24);
                assert_no_memory("allocation of page-locked memory", locked);
                let many = rows.broadcast((999, 20_000, 2)).unwrap();
                assert_no_memory("upload of an array", device.upload(&many));
            });
        }
    });
}

#[test]
fn sequences_are_collected_until_memory_ends() {
    in_limited_process(sequences_are_collected_until_memory_ends, || {
        let letter = array![0u8];
        let letters = letter.broadcast(12 * MIB).unwrap();
        let text = vec![b'A'; 12 * MIB];
        with_room(8 * MIB, || {
            let mut sequences = Sequences::new();
            sequences.push([1, 2]).unwrap();
            assert_no_memory("Sequences::push", sequences.push(letters));
            assert_no_memory("Sequences::try_extend", sequences.try_extend([letters]));
            let endless = std::iter::repeat_n([0u8; 1000], 1 << 20);
            let endless = Sequences::try_from_iter(endless);
            assert_no_memory("Sequences::try_from_iter", endless);
            let encoded = Alphabet::dna().encode(&text, Unknown::Skip);
            assert_no_memory("Alphabet::encode", encoded);
            // The previous codes are unchanged.
            assert_eq!(sequences.codes(), [1, 2]);
            assert_eq!(sequences.offsets(), [0, 2]);
        });
    });
}

#[test]
fn sketches_fail_or_are_right_however_little_memory_there_is() {
    in_limited_process(
        sketches_fail_or_are_right_however_little_memory_there_is,
        || {
            let texts =
                [140_000, 3, 40_000, 500].map(|n| (0..n).map(|i: u64| (i * i % 97 % 4) as u8));
            let sequences: Sequences = texts.map(|text| text.collect::<Vec<u8>>()).iter().collect();
            let one = sequences.get(0).unwrap();
            let cpu = Device::cpu();
            let wide = TensorSketch::new(Tables::from_seed(4, 5, 1024, 0).unwrap());
            with_ever_more_memory("sketch", || wide.sketch(&cpu, &sequences));
            let direct = wide.clone().form(Form::Direct);
            let many = empty_sequences(2000);
            with_ever_more_memory("sketch", || direct.sketch(&cpu, &many));
            let windows = one.slice(s![..20_000]);
            let narrow = TensorSketch::new(Tables::from_seed(4, 4, 256, 0).unwrap());
            with_ever_more_memory("windows", || narrow.windows(&cpu, windows, 4500, 2));
            with_ever_more_memory("windows", || narrow.windows(&cpu, windows, 15_001, 1));
            with_ever_more_memory("windows", || narrow.windows(&cpu, windows, 2, 2));
        },
    );
}

#[test]
fn other_operations_fail_or_are_right_however_little_memory_there_is() {
    in_limited_process(
        other_operations_fail_or_are_right_however_little_memory_there_is,
        || {
            let cpu = Device::cpu();
            let rows = Array2::from_shape_fn((1500, 8), |(i, j)| ((i * 31 + j * 7) % 97) as f64);
            with_ever_more_memory("pairwise", || pairwise(&cpu, rows.view()));
            let turned = rows.slice(s![..;-1, ..]);
            let squared = Distances::new().metric(Metric::SquaredL2);
            let of_turned = || squared.distances(&cpu, turned, rows.view());
            with_ever_more_memory("distances", of_turned);

            let timestamps = Array1::from_iter((0..399_999i64).map(|i| i * 7919 % 399_999));
            let values = timestamps.mapv(|t| t as f64);
            let half = Method::percentile(50.0);
            let methods = [Method::MEAN, Method::STD, half, Method::SUM.rate()];
            let sorted = TimeBuckets::every(3).methods(&methods).order(Order::Sort);
            let backwards = (timestamps.slice(s![..;-1]), values.slice(s![..;-1]));
            let aggregated = || sorted.aggregate(&cpu, backwards.0, backwards.1);
            with_ever_more_memory("aggregate", aggregated);

            let boxes = Array2::from_shape_fn((20_000, 4), |(i, j)| {
                let place = (i * 7919 % 20_000) as f32;
                if j < 2 { place } else { place + 150.0 }
            });
            with_ever_more_memory("overlaps", || overlaps(&cpu, boxes.view(), boxes.view()));
            with_ever_more_memory("self_overlaps", || self_overlaps(&cpu, boxes.view()));
        },
    );
}

/// Left out are products, long Fourier transforms and sorting: gemm, rustfft and rayon end the process
/// if their own temporary memory cannot be allocated.
#[test]
fn operations_fail_or_are_right_whichever_allocation_fails() {
    in_limited_process(
        operations_fail_or_are_right_whichever_allocation_fails,
        || {
            let cpu = Device::cpu();
            let rows = Array2::from_shape_fn((150, 20), |(i, j)| ((i * 31 + j * 7) % 97) as f64);
            let turned = rows.slice(s![..;-1, ..]);
            with_each_allocation_failing("pairwise", || pairwise(&cpu, rows.view()));
            with_each_allocation_failing("distances", || distances(&cpu, turned, rows.view()));

            let timestamps = Array1::from_iter(0..40_000i64);
            let values = timestamps.mapv(|t| (t % 13) as f64);
            let methods = [Method::MEAN, Method::percentile(50.0), Method::SUM.rate()];
            let buckets = TimeBuckets::every(3).methods(&methods);
            let (t, v) = (timestamps.view(), values.view());
            with_each_allocation_failing("aggregate", || buckets.aggregate(&cpu, t, v));
            let rounded = || round_timestamps(&cpu, t, 5, 0);
            with_each_allocation_failing("round_timestamps", rounded);

            let boxes = Array2::from_shape_fn((3000, 4), |(i, j)| {
                let place = (i * 7919 % 3000) as f32;
                if j < 2 { place } else { place + 50.0 }
            });
            with_each_allocation_failing("overlaps", || overlaps(&cpu, boxes.view(), boxes.view()));
            with_each_allocation_failing("self_overlaps", || self_overlaps(&cpu, boxes.view()));
        },
    );
}

/// Lists with an element for each of many series, sequences or pairs.
#[test]
fn many_series_and_sequences_fail_or_are_right_whichever_allocation_fails() {
    in_limited_process(
        many_series_and_sequences_fail_or_are_right_whichever_allocation_fails,
        || {
            let cpu = Device::cpu();
            let several = [cpu.clone(), cpu.clone(), cpu.clone()];
            // Series of three points, in descending order.
            let offsets: Vec<usize> = (0..=2000).map(|series| 3 * series).collect();
            let timestamps = Array1::from_iter((0..6000i64).rev());
            let values = timestamps.mapv(|t| (t % 13) as f64);
            let (t, v) = (timestamps.view(), values.view());
            let backwards = (timestamps.slice(s![..;-1]), values.slice(s![..;-1]));
            let methods = [Method::MEAN, Method::STD, Method::SUM.rate()];
            let buckets = TimeBuckets::every(2).methods(&methods);
            let kept = buckets
                .clone()
                .singletons(Singletons::Drop)
                .fill(Fill::Previous);
            let sorted = kept.clone().order(Order::Sort).duplicates(Duplicates::Last);
            for devices in [&several[..1], &several] {
                let aggregate = || sorted.aggregate_series(devices, &offsets, t, v);
                with_each_allocation_failing("aggregate_series", || Ok(hash(&aggregate()?)));
                let aggregate =
                    || kept.aggregate_series(devices, &offsets, backwards.0, backwards.1);
                with_each_allocation_failing("aggregate_series", || Ok(hash(&aggregate()?)));
                let summaries =
                    || buckets.summaries_series(devices, &offsets, backwards.0, backwards.1);
                with_each_allocation_failing("summaries_series", summaries);
                let counts = || bucket_counts(devices, backwards.0, 2, 0);
                with_each_allocation_failing("bucket_counts", counts);
            }
            let summaries = buckets.summaries_series(&cpu, &offsets, backwards.0, backwards.1);
            let summaries = summaries.unwrap();
            with_each_allocation_failing("resample", || summaries.resample(4));

            let codes: Vec<u8> = (0..30_000).map(|i| (i * i % 31 % 4) as u8).collect();
            let slices: Vec<&[u8]> = codes.chunks(3).collect();
            let copied = || Sequences::try_from_slices(&slices);
            with_each_allocation_failing("Sequences::try_from_slices", copied);
            let (a, b) = (copied().unwrap(), empty_sequences(10_000));
            for devices in [&several[..1], &several] {
                let distances = || edit_distances(devices, &a, &b);
                with_each_allocation_failing("edit_distances", distances);
                let within = || edit_distances_within(devices, &a, &b, 2);
                with_each_allocation_failing("edit_distances_within", within);
                let narrow = TensorSketch::new(Tables::from_seed(4, 2, 8, 0).unwrap());
                with_each_allocation_failing("sketch", || narrow.sketch(devices, &a));
                let direct = narrow.form(Form::Direct);
                with_each_allocation_failing("sketch", || direct.sketch(devices, &a));
            }
        },
    );
}

/// A number that differs for different aggregates, without an allocation. NaN is one value.
fn hash(found: &Aggregates) -> u64 {
    let mut hasher = DefaultHasher::new();
    found.offsets().hash(&mut hasher);
    found.starts().hash(&mut hasher);
    for number in found.columns().iter().flatten() {
        let bits = (!number.is_nan()).then_some(number.to_bits());
        bits.hash(&mut hasher);
    }
    hasher.finish()
}

/// Results of 32 TB. Machines that overcommit would grant them and kill the process at the first
/// writes.
#[test]
fn what_no_machine_has_is_refused_at_once() {
    let row = array![[0.0, 1.0]];
    let rows: ArrayView2<f64> = row.broadcast((2_000_000, 2)).unwrap();
    for device in devices() {
        let start = Instant::now();
        for (operation, result) in [
            ("distances", distances(&device, rows, rows)),
            ("pairwise", pairwise(&device, rows)),
            ("matmul", matmul(&device, rows, rows.t())),
        ] {
            let error = result.unwrap_err();
            let text = error.to_string();
            let start = format!("{operation}: the host cannot allocate 32000000000000 bytes: ");
            assert!(
                text.starts_with(&start) && text.ends_with("bytes are free"),
                "{text}"
            );
            let Error::Allocation {
                free: Some(free),
                total: Some(total),
                ..
            } = error
            else {
                panic!("{error:?}");
            };
            assert!(free <= total && total < 32_000_000_000_000, "{text}");
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{device}");
    }
}
