//! Results of sorted points against the library's reference, with all methods and options, and cut
//! to chunks of few rows.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use gridstride::Device;
use gridstride::ndarray::Array1;
use gridstride::time_series::{
    Duplicates, Fill, Fills, Method, Nan, Singletons, TimeBuckets, reference,
};

use crate::common::{Point, Random, batch, register, rows, session, set};

/// The names of all methods, of values and of rates, some percentiles among them.
fn methods() -> Vec<String> {
    let named = Method::ALL.iter().map(Method::to_string);
    let of_values: Vec<_> = named.chain(["p95".into(), "p12.5".into()]).collect();
    let of_rates = of_values.iter().map(|name| format!("rate:{name}"));
    of_values.iter().cloned().chain(of_rates).collect()
}

/// A row of a result; `None` for null.
type Row = (String, i64, Vec<Option<f64>>);

struct Options {
    text: String,
    library: TimeBuckets,
}

/// Returns random options, as text and of the library.
fn options(random: &mut Random, every: i64, methods: &[Method]) -> Options {
    let mut text = Vec::new();
    let mut library = TimeBuckets::every(every).methods(methods);
    if random.happens(2) {
        let origin = random.below(50) as i64 - 25;
        text.push(format!("origin={origin}"));
        library = library.origin(origin);
    }
    let mut fill: Fills = ["none", "null", "previous", "-7"][random.below(4) as usize]
        .parse()
        .unwrap();
    if random.happens(2) {
        let method = methods[random.below(methods.len() as u64) as usize];
        fill = fill.with(
            method,
            [Fill::Value(0.0), Fill::Previous][random.below(2) as usize],
        );
    }
    text.push(format!("fill={fill}"));
    library = library.fill(fill);
    let (duplicates, kept) = [
        ("keep", Duplicates::Keep),
        ("first", Duplicates::First),
        ("last", Duplicates::Last),
    ][random.below(3) as usize];
    text.push(format!("duplicates={duplicates}"));
    library = library.duplicates(kept);
    if random.happens(2) {
        text.push("nan=propagate".to_owned());
        library = library.nan(Nan::Propagate);
    }
    if random.happens(2) {
        text.push("singletons=drop".to_owned());
        library = library.singletons(Singletons::Drop);
    }
    let ddof = random.below(3) as u32;
    text.push(format!("ddof={ddof}"));
    Options {
        text: text.join(", "),
        library: library.ddof(ddof),
    }
}

/// Returns the rows that the library's reference finds.
fn expected(points: &[Point], options: &Options) -> Vec<Row> {
    let points: Vec<_> = points.iter().filter(|point| point.2.is_some()).collect();
    let (mut names, mut offsets) = (Vec::new(), Vec::new());
    for (index, point) in points.iter().enumerate() {
        if names.last() != Some(&point.0) {
            names.push(point.0.clone());
            offsets.push(index);
        }
    }
    offsets.push(points.len());
    let timestamps: Array1<i64> = points.iter().map(|point| point.1).collect();
    let values: Array1<f64> = points.iter().map(|point| point.2.unwrap()).collect();
    let found = reference::aggregate(&options.library, &offsets, timestamps.view(), values.view());
    let mut rows = Vec::new();
    for (series, name) in names.iter().enumerate() {
        for row in found.series(series) {
            let start = found.starts()[row];
            // A result that is NaN does not exist.
            let number = |column: &Array1<f64>| Some(column[row]).filter(|x| !x.is_nan());
            rows.push((
                name.clone(),
                start,
                found.columns().iter().map(number).collect(),
            ));
        }
    }
    rows
}

fn found(batches: &[RecordBatch]) -> Vec<Row> {
    let Some(first) = batches.first() else {
        return Vec::new();
    };
    let batch = concat_batches(&first.schema(), batches).unwrap();
    let series = batch.column(0).as_string::<i32>();
    let starts = batch.column(1).as_primitive::<Int64Type>();
    let number = |column: usize, row: usize| {
        let array = batch.column(column);
        let number = || match array.as_primitive_opt::<Int64Type>() {
            Some(counts) => counts.value(row) as f64,
            None => array.as_primitive::<Float64Type>().value(row),
        };
        array.is_valid(row).then(number)
    };
    let row = |row: usize| {
        let numbers = (2..batch.num_columns())
            .map(|column| number(column, row))
            .collect();
        (series.value(row).to_owned(), starts.value(row), numbers)
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Equal, or off by few roundings. What should be zero may have what twice the precision loses.
fn is_close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-13 * a.abs().max(b.abs()) + 1e-25,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Compares results of random points and options on a device.
async fn compare(device: &str, cases: u64, count: usize) {
    let ctx = session(1);
    set(&ctx, "gridstride.device", device);
    set(&ctx, "datafusion.execution.batch_size", "13");
    for seed in 1..=cases {
        let mut random = Random(seed);
        let count = 1 + random.below(count as u64) as usize;
        let points = random.points(count, true);
        let mut names = methods();
        random.shuffle(&mut names);
        names.truncate(1 + random.below(6) as usize);
        let methods: Vec<Method> = names.iter().map(|name| name.parse().unwrap()).collect();
        let every = 1 + random.below(40) as i64;
        let options = options(&mut random, every, &methods);
        let batches: Vec<_> = random.cut(&points, 5).into_iter().map(batch).collect();
        register(&ctx, "points", vec![batches], true);
        let batch_rows = [1, 3, 7, 20, 1 << 22][random.below(5) as usize];
        set(&ctx, "gridstride.batch_rows", &batch_rows.to_string());
        let query = format!(
            "SELECT * FROM time_buckets('points', 's', 't', 'v', '{every}', '{}', '{}')",
            names.join(","),
            options.text
        );
        let found = found(&rows(&ctx, &query).await);
        let expected = expected(&points, &options);
        let case = format!("seed {seed}, {batch_rows} rows in a chunk: {query}");
        assert_eq!(found.len(), expected.len(), "{case}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((&found.0, found.1), (&expected.0, expected.1), "{case}");
            let mut pairs = found.2.iter().zip(&expected.2);
            assert!(
                pairs.all(|(a, b)| is_close(*a, *b)),
                "{case}: {found:?} for {expected:?}"
            );
        }
    }
}

#[tokio::test]
async fn results_are_those_of_the_reference_on_the_cpu() {
    compare("cpu", 400, 200).await;
}

#[tokio::test]
async fn results_are_those_of_the_reference_in_the_simulator() {
    compare("simulator", 12, 60).await;
}

#[tokio::test]
async fn results_are_those_of_the_reference_on_a_gpu() {
    match Device::cuda(0) {
        Ok(_) => compare("cuda:0", 400, 200).await,
        Err(error) => {
            let is_required = std::env::var_os("GRIDSTRIDE_REQUIRE_CUDA").is_some();
            assert!(!is_required, "GRIDSTRIDE_REQUIRE_CUDA is set, but {error}");
            eprintln!("skipped on CUDA: {error}");
        }
    }
}
