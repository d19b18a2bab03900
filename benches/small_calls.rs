//! Times calls on little data in the device's memory, for which the host's work and the launches count.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench small_calls -- --device cuda
//!
//! By the host's clock. `in a row`: each of so many calls that are made one after the other, up to the end of the last.
//! `alone`: a call and the wait for its result. `replayed`: as `in a row`, but each call is the launch of a graph that has
//! recorded it; calls that wait for the device cannot be recorded. The results of calls and of graphs are compared with the
//! plain references.

mod common;

use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, show};
use gridstride::box_overlap::BoxOverlap;
use gridstride::distances::{Distances, Metric};
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::MatMul;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::time_series::{Method, TimeBuckets};
use gridstride::{
    Device, box_overlap, distances, edit_distance, matmul, tensor_sketch, time_series,
};
use ndarray::{Array, Array1, Array2, Dimension};

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Calls that are made one after the other.
    #[arg(long, default_value_t = 1000, value_parser = common::at_least_one)]
    calls: usize,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
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
    /// Their partners in pairs.
    others: Sequences,
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
        let codes: Vec<_> = (0..10).map(codes).collect();
        let others = Sequences::from(codes.iter().rev().cloned().collect::<Vec<_>>());
        let sequences = Sequences::from(codes);
        Data {
            singles,
            doubles,
            halves,
            rows: Array2::from_shape_simple_fn((100, 16), || random.below(100) as f32),
            timestamps: Array1::from_shape_fn(1000, |i| 1_600_000_000 + 5 * i as i64),
            values: Array1::from_shape_simple_fn(1000, || random.below(1000) as f64),
            boxes,
            sequences,
            others,
        }
    }
}

/// Measures calls, and checks what they found.
struct Bench<'a> {
    device: &'a Device,
    calls: usize,
    runs: usize,
}

impl Bench<'_> {
    /// Times runs of so many calls, and shows the times of one.
    fn row(
        &self,
        case: &str,
        [runs, calls]: [usize; 2],
        call: &mut dyn FnMut() -> gridstride::Result<()>,
    ) -> Result<()> {
        let mut times = Vec::new();
        for run in 0..=runs {
            self.device.synchronize()?;
            let start = Instant::now();
            for _ in 0..calls {
                call()?;
            }
            self.device.synchronize()?;
            if run > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3 / calls as f64);
            }
        }
        Ok(show(&Measured::new(case, Clock::Call, times))?)
    }

    /// Measures `call`, and downloads its results by `fetch`, which have to be near `expected`.
    fn measure<R, D: Dimension>(
        &self,
        name: &str,
        expected: &Array<f64, D>,
        mut call: impl FnMut() -> gridstride::Result<R>,
        fetch: impl Fn(R) -> gridstride::Result<Array<f64, D>>,
    ) -> Result<()> {
        check(name, &fetch(call()?)?, expected);
        let mut drop_result = || call().map(drop);
        let (in_a_row, alone) = ([self.runs, self.calls], [50 * self.runs, 1]);
        self.row(&format!("{name}, in a row"), in_a_row, &mut drop_result)?;
        self.row(&format!("{name}, alone"), alone, &mut drop_result)?;
        if let Ok((mut graph, result)) = self.device.capture(&mut call) {
            let mut launch = || graph.launch();
            self.row(&format!("{name}, replayed"), in_a_row, &mut launch)?;
            check(name, &fetch(result)?, expected);
        }
        Ok(())
    }
}

/// Panics if a number is off. Sketches alone are not exact: their errors in f32 are shares of the largest sums.
fn check<D: Dimension>(name: &str, found: &Array<f64, D>, expected: &Array<f64, D>) {
    let largest = expected.fold(1.0, |most: f64, number| most.max(number.abs()));
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-5 * largest;
    assert_eq!(found.shape(), expected.shape(), "{name}");
    assert!(
        found.iter().zip(expected).all(is_near),
        "{name}: {found} instead of {expected}"
    );
}

fn wide<D: Dimension>(array: Array<f32, D>) -> Array<f64, D> {
    array.mapv(f64::from)
}

/// Makes all calls.
fn all(data: &Data, bench: &Bench) -> Result<()> {
    let device = bench.device;
    let product = MatMul::new();
    // The factors have the same numbers in all types, so one product serves for all.
    let expected = matmul::reference::matmul(data.doubles[0].view(), data.doubles[1].view());
    let [a, b] = [
        device.upload(&data.singles[0])?,
        device.upload(&data.singles[1])?,
    ];
    let c = std::cell::RefCell::new(device.upload(&Array2::<f32>::zeros((128, 128)))?);
    bench.measure(
        "product of 128³, f32",
        &expected,
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download().map(wide),
    )?;
    bench.measure(
        "product of 128³, f32, new C",
        &expected,
        || product.matmul_device(&a, &b),
        |c| c.download().map(wide),
    )?;
    let [a, b] = [
        device.upload(&data.halves[0])?,
        device.upload(&data.halves[1])?,
    ];
    bench.measure(
        "product of 128³, bf16",
        &expected,
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download().map(wide),
    )?;
    let [a, b] = [
        device.upload(&data.doubles[0])?,
        device.upload(&data.doubles[1])?,
    ];
    let c = std::cell::RefCell::new(device.upload(&Array2::<f64>::zeros((128, 128)))?);
    bench.measure(
        "product of 128³, f64",
        &expected,
        || product.matmul_device_into(&a, &b, &mut c.borrow_mut()),
        |()| c.borrow().download(),
    )?;

    let rows = device.upload(&data.rows)?;
    bench.measure(
        "distances of 100 × 100 rows of 16",
        &distances::reference::distances(data.rows.view(), data.rows.view(), Metric::L2),
        || Distances::new().distances_device(&rows, &rows),
        |distances| distances.download(),
    )?;
    let (timestamps, values) = (
        device.upload(&data.timestamps)?,
        device.upload(&data.values)?,
    );
    let buckets = TimeBuckets::every(35).methods(&[Method::MEAN]);
    let expected = time_series::reference::aggregate(
        &buckets,
        &[0, data.values.len()],
        data.timestamps.view(),
        data.values.view(),
    );
    bench.measure(
        "mean of 1000 points",
        &expected.column(0).to_owned(),
        || buckets.aggregate_device(&timestamps, &values),
        |means| Ok(means.download()?.column(0).to_owned()),
    )?;
    let boxes = device.upload(&data.boxes)?;
    let expected = box_overlap::reference::overlaps(data.boxes.view(), data.boxes.view())?;
    bench.measure(
        "pairs of 100 boxes",
        &expected.pairs()?.mapv(f64::from),
        || BoxOverlap::new().overlaps_device(&boxes, &boxes),
        |pairs| Ok(pairs.download()?.pairs()?.mapv(f64::from)),
    )?;
    let sequences = data.sequences.upload(device)?;
    let tables = Tables::from_seed(4, 3, 64, 1)?;
    let sketch = TensorSketch::<f32>::new(tables.clone());
    let of = |side: &Sequences, i| side.get(i).expect("ten sequences").to_owned();
    let expected = (0..10).flat_map(|i| {
        let rows = tensor_sketch::reference::tensor_sketch(of(&data.sequences, i).view(), &tables);
        rows.row(3).to_vec()
    });
    bench.measure(
        "sketches of 10 sequences",
        &Array2::from_shape_vec((10, 64), expected.collect()).expect("ten rows"),
        || sketch.sketch_device(&sequences),
        |sketches| sketches.download().map(wide),
    )?;
    let others = data.others.upload(device)?;
    let expected = Array1::from_shape_fn(10, |i| {
        let pair = (of(&data.sequences, i), of(&data.others, i));
        f64::from(edit_distance::reference::edit_distance(
            pair.0.view(),
            pair.1.view(),
        ))
    });
    bench.measure(
        "edit distances of 10 pairs",
        &expected,
        || EditDistance::new().edit_distances_device(&sequences, &others),
        |distances| Ok(distances.download()?.mapv(f64::from)),
    )
}

fn main() -> Result<()> {
    let args = Args::parse();
    let data = Data::new();
    let device = args.device.open()?;
    println!("{}", device.info());
    let bench = Bench {
        device: &device,
        calls: args.calls,
        runs: args.runs,
    };
    all(&data, &bench)
}
