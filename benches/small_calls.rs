//! Times calls on little data in the device's memory, for which the host's work and the launches count.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench small_calls -- --device cuda
//!
//! Microseconds by the host's clock, medians of runs. `in a row`: each of so many calls that are made one after the
//! other, up to the end of the last. `alone`: a call and the wait for its result. `replayed`: as `in a row`, but each
//! call is the launch of a graph that has recorded it; calls that wait for the device cannot be recorded. The results
//! are compared with those of the CPU.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{Random, Where};
use gridstride::box_overlap::BoxOverlap;
use gridstride::distances::Distances;
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::MatMul;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::{Method, TimeBuckets};
use gridstride::{Device, Result};
use ndarray::{Array1, Array2, ArrayD, Dimension};

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, value_enum, default_value = "cpu")]
    device: Where,
    /// Calls that are made one after the other.
    #[arg(long, default_value_t = 1000)]
    calls: usize,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Arrays of the host that are copied to a device.
struct Data {
    singles: [Array2<f32>; 2],
    doubles: [Array2<f64>; 2],
    halves: [Array2<half::bf16>; 2],
    rows: Array2<f32>,
    timestamps: Array1<i64>,
    values: Array1<f64>,
    boxes: Array2<f32>,
    sequences: Sequences,
}

impl Data {
    fn new() -> Data {
        let mut random = Random(1);
        let mut matrix = || {
            // Few values, such that all products are exact in every type and precision.
            Array2::from_shape_simple_fn((128, 128), || random.below(5) as f64 - 2.0)
        };
        let doubles = [matrix(), matrix()];
        let singles = [0, 1].map(|i: usize| doubles[i].mapv(|x| x as f32));
        let halves = [0, 1].map(|i: usize| singles[i].mapv(half::bf16::from_f32));
        let mut boxes = Array2::from_shape_simple_fn((100, 6), || random.uniform() as f32);
        for mut row in boxes.rows_mut() {
            for axis in 0..3 {
                row[axis + 3] = row[axis] + 0.1;
            }
        }
        let codes = |_| (0..100).map(|_| random.below(4) as u8).collect::<Vec<_>>();
        let sequences = Sequences::from((0..10).map(codes).collect::<Vec<_>>());
        Data {
            singles,
            doubles,
            halves,
            rows: Array2::from_shape_simple_fn((100, 16), || random.below(100) as f32),
            timestamps: Array1::from_shape_fn(1000, |i| 1_600_000_000 + 5 * i as i64),
            values: Array1::from_shape_simple_fn(1000, || random.below(1000) as f64),
            boxes,
            sequences,
        }
    }
}

/// Measures calls, and keeps what they found.
struct Bench<'a> {
    device: &'a Device,
    calls: usize,
    runs: usize,
    prints: bool,
    found: Vec<ArrayD<f64>>,
}

impl Bench<'_> {
    /// Microseconds for each of `calls` calls.
    fn in_a_row(&self, calls: usize, call: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.device.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        self.device.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / calls as f64)
    }

    fn median(&self, runs: usize, mut time: impl FnMut() -> Result<f64>) -> Result<f64> {
        time()?;
        let times: Result<Vec<_>> = (0..runs).map(|_| time()).collect();
        Ok(common::Times::of(times?).median)
    }

    /// Measures `call`, and downloads the result by `fetch`.
    fn measure<R, D: Dimension>(
        &mut self,
        name: &str,
        mut call: impl FnMut() -> Result<R>,
        fetch: impl FnOnce(R) -> Result<ndarray::Array<f64, D>>,
    ) -> Result<()> {
        let result = call()?;
        if self.prints {
            let mut drop_result = || call().map(drop);
            let row = self.median(self.runs, || self.in_a_row(self.calls, &mut drop_result))?;
            let alone = self.median(50 * self.runs, || self.in_a_row(1, &mut drop_result))?;
            let replayed = match self.device.capture(&mut call) {
                Ok((mut graph, _result)) => {
                    let mut launch = || graph.launch();
                    let time = self.median(self.runs, || self.in_a_row(self.calls, &mut launch))?;
                    format!("{time:.2}")
                }
                Err(_) => "–".to_string(),
            };
            println!("| {name} | {row:.2} | {alone:.2} | {replayed} |");
        }
        self.found.push(fetch(result)?.into_dyn());
        Ok(())
    }
}

fn wide<D: Dimension>(array: ndarray::Array<f32, D>) -> ndarray::Array<f64, D> {
    array.mapv(f64::from)
}

/// Makes all calls.
fn all(data: &Data, bench: &mut Bench) -> Result<()> {
    let device = bench.device;
    let product = MatMul::new();
    let [a, b] = [
        device.upload(&data.singles[0])?,
        device.upload(&data.singles[1])?,
    ];
    let c = std::cell::RefCell::new(device.upload(&Array2::<f32>::zeros((128, 128)))?);
    bench.measure(
        "matmul 128³ f32",
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download().map(wide),
    )?;
    bench.measure(
        "matmul 128³ f32, new C",
        || product.matmul_device(&a, &b),
        |c| c.download().map(wide),
    )?;
    let [a, b] = [
        device.upload(&data.halves[0])?,
        device.upload(&data.halves[1])?,
    ];
    bench.measure(
        "matmul 128³ bf16",
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download().map(wide),
    )?;
    let [a, b] = [
        device.upload(&data.doubles[0])?,
        device.upload(&data.doubles[1])?,
    ];
    let c = std::cell::RefCell::new(device.upload(&Array2::<f64>::zeros((128, 128)))?);
    bench.measure(
        "matmul 128³ f64",
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download(),
    )?;

    let rows = device.upload(&data.rows)?;
    bench.measure(
        "distances 100×100×16",
        || Distances::new().distances_device(&rows, &rows),
        |distances| distances.download(),
    )?;
    let (timestamps, values) = (
        device.upload(&data.timestamps)?,
        device.upload(&data.values)?,
    );
    let buckets = TimeBuckets::every(35).methods(&[Method::MEAN]);
    bench.measure(
        "mean of 1000 points",
        || buckets.aggregate_device(&timestamps, &values),
        |means| Ok(means.download()?.column(0).to_owned()),
    )?;
    let boxes = device.upload(&data.boxes)?;
    bench.measure(
        "pairs of 100 boxes",
        || BoxOverlap::new().overlaps_device(&boxes, &boxes),
        |pairs| {
            let indices = pairs.download()?.indices().to_vec();
            Ok(Array1::from_iter(indices.into_iter().map(f64::from)))
        },
    )?;
    let sequences = data.sequences.upload(device)?;
    let sketch = TensorSketch::<f32>::new(Tables::from_seed(4, 3, 64, 1)?);
    bench.measure(
        "sketches of 10 sequences",
        || sketch.sketch_device(&sequences),
        |sketches| sketches.download().map(wide),
    )?;
    bench.measure(
        "edit distances of 10 pairs",
        || EditDistance::new().edit_distances_device(&sequences, &sequences),
        |distances| Ok(distances.download()?.mapv(f64::from)),
    )
}

fn main() -> Result<()> {
    let args = Args::parse();
    let data = Data::new();
    let device = args.device.open()?;
    println!("{}", device.info());
    println!("| call | in a row, µs | alone, µs | replayed, µs |");
    println!("|:--|--:|--:|--:|");
    let mut bench = Bench {
        device: &device,
        calls: args.calls,
        runs: args.runs,
        prints: true,
        found: vec![],
    };
    all(&data, &mut bench)?;
    let mut expected = Bench {
        device: &Device::cpu(),
        prints: false,
        found: vec![],
        ..bench
    };
    let found = std::mem::take(&mut bench.found);
    all(&data, &mut expected)?;
    for (found, expected) in found.iter().zip(&expected.found) {
        // Sketches alone are not exact: their errors in f32 are shares of the largest sums.
        let largest = expected
            .iter()
            .fold(1.0, |most: f64, number| most.max(number.abs()));
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-5 * largest;
        assert_eq!(found.shape(), expected.shape());
        assert!(
            found.iter().zip(expected).all(is_near),
            "{found} instead of {expected}"
        );
    }
    Ok(())
}
