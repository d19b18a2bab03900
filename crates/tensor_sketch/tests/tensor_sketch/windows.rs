//! Sketches of sliding windows, each against the reference of its letters.

use gridstride::tensor_sketch::{Entry, Form, Tables, TensorSketch};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, ArrayView1, array, s};

use super::{Reference, codes};
use test_support::{self, assert_error, devices, fails, least_memory, several, with_kernels};

/// Compares every `every`-th window, and the last one, with the reference. Returns the normalised
/// sketches in `f64` of each device.
fn check(
    tables: &Tables,
    text: &[u8],
    width: usize,
    stride: usize,
    every: usize,
) -> Vec<(Device, Array2<f64>)> {
    let count = match text.len() >= width {
        true => (text.len() - width) / stride + 1,
        false => 0,
    };
    let sampled = (0..count).step_by(every).chain(count.checked_sub(1));
    let references: Vec<_> = sampled
        .map(|i| {
            let window = ArrayView1::from(&text[i * stride..][..width]);
            // Two products for each letter on its way to the ends, at most, and a few more.
            let reference = Reference::new(tables, window).after_products(2 * width + 64);
            (i, reference)
        })
        .collect();
    let on_device = |device: Device| {
        let [_, normalized] = [false, true].map(|normalize| {
            let sketcher = TensorSketch::new(tables.clone()).normalize(normalize);
            let single = sketcher.windows(&device, text.into(), width, stride);
            check_all(&single.unwrap(), count, &references, normalize);
            let double = sketcher.double();
            let double = double.windows(&device, text.into(), width, stride).unwrap();
            check_all(&double, count, &references, normalize);
            double
        });
        (device, normalized)
    };
    devices().into_iter().map(on_device).collect()
}

fn check_all<T: Entry>(
    sketches: &Array2<T>,
    count: usize,
    references: &[(usize, Reference)],
    normalize: bool,
) {
    assert_eq!(sketches.nrows(), count);
    for (i, reference) in references {
        reference.check_last_row(sketches.row(*i), normalize, Form::Fourier);
    }
}

#[test]
fn every_width_and_stride_of_a_short_text() {
    // Up to eight strides a window, with every head, and widths and strides beyond the text.
    let text = codes(8, 4, 7);
    for t in [1, 2, 4] {
        let tables = Tables::from_seed(4, t, 12, 5).unwrap();
        for width in 1..=10 {
            for stride in 1..=10 {
                check(&tables, &text, width, stride, 1);
            }
        }
    }
}

/// Every length of tuples with two dimensions, and every dimension with several lengths of tuples.
#[test]
fn every_tuple_length_and_dimension() {
    for t in 1..=8 {
        for (i, dim) in [1, 2, 3, 31, 33, 96].into_iter().enumerate() {
            if (i + t) % 3 > 0 {
                continue;
            }
            let alphabet_size = [4, 1, 20, 2, 256][(i + 2 * t) % 5];
            let tables = Tables::from_seed(alphabet_size, t, dim, i as u64).unwrap();
            let text = codes(150, alphabet_size, t as u64);
            for (width, stride) in [(50, 7), (49, 7), (20, 1), (10, 9), (40, 40), (6, 11)] {
                check(&tables, &text, width, stride, 5);
            }
        }
    }
}

/// Windows of several runs of strides, whose numbers have none, one and several factors, with and
/// without a rest and heads; the last run is not full.
#[test]
fn several_runs() {
    let lengths = if test_support::small() { 2..=4 } else { 1..=8 };
    // Runs have 40 to 62 windows.
    let count = 131;
    for t in lengths {
        let tables = Tables::from_seed(4, t, 3, t as u64).unwrap();
        for (width, stride) in [(100, 1), (333, 1), (1000, 1), (202, 2), (667, 2), (1001, 2)] {
            let text = codes(width + (count - 1) * stride, 4, t as u64);
            check(&tables, &text, width, stride, count.div_ceil(4));
        }
    }
}

/// Strides of several chunks, two of them of more than the 16 chunks that are composed at a time.
#[test]
fn strides_of_several_chunks() {
    if test_support::small() {
        eprintln!("skipped: it takes 100 000 letters");
        return;
    }
    let tables = Tables::from_seed(4, 3, 5, 5).unwrap();
    let text = codes(100_000, 4, 7);
    for (width, stride) in [
        (100_000, 99_999),
        (40_000, 20_000),
        (40_001, 20_000),
        (70_000, 34_999),
        (30_000, 33_333),
    ] {
        let count = (text.len() - width) / stride + 1;
        check(&tables, &text, width, stride, count.div_ceil(2));
    }
}

/// Windows of very many strides, and very many windows.
#[test]
fn long_texts() {
    if test_support::small() {
        eprintln!("skipped: it takes 131 200 letters");
        return;
    }
    let tables = Tables::from_seed(4, 3, 5, 5).unwrap();
    let text = codes(20_000, 4, 7);
    for (width, stride) in [
        // Anchors of the CPU with one run, and with several.
        (200, 1),
        (1000, 3),
        // One anchor of the CPU, with runs of more than 64 strides. Kernels multiply in three levels.
        (19_800, 1),
        (10_000, 70),
        (20_000, 1),
    ] {
        let count = (text.len() - width) / stride + 1;
        check(&tables, &text, width, stride, count.div_ceil(4));
    }
    // Windows with heads, more than the 65 536 that are worked on together.
    let tables = Tables::from_seed(4, 2, 2, 5).unwrap();
    check(&tables, &codes(131_200, 4, 8), 5, 2, 9001);
}

/// Partitions end where runs of strides do, so all windows are products of the same matrices.
#[test]
fn partitions_of_long_windows_have_the_same_bits() {
    let tables = Tables::from_seed(4, 3, 5, 5).unwrap();
    let text = codes(1599, 4, 7);
    let shapes = [
        // Runs that are multiplied in two levels, runs and a rest, one run, windows that are apart.
        (1000, 1, false),
        (299, 2, true),
        (100, 7, false),
        (50, 60, true),
    ];
    for device in with_kernels() {
        for (width, stride, normalize) in shapes {
            let sketcher = TensorSketch::new(tables.clone()).normalize(normalize);
            let windows = |on: &[Device]| {
                let sketches = sketcher.windows(on, text[..].into(), width, stride)?;
                Ok(sketches.mapv(f32::to_bits))
            };
            let whole = windows(std::slice::from_ref(&device)).unwrap();
            for count in [2, 3, 5] {
                assert_eq!(windows(&several(&device, count)).unwrap(), whole);
            }
            let least = least_memory(&device, |limited| windows(std::slice::from_ref(limited)));
            for limit in [least, 2 * least] {
                let limited = [device.with_memory_limit(limit)];
                assert_eq!(windows(&limited).unwrap(), whole, "{limit} bytes");
            }
        }
    }
}

#[test]
fn no_drift_after_many_steps() {
    if test_support::small() {
        eprintln!("skipped: it takes 140 000 letters");
        return;
    }
    let tables = Tables::from_seed(4, 2, 8, 5).unwrap();
    // More than two of the batches of 65 536 windows that are worked on together.
    let steps = 140_000;
    let text = codes(steps + 100, 4, 7);
    let sketches = check(&tables, &text, 100, 1, steps / 11);
    let sketcher = TensorSketch::new(tables).normalize(true).double();
    for (device, all) in sketches {
        let last = sketcher.windows(&device, text[steps..].into(), 100, 1);
        let error = (&all.row(steps) - &last.unwrap().row(0)).mapv(f64::abs);
        assert!(error.iter().all(|&error| error < 1e-14), "{error}");
    }
}

#[test]
fn views_with_any_strides() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap());
    let codes = Array1::from(codes(90, 4, 5));
    for device in devices() {
        for view in [codes.slice(s![..;-1]), codes.slice(s![3..;2])] {
            let packed = Array1::from(view.to_vec());
            let [found, expected] =
                [view, packed.view()].map(|view| sketcher.windows(&device, view, 11, 3).unwrap());
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn what_is_refused() {
    let tables = Tables::new(Array2::zeros((2, 8)).view(), Array2::ones((2, 8)).view(), 1).unwrap();
    let sketcher = TensorSketch::new(tables);
    for device in devices() {
        let windows =
            |text: &[u8], width, stride| sketcher.windows(&device, text.into(), width, stride);
        fails(windows(&[0; 9], 0, 1), &["the width of windows is 0"]);
        fails(windows(&[0; 9], 1, 0), &["the stride of windows is 0"]);
        let error = windows(&[0, 1, 2], 5, 1);
        assert_error!(&error, Error::InvalidInput { index: Some(2), .. });
        fails(error, &["windows: the code at position 2 is 2"]);
        let none = sketcher.windows(&device, array![0, 1].view(), usize::MAX, usize::MAX);
        assert_eq!(none.unwrap().dim(), (0, 1));
        if !test_support::small() {
            // C(300 000, 8) is 1.6e39.
            let error = sketcher.windows(&device, Array1::zeros(300_001).view(), 300_000, 1);
            assert_error!(&error, Error::Overflow { .. });
            fails(error, &["the sketch of window 0 "]);
        }
    }
}
