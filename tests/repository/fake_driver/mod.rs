//! The library's calls of the driver, over a library that plays the driver of a GPU. Needs no GPU.
//!
//! Each test runs in a process of its own.

mod environment;
mod faults;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use cuda_std_tests_kernels::constants::COEFFICIENTS;
use cuda_std_tests_kernels::launches::add_to_all;
use cust::context::Context;
use cust::device::Device as CustDevice;
use cust::stream::Stream as CustStream;
use cust::sys::{self, CUresult};
use fake_driver::{left, name_of, over_fake_driver};
use gridstride::box_overlap::BoxOverlap;
use gridstride::device::{Buffer, LaunchConfig, Module, Stream};
use gridstride::distances::Distances;
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::MatMul;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::{Method, TimeBuckets};
use gridstride::{Device, Error, Result};
use ndarray::{Array1, Array2, array};

use crate::common::{fails, module};

static MODULE: Module = module!(
    "fake_driver_test",
    "kernels-gpu/ptx/cuda_std_tests",
    "sm_70"
);

/// Where the fake driver writes its calls.
const LOG: &str = "FAKE_DRIVER_LOG";

/// Runs `work` with the fake GPU in a separate process, and checks that everything was freed.
fn over_fake_gpu<T: Copy>(test: T, work: impl FnOnce(Device)) {
    let configure = |command: &mut Command| {
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name_of(&test).replace("::", "."));
        fs::write(&log, "").unwrap();
        command.env(LOG, log);
    };
    over_fake_driver(test, configure, || {
        work(Device::cuda(0).unwrap());
        assert_eq!(left(), None);
    });
}

/// Returns the names of all calls so far.
fn calls() -> Vec<String> {
    let text = fs::read_to_string(std::env::var_os(LOG).unwrap()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns how often `work` calls each function of the driver, except those for the context.
fn calls_of<R>(work: impl FnOnce() -> Result<R>) -> BTreeMap<String, usize> {
    let before = calls().len();
    let result = work().unwrap();
    let mut counts = BTreeMap::new();
    for call in calls().split_off(before) {
        if !call.starts_with("cuCtxP") {
            *counts.entry(call).or_default() += 1;
        }
    }
    drop(result);
    counts
}

fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected
        .map(|(name, count)| (name.to_owned(), count))
        .into()
}

/// A call on device arrays costs what its launches cost: its temporary buffers are those of the
/// call before.
#[test]
fn repeated_calls_only_launch() {
    over_fake_gpu(repeated_calls_only_launch, |device| {
        let ones = |size| Array2::<f64>::ones((size, size));
        for size in [16, 128] {
            let a = device.upload(&ones(size)).unwrap();
            let mut c = device.upload(&ones(size)).unwrap();
            let mut into = || MatMul::new().matmul_device_into(&a, &a, &mut c);
            into().unwrap();
            let new = || MatMul::new().matmul_device(&a, &a);
            drop(new().unwrap());
            for calls in [calls_of(&mut into), calls_of(new)] {
                assert_eq!(calls.len(), 1, "{size}: {calls:?}");
                assert!(
                    (1..=2).contains(&calls["cuLaunchKernel"]),
                    "{size}: {calls:?}"
                );
            }
        }
    });
}

/// The most calls of the driver in a call on little data.
struct Most {
    launches: usize,
    /// Fills and copies to the GPU, which wait for nothing.
    writes: usize,
    /// Copies from the GPU. The call waits for each.
    reads: usize,
}

impl Most {
    /// Checks a call that was made before, so that its memory is there.
    fn check<R>(&self, name: &str, mut call: impl FnMut() -> Result<R>) {
        call().unwrap();
        let mut calls = calls_of(call);
        let mut take = |names: &[&str]| -> usize {
            let taken = names.iter().filter_map(|name| calls.remove(*name));
            taken.sum()
        };
        let launches = take(&["cuLaunchKernel"]);
        let writes = take(&["cuMemsetD8Async", "cuMemcpyHtoDAsync_v2"]);
        let reads = take(&["cuMemcpyDtoHAsync_v2"]);
        let waits = take(&["cuStreamSynchronize"]);
        // Every half of the slots for small copies.
        take(&["cuEventSynchronize", "cuEventRecord"]);
        // Before each copy.
        take(&["cuStreamIsCapturing"]);
        assert!(calls.is_empty(), "{name}: {calls:?}");
        assert_eq!(reads, waits, "{name}");
        let within = launches <= self.launches && writes <= self.writes && reads <= self.reads;
        assert!(
            within,
            "{name}: {launches} launches, {writes} writes, {reads} reads"
        );
    }
}

/// Calls on little data take as long as their launches (2 to 4 us each) and waits (8 us).
#[test]
fn calls_on_little_data_ask_little() {
    over_fake_gpu(calls_on_little_data_ask_little, |device| {
        // Kernels that only write results leave what was there: no errors and no pairs.
        // SAFETY: this process runs this test alone, and no other thread reads the environment.
        unsafe { std::env::set_var("FAKE_DRIVER_FILL", "0") };
        let most = |launches, writes, reads| Most {
            launches,
            writes,
            reads,
        };
        let rows = device.upload(&Array2::<f32>::ones((100, 16))).unwrap();
        let distances = Distances::new();
        most(1, 0, 1).check("distances", || distances.distances_device(&rows, &rows));
        most(1, 0, 1).check("pairwise", || distances.pairwise_device(&rows));
        most(3, 0, 1).check("nearest", || distances.nearest_device(&rows, &rows, 3));
        let many = device.upload(&Array2::<f32>::ones((1000, 16))).unwrap();
        most(2, 1, 1).check("more distances", || {
            distances.distances_device(&many, &rows)
        });

        let boxes = device.upload(&Array2::<f32>::ones((100, 6))).unwrap();
        let search = BoxOverlap::new();
        most(1, 0, 1).check("pairs of boxes", || search.overlaps_device(&boxes, &boxes));
        most(1, 0, 1).check("pairs in one set", || search.self_overlaps_device(&boxes));
        most(1, 0, 1).check("counts of boxes", || search.counts_device(&boxes, &boxes));

        let timestamps = device.upload(&Array1::<i64>::ones(1000)).unwrap();
        let values = device.upload(&Array1::<f64>::ones(1000)).unwrap();
        let mean = TimeBuckets::every(35).methods(&[Method::MEAN]);
        most(2, 1, 1).check("mean", || mean.aggregate_device(&timestamps, &values));

        let sequences = Sequences::from(vec![vec![0u8, 1, 2, 3]; 10]);
        let sequences = sequences.upload(&device).unwrap();
        let sketch = TensorSketch::<f32>::new(Tables::from_seed(4, 3, 64, 1).unwrap());
        most(5, 3, 0).check("sketches", || sketch.sketch_device(&sequences));
        let edits = EditDistance::new();
        most(1, 4, 0).check("edit distances", || {
            edits.edit_distances_device(&sequences, &sequences)
        });
    });
}

#[test]
fn small_copies_wait_for_results_alone() {
    over_fake_gpu(small_copies_wait_for_results_alone, |device| {
        // The first copy allocates page-locked memory for all small ones.
        device.buffer_from(&[1u8]).unwrap();
        for length in [1, 1024, 1025, 65_537] {
            let source = vec![7u8; length];
            let mut buffer = device.alloc::<u8>(length).unwrap();
            let mut expected = counts([("cuStreamIsCapturing", 1), ("cuMemcpyHtoDAsync_v2", 1)]);
            if length > 1024 {
                expected.insert("cuStreamSynchronize".to_owned(), 1);
                expected.insert("pageable".to_owned(), 1);
            }
            assert_eq!(calls_of(|| buffer.copy_from(&source)), expected, "{length}");
            assert_eq!(buffer.to_vec().unwrap(), source);
        }
        // Page-locked memory, which the GPU reads later.
        let pinned = device.pinned::<u8>(2000).unwrap();
        let mut buffer = device.alloc::<u8>(2000).unwrap();
        let waits = calls_of(|| buffer.copy_from(&pinned));
        assert_eq!(waits["cuStreamSynchronize"], 1);
        let buffer = device.buffer_from(&[1u64, 2]).unwrap();
        buffer.to_vec().unwrap();
        let reads = calls_of(|| buffer.to_vec());
        let expected = [("cuMemcpyDtoHAsync_v2", 1), ("cuStreamSynchronize", 1)];
        assert_eq!(reads, counts(expected));
    });
}

/// A place in page-locked memory is used again only after the copies from its half of the memory.
#[test]
fn small_copies_wait_for_earlier_ones() {
    over_fake_gpu(small_copies_wait_for_earlier_ones, |device| {
        let mut buffers: Vec<_> = (0..200)
            .map(|_| device.alloc::<u16>(512).unwrap())
            .collect();
        let upload = |buffer: &mut Buffer<u16>, number: u16| {
            buffer.copy_from(&[number; 512]).unwrap();
        };
        let before = calls().len();
        for (buffer, number) in buffers.iter_mut().zip(0..) {
            upload(buffer, number);
        }
        let mut started = 0;
        for call in calls().split_off(before) {
            match &*call {
                "cuMemcpyHtoDAsync_v2" => started += 1,
                // Before the copies 0 and 32, whose events nothing has recorded, and so on.
                "cuEventSynchronize" => assert_eq!(started % 32, 0),
                "cuEventRecord" => assert!(started % 32 == 0 && started > 0),
                _ => {}
            }
        }
        let calls = calls().split_off(before);
        let count = |name: &str| calls.iter().filter(|call| *call == name).count();
        assert_eq!((started, count("pageable")), (200, 0));
        assert_eq!(
            (count("cuEventSynchronize"), count("cuEventRecord")),
            (7, 6)
        );
        assert_eq!(count("cuStreamSynchronize"), 0);
        for (buffer, number) in buffers.iter().zip(0..) {
            assert_eq!(buffer.to_vec().unwrap(), [number; 512]);
        }
    });
}

#[test]
fn small_copies_wait_if_no_memory_can_be_locked() {
    over_fake_gpu(small_copies_wait_if_no_memory_can_be_locked, |device| {
        // SAFETY: this process runs this test alone, and no other thread reads the environment.
        unsafe { std::env::set_var("FAKE_DRIVER_LOCKS_NOTHING", "1") };
        let mut buffer = device.alloc::<u8>(5).unwrap();
        for _ in 0..2 {
            let calls = calls_of(|| buffer.copy_from(&[3; 5]));
            assert_eq!(calls["cuMemcpyHtoDAsync_v2"], 1);
            assert_eq!(calls["cuStreamSynchronize"], 1);
        }
        // SAFETY: this process runs this test alone, and no other thread reads the environment.
        unsafe { std::env::remove_var("FAKE_DRIVER_LOCKS_NOTHING") };
        assert_eq!(buffer.to_vec().unwrap(), [3; 5]);
    });
}

#[test]
fn freed_memory_of_all_streams_serves_each() {
    over_fake_gpu(freed_memory_of_all_streams_serves_each, |device| {
        const MIB: usize = 1 << 20;
        // SAFETY: this process runs this test alone, and no other thread reads the environment.
        unsafe { std::env::set_var("FAKE_DRIVER_MEMORY", (4 * MIB).to_string()) };
        let stream = device.stream().unwrap();
        let beside = device.on(&stream).unwrap();
        let keep_three = || {
            let buffers = [(); 3].map(|()| beside.alloc::<u8>(MIB).unwrap());
            drop(buffers);
        };
        keep_three();
        drop(device.alloc::<u8>(4 * MIB).unwrap());
        // Also while a graph is captured.
        keep_three();
        let captured = device.capture(|| device.alloc::<u8>(4 * MIB));
        drop(captured.unwrap());
        let error = device.alloc::<u8>(4 * MIB + 1).unwrap_err();
        assert!(matches!(error, Error::Allocation { .. }), "{error}");
    });
}

/// The copies and fills of graphs are real here, as opposed to kernels.
#[test]
fn graphs_repeat_their_work_and_free_everything() {
    over_fake_gpu(graphs_repeat_their_work_and_free_everything, |device| {
        let mut source = device.upload(&array![[1u32, 2], [3, 4], [5, 6]]).unwrap();
        let record = || {
            let rows = source.view().slice_axis(0, 1..3)?.to_array()?;
            let mut zeros = device.zeros::<u32>(3)?;
            zeros.fill_zero()?;
            let uploaded = device.buffer_from(&[9u32, 8])?;
            // Temporary memory, which the graph keeps.
            drop(device.zeros::<u32>(100)?);
            Ok((rows, zeros, uploaded))
        };
        let (mut graph, (rows, mut zeros, mut uploaded)) = device.capture(record).unwrap();
        // Uploads run at once too.
        assert_eq!(uploaded.to_vec().unwrap(), [9, 8]);
        for round in 0..3u32 {
            source.buffer_mut().copy_from(&[round; 6]).unwrap();
            zeros.copy_from(&[round + 1; 3]).unwrap();
            uploaded.copy_from(&[round; 2]).unwrap();
            let expected = counts([("cuGraphLaunch", 1)]);
            assert_eq!(calls_of(|| graph.launch()), expected);
            assert_eq!(
                rows.download().unwrap(),
                array![[round, round], [round, round]]
            );
            assert_eq!(zeros.to_vec().unwrap(), [0; 3]);
            assert_eq!(uploaded.to_vec().unwrap(), [9, 8]);
        }
        drop(source);
        graph.launch().unwrap();
        assert_eq!(rows.download().unwrap(), array![[2, 2], [2, 2]]);

        // Arrays of another stream: each launch waits for it, and it waits for the launch.
        let beside = device.on(&device.stream().unwrap()).unwrap();
        let a = device.upload(&Array2::<f64>::ones((16, 16))).unwrap();
        let b = beside.upload(&Array2::<f64>::ones((16, 16))).unwrap();
        let (mut ordered, _product) = device
            .capture(|| MatMul::new().matmul_device(&a, &b))
            .unwrap();
        let expected = [
            ("cuEventRecord", 2),
            ("cuGraphLaunch", 1),
            ("cuStreamWaitEvent", 2),
        ];
        assert_eq!(calls_of(|| ordered.launch()), counts(expected));
        let moved = a.on(&beside);
        assert!(matches!(moved, Err(Error::InvalidInput { .. })));
    });
}

#[test]
fn refused_captures_leave_the_stream_as_it_was() {
    over_fake_gpu(refused_captures_leave_the_stream_as_it_was, |device| {
        let mut buffer = device.buffer_from(&[1u32, 2]).unwrap();
        assert!(device.capture(|| buffer.to_vec()).is_err());
        assert!(device.capture(|| device.synchronize()).is_err());
        assert!(device.capture(|| device.alloc::<u8>(usize::MAX)).is_err());
        let stream = device.stream().unwrap();
        // Another thread's waiting for all streams would end the capture.
        let buffer_of_any_handle = device.capture(|| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| device.with_memory_limit(1 << 20).zeros::<u8>(9));
                other.join().unwrap()
            })
        });
        drop(buffer_of_any_handle.unwrap());
        // This thread would wait for itself, and a thread of rayon perhaps for a task below its own.
        let of_stream = stream.device();
        let waits = of_stream.capture(|| device.synchronize_all());
        fails(
            waits,
            &["waiting for all streams", "this thread captures one"],
        );
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        let pool = pool.build().unwrap();
        let waits = of_stream.capture(|| pool.install(|| device.synchronize_all()));
        fails(
            waits,
            &["waiting for all streams", "a thread of rayon cannot wait"],
        );
        let mut values = device.zeros::<u32>(9).unwrap();
        let mut launch = || {
            let (config, arguments) = (LaunchConfig::new(1, 32), (values.slice_mut(), 1));
            // SAFETY: the slice is the buffer's, which outlives the launch.
            unsafe { stream.launch(&MODULE, &add_to_all, config, arguments) }
        };
        let waits = of_stream.capture(|| pool.install(&mut launch));
        fails(
            waits,
            &["launch on a stream", "a thread of rayon cannot wait"],
        );
        launch().unwrap();
        device.synchronize_all().unwrap();
        drop(stream);
        let (mut graph, ()) = device.capture(|| buffer.fill_zero()).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [1, 2]);
        graph.launch().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0, 0]);
    });
}

/// The first launch with buffers of any handle waits for captures, since it waits for all streams.
#[test]
fn later_launches_with_any_buffer_do_not_wait_for_captures() {
    over_fake_gpu(
        later_launches_with_any_buffer_do_not_wait_for_captures,
        |device| {
            let stream = device.stream().unwrap();
            let mut values = device.zeros::<u32>(9).unwrap();
            let mut launch = move || {
                let (config, arguments) = (LaunchConfig::new(1, 32), (values.slice_mut(), 1));
                // SAFETY: the slice is the buffer's, which lives as long as the closure.
                unsafe { stream.launch(&MODULE, &add_to_all, config, arguments) }.unwrap();
            };
            launch();
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel();
            let other = thread::spawn(move || {
                begun.recv().unwrap();
                launch();
                end.send(()).unwrap();
                launch
            });
            let work = || {
                begin.send(()).unwrap();
                Ok(ended.recv_timeout(Duration::from_secs(20)).is_ok())
            };
            let (_graph, has_launched) = device.capture(work).unwrap();
            assert!(has_launched, "the launch waits for the capture");
            drop(other.join().unwrap());
        },
    );
}

/// Copies to the GPU go through memory that is used again, which a graph of another library would copy
/// later.
#[test]
fn nothing_is_uploaded_while_another_library_captures_the_stream() {
    over_fake_gpu(
        nothing_is_uploaded_while_another_library_captures_the_stream,
        |device| {
            let context = Arc::new(Context::retain(CustDevice::get_device(0).unwrap()).unwrap());
            let _bound = context.bind().unwrap();
            // SAFETY: cust copies and sets no memory here.
            let other = unsafe { CustStream::non_blocking_in(&context) }.unwrap();
            let raw = other.as_inner();
            // Kernels that write nothing leave no sketches beyond the range.
            // SAFETY: this process runs this test alone, and no other thread reads the environment.
            unsafe { std::env::set_var("FAKE_DRIVER_FILL", "0") };
            // SAFETY: a stream of the context, which lives longer.
            let stream = unsafe { Stream::from_raw(&device, raw.cast()) }.unwrap();
            let device = device.on(&stream).unwrap();
            let sequences = Sequences::from(vec![vec![1u8; 3000]; 10]);
            let sketch = TensorSketch::<f32>::new(Tables::from_seed(4, 3, 64, 1).unwrap());
            let mut few = device.alloc::<u8>(1).unwrap();
            let mut many = device.alloc::<u8>(5000).unwrap();
            let mut copied = device.alloc::<u8>(5000).unwrap();
            let mut upload_all = || {
                // SAFETY: no kernel reads the static.
                let constant = unsafe {
                    device.set_constant(&MODULE, &raw const COEFFICIENTS, &[1.0, 2.0, 3.0, 4.0])
                };
                [
                    few.copy_from(&[1]),
                    many.copy_from(&[2; 5000]),
                    sketch.sketch(&device, &sequences).map(drop),
                    constant,
                    stream.scope(|scope| scope.upload(&[3; 5000], &mut copied)),
                ]
            };
            upload_all().into_iter().for_each(Result::unwrap);
            let before = calls().len();
            let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            // SAFETY: the stream lives.
            let begun = unsafe { sys::cuStreamBeginCapture_v2(raw, mode) };
            assert_eq!(begun.to_result(), Ok(()));
            for refused in upload_all() {
                let error = refused.unwrap_err().to_string();
                assert!(
                    error.contains("another library captures a graph"),
                    "{error}"
                );
            }
            let copies = calls().split_off(before);
            let mut copies = copies.iter().filter(|call| call.starts_with("cuMemcpy"));
            assert_eq!(copies.next(), None);
            let mut graph = null_mut();
            // SAFETY: the stream is captured, and the graph is destroyed once.
            let ends = unsafe {
                [
                    sys::cuStreamEndCapture(raw, &mut graph),
                    sys::cuGraphDestroy(graph),
                ]
            };
            assert_eq!(ends.map(CUresult::to_result), [Ok(()); 2]);
            upload_all().into_iter().for_each(Result::unwrap);
        },
    );
}
