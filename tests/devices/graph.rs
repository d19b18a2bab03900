//! Graphs, on every available device that runs kernels.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cuda_std::prelude::*;
use cuda_std_tests_kernels::launches::add_to_all;
use gridstride::device::{Buffer, DeviceKind, Graph, LaunchConfig, Module};
use gridstride::distances::Distances;
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::MatMul;
use gridstride::primitives::{exclusive_sums, sort_pairs};
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::round_timestamps_device_inplace;
use gridstride::{Device, Error, Result};
use ndarray::{Array1, Array2, array};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::OF_TESTS;
use crate::common::{assert_error, devices, fails_with, module, simulator, with_kernels};

static MODULE: Module = module!(
    "device_graph_test",
    "kernels-gpu/ptx/cuda_std_tests",
    "sm_70"
);

fn add(values: &mut Buffer<u32>, amount: u32) -> Result<()> {
    let device = values.device().clone();
    let config = LaunchConfig::for_len(values.len(), 256);
    // SAFETY: the slice is the buffer's, which the graph keeps.
    unsafe { device.launch(&MODULE, &add_to_all, config, (values.slice_mut(), amount)) }
}

fn matrix(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(row, column)| {
        ((row as u64 * 7 + column as u64 * 3 + seed) % 5) as f64 - 2.0
    })
}

#[test]
fn each_launch_computes_with_the_elements_of_that_time() {
    for device in with_kernels() {
        let (m, k, n) = (33, 20, 17);
        let mut a = device.upload(&matrix(m, k, 0)).unwrap();
        let b = device.upload(&matrix(k, n, 1)).unwrap();
        let mut into = device.upload(&Array2::<f64>::zeros((m, n))).unwrap();
        let record = || {
            MatMul::new().matmul_device_into(&a, &b, &mut into)?;
            // A product with temporary memory, and one that reads the result of another.
            let product = MatMul::new().matmul_device(b.view().t(), a.view().t())?;
            MatMul::new().matmul_device(&into, &product)
        };
        let (mut graph, square) = device.capture(record).unwrap();
        for seed in 0..3 {
            let a_here = matrix(m, k, seed);
            a.buffer_mut()
                .copy_from(a_here.as_slice().unwrap())
                .unwrap();
            graph.launch().unwrap();
            let expected = a_here.dot(&matrix(k, n, 1));
            assert_eq!(into.download().unwrap(), expected, "{device}");
            assert_eq!(square.download().unwrap(), expected.dot(&expected.t()));
        }
    }
}

#[test]
fn nothing_runs_before_the_first_launch() {
    for device in with_kernels() {
        let mut values = device.buffer_from(&[7u32; 100]).unwrap();
        let (mut graph, ()) = device.capture(|| add(&mut values, 3)).unwrap();
        assert_eq!(values.to_vec().unwrap(), [7; 100], "{device}");
        graph.launch().unwrap();
        graph.launch().unwrap();
        assert_eq!(values.to_vec().unwrap(), [13; 100]);
        let (mut empty, ()) = device.capture(|| Ok(())).unwrap();
        empty.launch().unwrap();
    }
}

#[test]
fn fills_and_copies_are_repeated() {
    for device in with_kernels() {
        let source = device.upload(&array![[1u32, 2], [3, 4], [5, 6]]).unwrap();
        let record = || {
            let mut zeros = device.zeros::<u32>(5)?;
            add(&mut zeros, 1)?;
            let mut rows = source.view().slice_axis(0, 1..3)?.to_array()?.into_buffer();
            add(&mut rows, 10)?;
            let mut uploaded = device.buffer_from(&[20u32, 30])?;
            // The bytes are those of the capture, and of no later moment.
            let bytes = vec![40u32];
            let mut copied = device.zeros::<u32>(1)?;
            copied.copy_from(&bytes)?;
            drop(bytes);
            add(&mut uploaded, 1)?;
            add(&mut copied, 1)?;
            Ok((zeros, rows, uploaded, copied))
        };
        let (mut graph, (zeros, rows, uploaded, copied)) = device.capture(record).unwrap();
        for _ in 0..3 {
            graph.launch().unwrap();
            assert_eq!(zeros.to_vec().unwrap(), [1; 5], "{device}");
            assert_eq!(rows.to_vec().unwrap(), [13, 14, 15, 16]);
            assert_eq!(uploaded.to_vec().unwrap(), [21, 31]);
            assert_eq!(copied.to_vec().unwrap(), [41]);
        }
    }
}

#[test]
fn a_graph_keeps_the_memory_of_its_work() {
    for device in with_kernels() {
        let limited = device.with_memory_limit(20_000);
        let (mut graph, sum) = {
            let mut values = limited.buffer_from(&[1u32; 1000]).unwrap();
            let mut unused = limited.buffer_from(&[1u32; 100]).unwrap();
            unused.fill_zero().unwrap();
            let record = || {
                add(&mut values, 1)?;
                exclusive_sums(&values)
            };
            limited.capture(record).unwrap()
        };
        // Memory that was freed would be used again here.
        let others: Vec<_> = (0..4)
            .map(|_| device.buffer_from(&[9u32; 1000]).unwrap())
            .collect();
        for launch in 2..4 {
            graph.launch().unwrap();
            assert_eq!(sum.to_vec().unwrap()[1000], launch * 1000, "{device}");
        }
        assert!(
            others
                .iter()
                .all(|other| other.to_vec().unwrap() == [9; 1000])
        );
        // The values, the sums and the totals of blocks, but not what the work did not use.
        let used = limited.memory_used().unwrap();
        assert!((4000 + 8008 + 8..12_400).contains(&used), "{used}");
        drop(sum);
        assert_eq!(limited.memory_used(), Some(used));
        drop(graph);
        assert_eq!(limited.memory_used(), Some(0));
    }
}

#[test]
fn what_waits_for_the_device_is_refused() {
    for device in with_kernels() {
        let mut values = device.buffer_from(&[1u32; 10]).unwrap();
        let reads = |what: &str| {
            format!(
                "capture of a graph: {what} cannot be recorded, since recorded work runs later: \
                 call this before or after the capture"
            )
        };
        let download = device.capture(|| values.to_vec());
        fails_with(download.map(|_| ()), reads("copy from a buffer"));
        let waits = device.capture(|| device.synchronize());
        fails_with(waits.map(|_| ()), reads("waiting for the stream"));
        let event = device.event().unwrap();
        let records = device.capture(|| device.record(&event));
        fails_with(records.map(|_| ()), reads("recording an event"));
        let awaits = device.capture(|| device.wait(&event));
        fails_with(awaits.map(|_| ()), reads("waiting for an event"));
        let stream = device.stream().unwrap();
        let copies = stream.device().capture(|| stream.scope(|_| Ok(())));
        fails_with(copies.map(|_| ()), reads("a scope of copies"));
        let rows = device.upload(&matrix(3, 4, 0)).unwrap();
        let checks = device.capture(|| Distances::new().pairwise_device(&rows));
        fails_with(checks.map(|_| ()), reads("copy from a buffer"));
        let mut times = device.upload(&array![1i64, 2, 3]).unwrap();
        let checks = device.capture(|| round_timestamps_device_inplace(&mut times, 2, 0));
        fails_with(checks.map(|_| ()), reads("copy from a buffer"));
        // Other threads would do the work of a call on several devices, within rayon too.
        let (set, rows) = ([device.clone(), device.clone()], matrix(3, 4, 0));
        let divides = || Distances::new().pairwise(&set[..], rows.view());
        let divided = device.capture(divides);
        fails_with(divided.map(|_| ()), reads("a call on several devices"));
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let divided = pool.install(|| device.capture(divides).map(|_| ()));
        fails_with(divided, reads("a call on several devices"));
        // Also if the work goes on: the record would have a gap.
        let goes_on = device.capture(|| {
            let _ = values.to_vec();
            add(&mut values, 1)
        });
        fails_with(goes_on.map(|_| ()), reads("copy from a buffer"));
        let (mut graph, ()) = device.capture(|| add(&mut values, 1)).unwrap();
        let launches = device.capture(|| graph.launch());
        fails_with(launches.map(|_| ()), reads("launch of a graph"));
        // No attempt had an effect.
        graph.launch().unwrap();
        assert_eq!(values.to_vec().unwrap(), [2; 10], "{device}");
    }
}

#[test]
fn the_cpu_has_no_graphs() {
    let error = Device::cpu().capture(|| Ok(())).unwrap_err();
    assert_error!(Err::<(), _>(error), Error::Unavailable { .. });
}

#[test]
fn a_capture_ends_whatever_its_work_does() {
    for device in with_kernels() {
        let mut values = device.buffer_from(&[1u32; 10]).unwrap();
        let fails = device.capture(|| {
            add(&mut values, 1)?;
            device.alloc::<u8>(usize::MAX)
        });
        assert_error!(fails.map(|_| ()), Error::Allocation { .. });
        let panics = catch_unwind(AssertUnwindSafe(|| {
            device.capture(|| -> Result<()> {
                add(&mut values, 1)?;
                panic!("on purpose")
            })
        }));
        assert!(panics.is_err());
        let nested = device.capture(|| device.capture(|| Ok(())));
        let text =
            "capture of a graph: this thread already captures a graph: end that capture first";
        fails_with(nested.map(|_| ()), text);
        assert_eq!(values.to_vec().unwrap(), [1; 10], "{device}");
        let (mut graph, ()) = device.capture(|| add(&mut values, 1)).unwrap();
        graph.launch().unwrap();
        assert_eq!(values.to_vec().unwrap(), [2; 10]);
    }
}

#[test]
fn other_threads_and_streams_are_not_recorded() {
    for device in with_kernels() {
        let stream = device.stream().unwrap();
        let beside = device.on(&stream).unwrap();
        let mut recorded = device.buffer_from(&[0u32; 10]).unwrap();
        let mut elsewhere = device.buffer_from(&[0u32; 10]).unwrap();
        let work = || {
            add(&mut recorded, 1)?;
            thread::scope(|scope| scope.spawn(|| add(&mut elsewhere, 1)).join()).unwrap()
        };
        let (mut graph, ()) = device.capture(work).unwrap();
        let found = [&recorded, &elsewhere].map(|values| values.to_vec().unwrap()[0]);
        assert_eq!(found, [0, 1], "{device}");
        graph.launch().unwrap();
        let found = [&recorded, &elsewhere].map(|values| values.to_vec().unwrap()[0]);
        assert_eq!(found, [1, 1]);

        // Arrays on another stream: launches are ordered with its work.
        let mut b = beside.upload(&matrix(20, 20, 1)).unwrap();
        let a = device.upload(&matrix(20, 20, 0)).unwrap();
        let (mut graph, product) = device
            .capture(|| MatMul::new().matmul_device(&a, &b))
            .unwrap();
        for seed in 1..4 {
            let b_here = matrix(20, 20, seed);
            b.buffer_mut()
                .copy_from(b_here.as_slice().unwrap())
                .unwrap();
            graph.launch().unwrap();
            b.buffer_mut().fill_zero().unwrap();
            let expected = matrix(20, 20, 0).dot(&b_here);
            assert_eq!(product.download().unwrap(), expected, "{device}");
        }
        let moved = product.on(&beside);
        if device.kind() != DeviceKind::Simulator {
            let text = "move to another handle: a graph uses the array, and its launches stay on their stream: drop the graph first";
            fails_with(moved.map(|_| ()), text);
        }
        drop(graph);
        a.on(&beside).unwrap();
    }
}

#[test]
fn calls_that_do_not_wait_are_recorded() {
    for device in with_kernels() {
        let codes = |seed: usize, length: usize| -> Vec<u8> {
            (0..length).map(|i| ((i * i + seed) % 4) as u8).collect()
        };
        let sequences = Sequences::from((0..10).map(|i| codes(i, 30 + i)).collect::<Vec<_>>());
        let sketcher = TensorSketch::<f32>::new(Tables::from_seed(4, 3, 16, 0).unwrap());
        let expected = sketcher.sketch(&device, &sequences).unwrap();
        let there = sequences.upload(&device).unwrap();
        let mut out = device.upload(&Array2::<f32>::zeros((10, 16))).unwrap();
        let (mut graph, ()) = device
            .capture(|| sketcher.sketch_device_into(&there, &mut out))
            .unwrap();
        // What the capture has derived from the lengths is there for other calls.
        let found = sketcher.sketch_device(&there).unwrap().download().unwrap();
        assert_eq!(found, expected, "{device}");
        for _ in 0..2 {
            out.buffer_mut().fill_zero().unwrap();
            graph.launch().unwrap();
            assert_eq!(out.download().unwrap(), expected);
        }

        let mut distances = device.upload(&Array1::<u32>::zeros(10)).unwrap();
        let (mut graph, ()) = device
            .capture(|| {
                EditDistance::new().edit_distances_device_into(&there, &there, &mut distances)
            })
            .unwrap();
        distances.buffer_mut().copy_from(&[1; 10]).unwrap();
        graph.launch().unwrap();
        assert_eq!(distances.download().unwrap(), Array1::<u32>::zeros(10));

        let mut keys = vec![9u64, 1, 5, 3];
        let sort = || {
            let values = device.buffer_from(&[0u32, 1, 2, 3])?;
            sort_pairs(device.buffer_from(&keys)?, values, 0..4)
        };
        let (mut graph, (sorted, order)) = device.capture(sort).unwrap();
        keys.sort_unstable();
        for _ in 0..2 {
            graph.launch().unwrap();
            assert_eq!(sorted.to_vec().unwrap(), keys);
            assert_eq!(order.to_vec().unwrap(), [1, 3, 2, 0]);
        }
    }
}

#[test]
fn graphs_and_the_kernels_of_all_workers_run_beside_each_other() {
    for device in with_kernels() {
        let mut counts = device.buffer_from(&[0u32; 5000]).unwrap();
        let (mut graph, ()) = device.capture(|| add(&mut counts, 1)).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (0..50).for_each(|_| graph.launch().unwrap()));
            (0..200u32).into_par_iter().for_each(|number| {
                let mut values = device.buffer_from(&[number; 1000]).unwrap();
                add(&mut values, 1).unwrap();
                assert_eq!(values.to_vec().unwrap(), [number + 1; 1000], "{device}");
            });
        });
        assert_eq!(counts.to_vec().unwrap(), [50; 5000], "{device}");
    }
}

#[test]
fn the_simulator_launches_no_graph_on_threads_of_rayon() {
    for device in with_kernels() {
        let mut counts = device.buffer_from(&[0u32; 100]).unwrap();
        // Rayon would not leave this thread for a single graph.
        let mut graphs = [(); 2].map(|()| device.capture(|| add(&mut counts, 1)).unwrap().0);
        let launched: Vec<_> = graphs.par_iter_mut().map(Graph::launch).collect();
        for launched in launched {
            if device.kind() == DeviceKind::Simulator {
                let text = "launch of a graph: the simulator launches graphs on no thread of \
                            rayon, whose other tasks may have to finish first: launch the graph \
                            outside of parallel iterators and thread pools";
                fails_with(launched, text);
            } else {
                launched.unwrap();
            }
        }
        graphs[0].launch().unwrap();
        let expected = match device.kind() {
            DeviceKind::Simulator => 1,
            _ => 3,
        };
        assert_eq!(counts.to_vec().unwrap(), [expected; 100], "{device}");
    }
}

static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Takes long, for the simulator alone.
#[kernel(block = 1)]
fn take_long() {
    HAS_BEGUN.store(true, SeqCst);
    thread::sleep(Duration::from_millis(200));
    HAS_ENDED.store(true, SeqCst);
}

/// A buffer of a graph belongs to the graph's launches too: a copy to it in another capture waits.
#[test]
fn uploads_in_a_capture_wait_for_the_graphs_of_other_threads() {
    let device = simulator();
    let mut values = device.buffer_from(&[1u32; 10]).unwrap();
    let slow = || {
        // SAFETY: the kernel accesses no memory of a device.
        unsafe { device.launch(&OF_TESTS, &take_long, LaunchConfig::new(1, 1), ())? };
        add(&mut values, 1)
    };
    let (mut graph, ()) = device.capture(slow).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| graph.launch().unwrap());
        while !HAS_BEGUN.load(SeqCst) {
            thread::yield_now();
        }
        device.capture(|| values.copy_from(&[7; 10])).unwrap();
        assert!(HAS_ENDED.load(SeqCst));
    });
    assert_eq!(values.to_vec().unwrap(), [7; 10]);
}

/// Writes to a buffer when it is dropped, and sends the elements.
struct WritesAtTheEnd(Buffer<u32>, mpsc::Sender<Vec<u32>>);

impl Drop for WritesAtTheEnd {
    fn drop(&mut self) {
        self.0.copy_from(&[7; 10]).unwrap();
        self.1.send(self.0.to_vec().unwrap()).unwrap();
    }
}

thread_local! {
    static WRITES: RefCell<Option<WritesAtTheEnd>> = const { RefCell::new(None) };
}

/// The value of this library that belongs to the thread, its capture, is dropped before.
#[test]
fn values_of_a_thread_may_work_on_devices_when_they_are_dropped() {
    for device in devices() {
        let (sender, receiver) = mpsc::channel();
        let buffer = device.buffer_from(&[1; 10]).unwrap();
        let work = move || {
            WRITES.set(Some(WritesAtTheEnd(buffer, sender)));
            device.zeros::<u32>(1).unwrap();
        };
        thread::spawn(work).join().unwrap();
        assert_eq!(receiver.recv().unwrap(), [7; 10]);
    }
}

/// A thread that waits within a capture for tasks of its own runs other tasks, which capture too.
#[test]
fn captures_on_threads_of_rayon_are_not_mixed() {
    // Threads take tasks from each other where there are many, and each takes long.
    let columns = Array2::from_shape_fn((1000, 2000), |(i, j)| (i * 7 + j) as u8);
    let pool = ThreadPoolBuilder::new().num_threads(16).build().unwrap();
    for device in with_kernels() {
        let capture = |_| {
            let on = device.on(&device.stream().unwrap()).unwrap();
            // All threads pack the view.
            let (_, there) = on.capture(|| on.upload(&columns.t())).unwrap();
            assert_eq!(there.download().unwrap(), columns.t(), "{device}");
        };
        pool.install(|| (0..64).into_par_iter().for_each(capture));
    }
}

/// Slices that were made before the capture keep no buffer, but the graph does.
#[test]
fn a_graph_keeps_the_buffers_of_earlier_slices() {
    for device in with_kernels() {
        let mut values = device.buffer_from(&[1u32; 1000]).unwrap();
        let mut sum = device.zeros::<u32>(1).unwrap();
        let (slice, result) = (values.slice_mut(), sum.slice_mut());
        let config = LaunchConfig::for_len(1000, 256);
        let record = || {
            // SAFETY: the slices are those of the buffers, which the graph keeps.
            unsafe {
                device.launch(&MODULE, &add_to_all, config, (slice, 1))?;
                device.launch(&MODULE, &add_to_all, config, (result, 1))
            }
        };
        let (mut graph, ()) = device.capture(record).unwrap();
        drop(values);
        // Memory that was freed would be used again here.
        let others: Vec<_> = (0..4)
            .map(|_| device.buffer_from(&[9u32; 1000]).unwrap())
            .collect();
        for _ in 0..3 {
            graph.launch().unwrap();
        }
        assert_eq!(sum.to_vec().unwrap(), [3], "{device}");
        let is_whole = |other: &Buffer<u32>| other.to_vec().unwrap() == [9; 1000];
        assert!(others.iter().all(is_whole), "{device}");
    }
}
