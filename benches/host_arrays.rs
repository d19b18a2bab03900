//! Times whole calls from and to page-locked arrays of the host.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench host_arrays -- --device cuda
//!
//! By the host's clock, of calls that write to arrays that exist (`_into`; a mean makes its small result). The bytes are those
//! that have to be copied, in and then out; products and counts of pairs overlap copies in both directions and kernels. A
//! sample of each result's rows is compared with the plain reference.

mod common;

use anyhow::Result;
use clap::Parser;
use common::{
    Clock, DeviceName, Measured, Random, Unit, grouped, largest, random, show, time_whole,
};
use gridstride::box_overlap::BoxOverlap;
use gridstride::device::{Element, PinnedBuffer};
use gridstride::distances::{Distances, Metric};
use gridstride::matmul::MatMul;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate, round_timestamps_into};
use gridstride::{Device, box_overlap, distances, tensor_sketch};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, s};
use rayon::prelude::*;

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Timed calls, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
    /// A share of the sizes, for slow devices.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Measures calls.
struct Bench {
    device: Device,
    runs: usize,
}

impl Bench {
    /// Times a call that has to copy these bytes.
    fn measure(
        &self,
        case: String,
        bytes: usize,
        call: impl FnMut() -> gridstride::Result<()>,
    ) -> Result<Measured> {
        let (times, ()) = time_whole(self.runs, call)?;
        Ok(Measured::new(case, Clock::Call, times).bytes(bytes))
    }

    /// Returns a page-locked array of these elements.
    fn pinned<T: Element>(
        &self,
        length: usize,
        element: impl Fn(usize) -> T + Sync,
    ) -> Result<PinnedBuffer<T>> {
        let mut array = self.device.pinned::<T>(length)?;
        let places = array.par_iter_mut().enumerate();
        places.for_each(|(i, place)| *place = element(i));
        Ok(array)
    }

    /// Returns a page-locked copy.
    fn pinned_copy<T: Element>(&self, elements: &[T]) -> Result<PinnedBuffer<T>> {
        let mut array = self.device.pinned::<T>(elements.len())?;
        array.copy_from_slice(elements);
        Ok(array)
    }
}

fn matrix<T>(elements: &[T], rows: usize) -> ArrayView2<'_, T> {
    let columns = elements.len() / rows;
    ArrayView2::from_shape((rows, columns), elements).expect("whole rows")
}

fn matrix_mut<T>(elements: &mut [T], rows: usize) -> ArrayViewMut2<'_, T> {
    let columns = elements.len() / rows;
    ArrayViewMut2::from_shape((rows, columns), elements).expect("whole rows")
}

fn series(bench: &Bench, points: usize) -> Result<()> {
    let timestamps = bench.pinned(points, |i| 1_600_000_000 + 5 * i as i64)?;
    let values = bench.pinned_copy(&random(1, points, Random::uniform))?;
    let mut rounded = bench.pinned(points, |_| 0i64)?;
    let (times, numbers) = (
        ArrayView1::from(&timestamps[..]),
        ArrayView1::from(&values[..]),
    );
    let of = format!("of {} points", grouped(points));
    let row = bench.measure(format!("rounded timestamps {of}"), 16 * points, || {
        let out = ArrayViewMut1::from(&mut rounded[..]);
        round_timestamps_into(&bench.device, times, 3600, 0, out)
    })?;
    show(&row)?;
    let is_rounded = |(time, rounded): (&i64, &i64)| time.div_euclid(3600) * 3600 == *rounded;
    assert!(timestamps.iter().zip(rounded.iter()).all(is_rounded));
    let buckets = points.div_ceil(720) + 1;
    let mean = || aggregate(&bench.device, times, numbers, 3600, &[Method::MEAN]);
    let case = format!("mean {of}, buckets of 720");
    let row = bench.measure(case, 16 * (points + buckets), || mean().map(drop))?;
    let means = mean()?;
    let start = means.starts()[1];
    let inside = |i: &usize| timestamps[*i].div_euclid(3600) * 3600 == start;
    let here: Vec<_> = (0..points.min(2000))
        .filter(inside)
        .map(|i| values[i])
        .collect();
    let expected = here.iter().sum::<f64>() / here.len() as f64;
    let error = (means.column(0)[1] - expected).abs();
    assert!(error < 1e-12);
    Ok(show(&row.error(error))?)
}

fn products(bench: &Bench, size: usize) -> Result<()> {
    // Few values, such that sums are exact.
    let a = random(2, size * size, |random| random.below(5) as f32 - 2.0);
    let a = bench.pinned_copy(&a)?;
    let mut c = bench.pinned(size * size, |_| 0f32)?;
    let bytes = 3 * 4 * size * size;
    let row = bench.measure(format!("product of {size}³, f32"), bytes, || {
        let (a, c) = (matrix(&a, size), matrix_mut(&mut c, size));
        MatMul::new().matmul_into(&bench.device, a, a, c)
    })?;
    let (a, c) = (matrix(&a, size), matrix(&c, size));
    for row in [0, size / 2, size - 1] {
        assert_eq!(a.row(row).dot(&a), c.row(row), "row {row} of the product");
    }
    show(&row.operations(2 * (size as u64).pow(3), Unit::F32))?;

    let rows = size * 2;
    let vectors = random(3, rows * 96, |random| random.uniform() as f32);
    let vectors = bench.pinned_copy(&vectors)?;
    let vectors = matrix(&vectors, rows);
    let mut out = bench.pinned(rows * rows, |_| 0f64)?;
    let bytes = 2 * 4 * rows * 96 + 8 * rows * rows;
    let case = format!("distances of {rows} × {rows} rows of 96, f32");
    let row = bench.measure(case, bytes, || {
        let out = matrix_mut(&mut out, rows);
        Distances::new().distances_into(&bench.device, vectors, vectors, out)
    })?;
    let sample = s![..;rows.div_ceil(5), ..];
    let expected = distances::reference::distances(vectors.slice(sample), vectors, Metric::L2);
    let found = matrix(&out, rows);
    let sampled = found.slice(sample);
    let errors = sampled.iter().zip(&expected).map(|(found, expected)| {
        // Rows have distances of 0 from themselves.
        (found - expected).abs() / expected.max(1e-9)
    });
    let error = largest(errors);
    assert!(error <= 1e-5);
    // A difference takes the place of a multiply-add.
    let operations = 4 * 96 * (rows * rows) as u64;
    Ok(show(&row.operations(operations, Unit::F32).error(error))?)
}

fn boxes(bench: &Bench, rows: usize) -> Result<()> {
    let [set1, set2] = common::boxes::uniform(rows);
    let pin = |set: &Array2<f32>| {
        let numbers = set.as_slice().expect("row-major");
        bench.pinned_copy(numbers)
    };
    let (first, second) = (pin(&set1)?, pin(&set2)?);
    let mut counts = bench.pinned(rows, |_| 0u32)?;
    let bytes = (2 * 24 + 4) * rows;
    let case = format!("counts of pairs of {} boxes", grouped(rows));
    let row = bench.measure(case, bytes, || {
        let out = ArrayViewMut1::from(&mut counts[..]);
        let sets = (matrix(&first, rows), matrix(&second, rows));
        BoxOverlap::new().counts_into(&bench.device, sets.0, sets.1, out)
    })?;
    let step = rows.div_ceil(20);
    let sample = set1.slice(s![..;step, ..]);
    let expected = box_overlap::reference::overlaps(sample, set2.view())?.counts();
    assert_eq!(expected, ArrayView1::from(&counts[..]).slice(s![..;step]));
    Ok(show(&row)?)
}

fn sketches(bench: &Bench, letters: usize) -> Result<()> {
    let length = 1000;
    let count = letters / length;
    let codes = random(3, count * length, |random| random.below(4) as u8);
    let last = Array1::from(codes[(count - 1) * length..].to_vec());
    let offsets = (0..=count).map(|i| i * length).collect();
    let sequences = Sequences::from_concatenated(codes, offsets)?;
    let tables = Tables::from_seed(4, 3, 64, 1)?;
    let sketch = TensorSketch::<f32>::new(tables.clone());
    let mut out = bench.pinned(count * 64, |_| 0f32)?;
    // Letters of 2 bits, which threads pack into page-locked memory.
    let bytes = letters / 4 + 4 * 64 * count;
    let case = format!(
        "sketches of {} sequences of {length} letters",
        grouped(count)
    );
    let row = bench.measure(case, bytes, || {
        sketch.sketch_into(&bench.device, &sequences, matrix_mut(&mut out, count))
    })?;
    let expected = tensor_sketch::reference::tensor_sketch(last.view(), &tables);
    let expected = expected.row(3);
    let found = matrix(&out, count);
    // Errors in f32 are shares of the largest sums.
    let most = expected.fold(1.0, |most: f64, number| most.max(number.abs()));
    let pairs = found.row(count - 1).into_iter().zip(expected);
    let errors = pairs.map(|(&found, expected)| (f64::from(found) - expected).abs() / most);
    let error = largest(errors);
    assert!(error <= 1e-5);
    Ok(show(&row.error(error))?)
}

fn main() -> Result<()> {
    let args = Args::parse();
    let scaled = |size: f64| ((size * args.scale) as usize).max(1000);
    let bench = Bench {
        device: args.device.open()?,
        runs: args.runs,
    };
    println!("{}", bench.device.info());
    series(&bench, scaled(5e7))?;
    products(&bench, ((4096.0 * args.scale.sqrt()) as usize).max(64))?;
    boxes(&bench, scaled(1e7))?;
    sketches(&bench, scaled(1e8))
}
