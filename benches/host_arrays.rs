//! Times whole calls from and to page-locked arrays of the host, beside the time in which the bus copies their bytes.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench host_arrays -- --device cuda
//!
//! `ms` is the median of calls that write to arrays that exist (`_into`; a mean makes its small result), by the host's
//! clock. `bus` is the time of the bytes that have to be copied, in and then out, at the rates that copies of 256 MiB
//! reach in the same run, and `share` is its share of the call: the rest is computation, and waiting. Products and
//! counts of pairs overlap copies in both directions and kernels, so that the share may be above 100%. A sample of each
//! result's rows is compared with the plain reference.

mod common;

use clap::Parser;
use common::{DeviceName, Random, time_whole};
use gridstride::box_overlap::BoxOverlap;
use gridstride::device::{Element, PinnedBuffer};
use gridstride::distances::{Distances, Metric};
use gridstride::matmul::MatMul;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate, round_timestamps_into};
use gridstride::{Device, Result, box_overlap, distances, tensor_sketch};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, s};

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
    /// Bytes that the bus copies in a millisecond, to the device and from it.
    rates: [f64; 2],
}

/// The median time of a call in milliseconds.
fn time(runs: usize, call: impl FnMut() -> Result<()>) -> Result<f64> {
    let (times, ()) = time_whole(runs, call)?;
    Ok(times.median)
}

impl Bench {
    fn new(device: Device, runs: usize, scale: f64) -> Result<Bench> {
        let length = ((256 << 20) as f64 * scale) as usize;
        let mut host = device.pinned::<u8>(length)?;
        let mut buffer = device.zeros::<u8>(length)?;
        let to = time(runs, || buffer.copy_from(&host))?;
        let from = time(runs, || buffer.copy_to(&mut host))?;
        let rates = [to, from].map(|ms| length as f64 / ms);
        Ok(Bench {
            device,
            runs,
            rates,
        })
    }

    fn measure(
        &self,
        name: &str,
        [to, from]: [usize; 2],
        call: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let ms = time(self.runs, call)?;
        let bus = to as f64 / self.rates[0] + from as f64 / self.rates[1];
        let share = 100.0 * bus / ms;
        println!("| {name} | {to} | {from} | {ms:.3} | {bus:.3} | {share:.0}% |");
        Ok(())
    }

    /// Returns a page-locked array of these elements.
    fn pinned<T: Element>(
        &self,
        length: usize,
        mut element: impl FnMut(usize) -> T,
    ) -> Result<PinnedBuffer<T>> {
        let mut array = self.device.pinned::<T>(length)?;
        for (i, place) in array.iter_mut().enumerate() {
            *place = element(i);
        }
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
    let mut random = Random(1);
    let values = bench.pinned(points, |_| random.uniform())?;
    let mut rounded = bench.pinned(points, |_| 0i64)?;
    let (times, numbers) = (
        ArrayView1::from(&timestamps[..]),
        ArrayView1::from(&values[..]),
    );
    bench.measure("rounded timestamps", [8 * points; 2], || {
        let out = ArrayViewMut1::from(&mut rounded[..]);
        round_timestamps_into(&bench.device, times, 3600, 0, out)
    })?;
    let is_rounded = |(time, rounded): (&i64, &i64)| time.div_euclid(3600) * 3600 == *rounded;
    assert!(timestamps.iter().zip(rounded.iter()).all(is_rounded));
    let buckets = points.div_ceil(720) + 1;
    let mean = || aggregate(&bench.device, times, numbers, 3600, &[Method::MEAN]);
    bench.measure("mean, buckets of 720", [16 * points, 16 * buckets], || {
        mean().map(drop)
    })?;
    let means = mean()?;
    let start = means.starts()[1];
    let inside = |i: &usize| timestamps[*i].div_euclid(3600) * 3600 == start;
    let here: Vec<_> = (0..points.min(2000))
        .filter(inside)
        .map(|i| values[i])
        .collect();
    let expected = here.iter().sum::<f64>() / here.len() as f64;
    assert!((means.column(0)[1] - expected).abs() < 1e-12);
    Ok(())
}

fn products(bench: &Bench, size: usize) -> Result<()> {
    let mut random = Random(2);
    // Few values, such that sums are exact.
    let a = bench.pinned(size * size, |_| random.below(5) as f32 - 2.0)?;
    let mut c = bench.pinned(size * size, |_| 0f32)?;
    let bytes = 4 * size * size;
    bench.measure(&format!("product {size}³ f32"), [2 * bytes, bytes], || {
        let (a, c) = (matrix(&a, size), matrix_mut(&mut c, size));
        MatMul::new().matmul_into(&bench.device, a, a, c)
    })?;
    let (a, c) = (matrix(&a, size), matrix(&c, size));
    for row in [0, size / 2, size - 1] {
        assert_eq!(a.row(row).dot(&a), c.row(row), "row {row} of the product");
    }

    let rows = size * 2;
    let vectors = bench.pinned(rows * 96, |_| random.uniform() as f32)?;
    let vectors = matrix(&vectors, rows);
    let mut out = bench.pinned(rows * rows, |_| 0f64)?;
    let bytes = [2 * 4 * rows * 96, 8 * rows * rows];
    bench.measure(&format!("distances {rows}×{rows}×96"), bytes, || {
        let out = matrix_mut(&mut out, rows);
        Distances::new().distances_into(&bench.device, vectors, vectors, out)
    })?;
    let sample = s![..;rows.div_ceil(5), ..];
    let expected = distances::reference::distances(vectors.slice(sample), vectors, Metric::L2);
    let found = matrix(&out, rows);
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-5 * expected;
    assert!(found.slice(sample).iter().zip(&expected).all(is_near));
    Ok(())
}

fn boxes(bench: &Bench, rows: usize) -> Result<()> {
    let [set1, set2] = common::boxes::uniform(rows);
    let pin = |set: &Array2<f32>| {
        let numbers = set.as_slice().expect("row-major");
        bench.pinned(numbers.len(), |i| numbers[i])
    };
    let (first, second) = (pin(&set1)?, pin(&set2)?);
    let mut counts = bench.pinned(rows, |_| 0u32)?;
    let bytes = [2 * 24 * rows, 4 * rows];
    bench.measure(&format!("pairs of {rows} boxes, counted"), bytes, || {
        let out = ArrayViewMut1::from(&mut counts[..]);
        let sets = (matrix(&first, rows), matrix(&second, rows));
        BoxOverlap::new().counts_into(&bench.device, sets.0, sets.1, out)
    })?;
    let step = rows.div_ceil(20);
    let sample = set1.slice(s![..;step, ..]);
    let expected = box_overlap::reference::overlaps(sample, set2.view())?.counts();
    assert_eq!(expected, ArrayView1::from(&counts[..]).slice(s![..;step]));
    Ok(())
}

fn sketches(bench: &Bench, letters: usize) -> Result<()> {
    let mut random = Random(3);
    let length = 1000;
    let codes = |_| {
        (0..length)
            .map(|_| random.below(4) as u8)
            .collect::<Vec<_>>()
    };
    let all: Vec<_> = (0..letters / length).map(codes).collect();
    let last = Array1::from(all.last().expect("sequences").clone());
    let sequences = Sequences::from(all);
    let tables = Tables::from_seed(4, 3, 64, 1)?;
    let sketch = TensorSketch::<f32>::new(tables.clone());
    let count = sequences.len();
    let mut out = bench.pinned(count * 64, |_| 0f32)?;
    // Letters of 2 bits, which threads pack into page-locked memory.
    let bytes = [letters / 4, 4 * 64 * count];
    bench.measure(&format!("sketches of {count} sequences"), bytes, || {
        sketch.sketch_into(&bench.device, &sequences, matrix_mut(&mut out, count))
    })?;
    let expected = tensor_sketch::reference::tensor_sketch(last.view(), &tables);
    let expected = expected.row(3);
    let found = matrix(&out, count);
    // Errors in f32 are shares of the largest sums.
    let largest = expected.fold(1.0, |most: f64, number| most.max(number.abs()));
    let is_near =
        |(&found, expected): (&f32, &f64)| (f64::from(found) - expected).abs() <= 1e-5 * largest;
    assert!(found.row(count - 1).iter().zip(expected).all(is_near));
    Ok(())
}

fn main() -> Result<()> {
    let args = Args::parse();
    let scaled = |size: f64| ((size * args.scale) as usize).max(1000);
    let bench = Bench::new(args.device.open()?, args.runs, args.scale)?;
    let [to, from] = bench.rates.map(|rate| rate * 1e-6);
    println!(
        "{}: the bus copies {to:.1} GB/s to it and {from:.1} from it",
        bench.device.info()
    );
    println!("| call | bytes to the device | from it | ms | bus, ms | share |");
    println!("|:--|--:|--:|--:|--:|--:|");
    series(&bench, scaled(5e7))?;
    products(&bench, ((4096.0 * args.scale.sqrt()) as usize).max(64))?;
    boxes(&bench, scaled(1e7))?;
    sketches(&bench, scaled(1e8))
}
