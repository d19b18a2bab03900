//! Every public call of every kernel on small data, for tests of what all calls have in common:
//! failing allocations, failing drivers, leaks, many threads, and determinism.
//!
//! [`Data::new`] has whole numbers, so that the results of all devices are equal.
//! [`Data::fractions`] has numbers whose sums are rounded.

use gridstride::box_overlap::{Algorithm, BoxOverlap, OverlapMatrix, OverlapSlices, Overlaps};
use gridstride::device::{DeviceArray, DeviceKind, Element};
use gridstride::distances::{DeviceNearest, DeviceWindows, Distances, Metric, Nearest, Windows};
use gridstride::edit_distance::{EditDistance, edit_distances_within};
use gridstride::half::bf16;
use gridstride::matmul::{Cast, MatMul, Precision};
use gridstride::pipeline::{Pipeline, add};
use gridstride::primitives::{exclusive_sums, exclusive_sums_into, sort_keys, sort_pairs};
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Form, Tables, TensorSketch};
use gridstride::time_series::{
    Aggregates, BucketCounts, Fill, Method, Order, Summary, TimeBuckets, bucket_counts,
    bucket_counts_device, round_timestamps, round_timestamps_device,
    round_timestamps_device_inplace, round_timestamps_device_into, round_timestamps_inplace,
    round_timestamps_into,
};
use gridstride::{Device, Result};
use ndarray::{Array, Array1, Array2, Array3, ArrayView1, Dimension, s};

use super::Random;

/// A call with the numbers of its result. Calls on host arrays run on all devices, the others on the
/// first.
pub struct Call {
    /// The name of the function or method, then in brackets what else the call chooses.
    pub name: &'static str,
    pub run: fn(&Data, &[Device]) -> Result<Vec<f64>>,
}

impl Call {
    /// Returns the name of the function.
    pub fn function(&self) -> &'static str {
        self.name.split(' ').next().unwrap()
    }
}

/// The arguments of all calls.
pub struct Data {
    rows: Array2<f64>,
    other_rows: Array2<f64>,
    /// Two matrices in row-major order whose product has more rows than columns, if rows are long.
    row_major: [Array2<f64>; 2],
    floats: Array2<f32>,
    other_floats: Array2<f32>,
    boxes: Array2<i32>,
    other_boxes: Array2<i32>,
    timestamps: Array1<i64>,
    values: Array1<f64>,
    integers: Array1<i32>,
    keys: Vec<u64>,
    /// Rows of windows, at which each sequence begins.
    offsets: Vec<usize>,
    /// Points, at which each series begins.
    point_offsets: Vec<usize>,
    sequences: Sequences,
    other_sequences: Sequences,
    codes: Array1<u8>,
    tables: Tables,
}

impl Data {
    /// Returns data whose arrays have about `size` rows.
    pub fn new(size: usize) -> Data {
        let mut random = Random(size as u64);
        let matrix = Array2::from_shape_simple_fn((size, 12), || random.within(0, 8) as f64);
        let values = (0..size).map(|i| (i * 7 % 32) as f64).collect();
        Data::with(
            size,
            [s![.., ..6], s![.., 6..]].map(|half| matrix.slice(half).to_owned()),
            values,
        )
    }

    /// As [`Data::new`], with rows of `width` numbers and with `points` values of a time series. The
    /// numbers have 53 bits and different exponents, so that each order of additions gives other
    /// bits.
    pub fn fractions(size: usize, width: usize, points: usize) -> Data {
        let mut random = Random(size as u64);
        let mut number = || {
            let exponent = random.within(-60, -50) as i32;
            random.within(-1 << 53, 1 << 53) as f64 * 2f64.powi(exponent)
        };
        let mut matrix = || Array2::from_shape_simple_fn((size, width), &mut number);
        let matrices = [matrix(), matrix()];
        let values = Array1::from_shape_simple_fn(points, number);
        Data::with(size, matrices, values)
    }

    /// Returns data with these rows and values.
    fn with(size: usize, rows: [Array2<f64>; 2], values: Array1<f64>) -> Data {
        let mut random = Random(size as u64);
        let mut number = |most: i64| random.within(0, most);
        let [rows, other_rows] = rows;
        let floats = rows.mapv(|x| x as f32);
        let other_floats = other_rows.mapv(|x| x as f32);
        let extent = 4 * (size as f64).sqrt() as i64 + 4;
        let mut boxes = || {
            let mut boxes = Array2::zeros((size, 4));
            for mut row in boxes.rows_mut() {
                for axis in 0..2 {
                    let min = number(extent) as i32;
                    row[axis] = min;
                    row[axis + 2] = min + number(4) as i32;
                }
            }
            boxes
        };
        let [boxes, other_boxes] = [boxes(), boxes()];
        let mut sequences = || {
            let lengths = (0..5).map(|sequence| sequence * size / 2);
            let texts = lengths.map(|length| (0..length).map(|_| number(4) as u8).collect());
            Sequences::from(texts.collect::<Vec<Vec<u8>>>())
        };
        let [sequences, other_sequences] = [sequences(), sequences()];
        Data {
            row_major: [other_rows.t().dot(&rows), rows.t().to_owned()]
                .map(|matrix| matrix.as_standard_layout().into_owned()),
            rows,
            other_rows,
            floats,
            other_floats,
            boxes,
            other_boxes,
            timestamps: (0..values.len() as i64).map(|i| 3 * i + i % 2).collect(),
            point_offsets: vec![0, values.len() / 3, values.len()],
            values,
            integers: (0..size).map(|i| (i * 77 % 991) as i32 - 400).collect(),
            keys: (0..size).map(|_| number(1 << 20) as u64).collect(),
            offsets: vec![0, size / 3, size],
            codes: (0..3 * size).map(|_| number(4) as u8).collect(),
            sequences,
            other_sequences,
            tables: Tables::from_seed(4, 2, 16, 1).unwrap(),
        }
    }

    fn windows(&self) -> Result<[Windows<'_, f64>; 2]> {
        let a = Windows::new(self.rows.view(), &self.offsets)?;
        Ok([a, Windows::new(self.other_rows.view(), &self.offsets)?])
    }

    fn sketcher(&self) -> TensorSketch {
        TensorSketch::new(self.tables.clone())
    }

    fn reversed(&self) -> (ArrayView1<'_, i64>, ArrayView1<'_, f64>) {
        (
            self.timestamps.slice(s![..;-1]),
            self.values.slice(s![..;-1]),
        )
    }
}

/// Returns the numbers of an array.
fn all<T: Copy + Into<f64>, D: Dimension>(array: Array<T, D>) -> Vec<f64> {
    array.iter().map(|&x| x.into()).collect()
}

/// Returns sixteen-bit factors.
fn halves(rows: &Array2<f64>) -> Array2<bf16> {
    rows.mapv(bf16::from_f64)
}

fn downloaded<T: Element + Into<f64>, D: Dimension>(array: DeviceArray<T, D>) -> Result<Vec<f64>> {
    Ok(all(array.download()?))
}

fn times(array: &Array1<i64>) -> Vec<f64> {
    array.iter().map(|&time| time as f64).collect()
}

fn pairs(overlaps: Overlaps) -> Result<Vec<f64>> {
    Ok(all(overlaps.pairs()?))
}

/// Returns the pairs of all slices, with the rows of the whole first set.
fn all_pairs(slices: OverlapSlices) -> Result<Vec<f64>> {
    let mut found = Vec::new();
    for slice in slices {
        let slice = slice?;
        let first = slice.rows.start as f64;
        for pair in slice.overlaps.pairs()?.outer_iter() {
            found.extend([first + f64::from(pair[0]), f64::from(pair[1])]);
        }
    }
    Ok(found)
}

fn matrix_of(matrix: OverlapMatrix) -> Vec<f64> {
    let mut found = all(matrix.indices);
    found.extend(all(matrix.counts));
    found
}

/// Room for the nearest k of N rows on a device.
fn nearest_of(device: &Device, shape: (usize, usize)) -> Result<DeviceNearest> {
    Ok(DeviceNearest {
        indices: device.upload(&Array2::zeros(shape))?,
        distances: device.upload(&Array2::zeros(shape))?,
    })
}

fn found(nearest: Nearest) -> Vec<f64> {
    let indices = nearest.indices.iter().map(|&index| index as f64);
    indices.chain(nearest.distances).collect()
}

fn columns(aggregates: Aggregates) -> Vec<f64> {
    let (starts, columns) = aggregates.into_parts();
    // A bucket without values has NaN, which equals nothing.
    let known = |x: f64| if x.is_nan() { -1.0 } else { x };
    let values = columns.into_iter().flatten().map(known);
    times(&starts).into_iter().chain(values).collect()
}

fn counts(counts: BucketCounts) -> Vec<f64> {
    let numbers = counts.counts.iter().map(|&count| f64::from(count));
    times(&counts.starts).into_iter().chain(numbers).collect()
}

fn buckets() -> TimeBuckets {
    let half = Method::percentile(50.0);
    TimeBuckets::every(35).methods(&[Method::SUM, Method::MEAN, Method::MAX, half])
}

/// The statistics of summaries.
const OF_SUMMARIES: [Method; 6] = [
    Method::COUNT,
    Method::SUM,
    Method::MIN,
    Method::MAX,
    Method::FIRST,
    Method::LAST,
];

fn l2() -> Distances {
    Distances::new().metric(Metric::SquaredL2)
}

fn upload<T: Element, D: Dimension, const N: usize>(
    device: &Device,
    arrays: [&Array<T, D>; N],
) -> Result<[DeviceArray<T, D>; N]> {
    let uploaded: Result<Vec<_>> = arrays.iter().map(|array| device.upload(*array)).collect();
    Ok(uploaded?
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many")))
}

macro_rules! calls {
    ($($name:literal: |$data:pat_param, $devices:pat_param| $run:expr,)*) => {
        &[$(Call { name: $name, run: |$data, $devices| $run },)*]
    };
}

pub static CALLS: &[Call] = calls! {
    "matmul": |d, on| Ok(all(MatMul::new().matmul(on, d.rows.view(), d.other_rows.t())?)),
    "matmul (F32ByBf16x6)": |d, on| {
        let options = MatMul::new().precision(Precision::F32ByBf16x6);
        Ok(all(options.matmul(on, d.floats.view(), d.other_floats.t())?))
    },
    "matmul (Tf32)": |d, on| {
        let options = MatMul::new().precision(Precision::Tf32);
        Ok(all(options.matmul(on, d.floats.view(), d.other_floats.t())?))
    },
    "matmul (long)": |d, on| Ok(all(MatMul::new().matmul(on, d.rows.t(), d.other_rows.view())?)),
    "matmul (row-major)": |d, on| {
        let [a, b] = &d.row_major;
        Ok(all(MatMul::new().matmul(on, a.view(), b.view())?))
    },
    "matmul (f32)": |d, on| {
        Ok(all(MatMul::new().matmul(on, d.floats.view(), d.other_floats.t())?))
    },
    "matmul (bf16)": |d, on| {
        let (a, b) = (halves(&d.rows), halves(&d.other_rows));
        Ok(all(MatMul::new().matmul(on, a.view(), b.t())?))
    },
    "matmul_as": |d, on| {
        let (a, b) = (halves(&d.rows), halves(&d.other_rows));
        Ok(all(MatMul::new().matmul_as::<bf16, _, _, _>(on, a.view(), b.t())?))
    },
    "matmul_into": |d, on| {
        let mut c = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        MatMul::new().matmul_into(on, d.rows.view(), d.other_rows.t(), c.view_mut())?;
        Ok(all(c))
    },
    "matmul_into (row-major)": |d, on| {
        let [a, b] = &d.row_major;
        let mut c = Array2::zeros((a.nrows(), b.ncols()));
        MatMul::new().matmul_into(on, a.view(), b.view(), c.view_mut())?;
        Ok(all(c))
    },
    "gemm": |d, on| {
        let mut c = Array2::ones((d.rows.nrows(), d.rows.nrows()));
        MatMul::new().gemm(on, 2.0, d.rows.view(), d.other_rows.t(), -1.0, c.view_mut())?;
        Ok(all(c))
    },
    "matmul_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        downloaded(MatMul::new().matmul_device(&a, b.view().t())?)
    },
    "matmul_device (recorded)": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let multiply = || MatMul::new().matmul_device(&a, b.view().t());
        // The CPU has no graphs.
        if on[0].kind() == DeviceKind::Cpu {
            return downloaded(multiply()?);
        }
        let (mut graph, product) = on[0].capture(multiply)?;
        graph.launch()?;
        downloaded(product)
    },
    "matmul_device_into": |d, on| {
        let c = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        let [a, b, mut c] = upload(&on[0], [&d.rows, &d.other_rows, &c])?;
        MatMul::new().matmul_device_into(&a, b.view().t(), &mut c)?;
        downloaded(c)
    },
    "gemm_device": |d, on| {
        let c = Array2::ones((d.rows.nrows(), d.rows.nrows()));
        let [a, b, mut c] = upload(&on[0], [&d.rows, &d.other_rows, &c])?;
        MatMul::new().gemm_device(2.0, &a, b.view().t(), -1.0, &mut c)?;
        downloaded(c)
    },
    "matmul_device_as": |d, on| {
        let [a, b] = upload(&on[0], [&halves(&d.rows), &halves(&d.other_rows)])?;
        downloaded(MatMul::new().matmul_device_as::<bf16, _, _, _>(&a, b.view().t())?)
    },
    "cast": |d, on| downloaded(on[0].upload(&d.rows)?.cast::<f32>()?),

    "distances": |d, on| Ok(all(l2().distances(on, d.rows.view(), d.other_rows.view())?)),
    "distances (f32)": |d, on| {
        Ok(all(l2().distances(on, d.floats.view(), d.other_floats.view())?))
    },
    "distances_into": |d, on| {
        let mut out = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        l2().distances_into(on, d.rows.view(), d.other_rows.view(), out.view_mut())?;
        Ok(all(out))
    },
    "pairwise": |d, on| Ok(all(l2().pairwise(on, d.rows.view())?)),
    "pairwise_into": |d, on| {
        let mut out = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        l2().pairwise_into(on, d.rows.view(), out.view_mut())?;
        Ok(all(out))
    },
    "distances_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        downloaded(l2().distances_device(&a, &b)?)
    },
    "distances_device_into": |d, on| {
        let out = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        let [a, b, mut out] = upload(&on[0], [&d.rows, &d.other_rows, &out])?;
        l2().distances_device_into(&a, &b, &mut out)?;
        downloaded(out)
    },
    "pairwise_device": |d, on| downloaded(l2().pairwise_device(&on[0].upload(&d.rows)?)?),
    "pairwise_device_into": |d, on| {
        let out = Array2::zeros((d.rows.nrows(), d.rows.nrows()));
        let [a, mut out] = upload(&on[0], [&d.rows, &out])?;
        l2().pairwise_device_into(&a, &mut out)?;
        downloaded(out)
    },
    "nearest": |d, on| Ok(found(l2().nearest(on, d.rows.view(), d.other_rows.view(), 3)?)),
    "nearest (f32)": |d, on| {
        Ok(found(l2().nearest(on, d.floats.view(), d.other_floats.view(), 3)?))
    },
    "nearest_into": |d, on| {
        let shape = (d.rows.nrows(), 3);
        let (mut indices, mut distances) = (Array2::<u64>::zeros(shape), Array2::zeros(shape));
        let places = (indices.view_mut(), distances.view_mut());
        l2().nearest_into(on, d.rows.view(), d.other_rows.view(), places.0, places.1)?;
        Ok(found(Nearest { indices, distances }))
    },
    "nearest_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        Ok(found(l2().nearest_device(&a, &b, 3)?.download()?))
    },
    "nearest_device_into": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let mut there = nearest_of(&on[0], (d.rows.nrows(), 3))?;
        l2().nearest_device_into(&a, &b, &mut there.indices, &mut there.distances)?;
        Ok(found(there.download()?))
    },
    "slide_distances": |d, on| {
        let [a, b] = d.windows()?;
        Ok(all(l2().slide_distances(on, a, b)?))
    },
    "slide_distances_into": |d, on| {
        let [a, b] = d.windows()?;
        let mut out = Array2::zeros((2, 2));
        l2().slide_distances_into(on, a, b, out.view_mut())?;
        Ok(all(out))
    },
    "slide_paired": |d, on| {
        let [a, b] = d.windows()?;
        Ok(all(l2().slide_paired(on, a, b)?))
    },
    "slide_paired_into": |d, on| {
        let [a, b] = d.windows()?;
        let mut out = Array1::zeros(2);
        l2().slide_paired_into(on, a, b, out.view_mut())?;
        Ok(all(out))
    },
    "slide_nearest": |d, on| {
        let [a, b] = d.windows()?;
        Ok(found(l2().slide_nearest(on, a, b, 1)?))
    },
    "slide_nearest_into": |d, on| {
        let [a, b] = d.windows()?;
        let (mut indices, mut distances) = (Array2::<u64>::zeros((2, 1)), Array2::zeros((2, 1)));
        l2().slide_nearest_into(on, a, b, indices.view_mut(), distances.view_mut())?;
        Ok(found(Nearest { indices, distances }))
    },
    "slide_distances_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        downloaded(l2().slide_distances_device(a, b)?)
    },
    "slide_distances_device_into": |d, on| {
        let [a, b, mut out] = upload(&on[0], [&d.rows, &d.other_rows, &Array2::zeros((2, 2))])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        l2().slide_distances_device_into(a, b, &mut out)?;
        downloaded(out)
    },
    "slide_paired_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        downloaded(l2().slide_paired_device(a, b)?)
    },
    "slide_paired_device_into": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        let mut out = on[0].upload(&Array1::zeros(2))?;
        l2().slide_paired_device_into(a, b, &mut out)?;
        downloaded(out)
    },
    "slide_nearest_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        Ok(found(l2().slide_nearest_device(a, b, 1)?.download()?))
    },
    "slide_nearest_device_into": |d, on| {
        let [a, b] = upload(&on[0], [&d.rows, &d.other_rows])?;
        let [a, b] = [DeviceWindows::new(&a, &d.offsets)?, DeviceWindows::new(&b, &d.offsets)?];
        let mut there = nearest_of(&on[0], (d.offsets.len() - 1, 1))?;
        l2().slide_nearest_device_into(a, b, &mut there.indices, &mut there.distances)?;
        Ok(found(there.download()?))
    },

    "edit_distances": |d, on| {
        Ok(all(EditDistance::new().edit_distances(on, &d.sequences, &d.other_sequences)?))
    },
    "edit_distances_into": |d, on| {
        let mut out = Array1::zeros(d.sequences.len());
        EditDistance::new().edit_distances_into(on, &d.sequences, &d.other_sequences, out.view_mut())?;
        Ok(all(out))
    },
    "edit_distances_within": |d, on| {
        let within = edit_distances_within(on, &d.sequences, &d.other_sequences, 40)?;
        Ok(within.iter().map(|found| found.map_or(-1.0, f64::from)).collect())
    },
    "edit_distances_device": |d, on| {
        let (a, b) = (d.sequences.upload(&on[0])?, d.other_sequences.upload(&on[0])?);
        downloaded(EditDistance::new().edit_distances_device(&a, &b)?)
    },
    "edit_distances_device_into": |d, on| {
        let (a, b) = (d.sequences.upload(&on[0])?, d.other_sequences.upload(&on[0])?);
        let mut out = on[0].upload(&Array1::zeros(d.sequences.len()))?;
        EditDistance::new().edit_distances_device_into(&a, &b, &mut out)?;
        downloaded(out)
    },

    "sketch": |d, on| Ok(all(d.sketcher().sketch(on, &d.sequences)?)),
    "sketch (direct)": |d, on| Ok(all(d.sketcher().form(Form::Direct).sketch(on, &d.sequences)?)),
    "sketch (Fourier)": |d, on| Ok(all(d.sketcher().form(Form::Fourier).sketch(on, &d.sequences)?)),
    "sketch_into": |d, on| {
        let mut out = Array2::zeros((d.sequences.len(), 16));
        d.sketcher().sketch_into(on, &d.sequences, out.view_mut())?;
        Ok(all(out))
    },
    "sketch_rows": |d, on| Ok(all(d.sketcher().sketch_rows(on, &d.sequences)?)),
    "sketch_rows_into": |d, on| {
        let mut out = Array3::zeros((d.sequences.len(), 3, 16));
        d.sketcher().sketch_rows_into(on, &d.sequences, out.view_mut())?;
        Ok(all(out))
    },
    "sketch_one": |d, on| Ok(all(d.sketcher().sketch_one(on, d.codes.view())?)),
    "sketch_one_into": |d, on| {
        let mut out = Array1::zeros(16);
        d.sketcher().sketch_one_into(on, d.codes.view(), out.view_mut())?;
        Ok(all(out))
    },
    "windows": |d, on| Ok(all(d.sketcher().windows(on, d.codes.view(), 9, 2)?)),
    "windows_into": |d, on| {
        let count = (d.codes.len() - 9) / 2 + 1;
        let mut out = Array2::zeros((count, 16));
        d.sketcher().windows_into(on, d.codes.view(), 9, 2, out.view_mut())?;
        Ok(all(out))
    },
    "sketch_device": |d, on| {
        downloaded(d.sketcher().sketch_device(&d.sequences.upload(&on[0])?)?)
    },
    "sketch_device_into": |d, on| {
        let sequences = d.sequences.upload(&on[0])?;
        let mut out = on[0].upload(&Array2::zeros((d.sequences.len(), 16)))?;
        d.sketcher().sketch_device_into(&sequences, &mut out)?;
        downloaded(out)
    },
    "sketch_rows_device": |d, on| {
        downloaded(d.sketcher().sketch_rows_device(&d.sequences.upload(&on[0])?)?)
    },
    "sketch_rows_device_into": |d, on| {
        let sequences = d.sequences.upload(&on[0])?;
        let mut out = on[0].upload(&Array3::zeros((d.sequences.len(), 3, 16)))?;
        d.sketcher().sketch_rows_device_into(&sequences, &mut out)?;
        downloaded(out)
    },
    "windows_device": |d, on| {
        let single = Sequences::from_iter([&d.codes]).upload(&on[0])?;
        downloaded(d.sketcher().windows_device(&single, 9, 2)?)
    },
    "windows_device_into": |d, on| {
        let single = Sequences::from_iter([&d.codes]).upload(&on[0])?;
        let count = (d.codes.len() - 9) / 2 + 1;
        let mut out = on[0].upload(&Array2::zeros((count, 16)))?;
        d.sketcher().windows_device_into(&single, 9, 2, &mut out)?;
        downloaded(out)
    },
    "SketchSession": |d, on| {
        let sketcher = d.sketcher();
        let mut session = sketcher.session(&on[0])?;
        for letters in d.codes.as_slice().unwrap().chunks(7) {
            session.push(letters)?;
        }
        session.end_sequence()?;
        Ok(all(session.finish()?))
    },

    "overlaps": |d, on| {
        pairs(BoxOverlap::new().overlaps(on, d.boxes.view(), d.other_boxes.view())?)
    },
    "overlaps (brute force)": |d, on| {
        let search = BoxOverlap::new().algorithm(Algorithm::BruteForce);
        pairs(search.overlaps(on, d.boxes.view(), d.other_boxes.view())?)
    },
    "overlaps (indexed)": |d, on| {
        let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
        pairs(search.overlaps(on, d.boxes.view(), d.other_boxes.view())?)
    },
    "self_overlaps": |d, on| pairs(BoxOverlap::new().self_overlaps(on, d.boxes.view())?),
    "counts": |d, on| {
        Ok(all(BoxOverlap::new().counts(on, d.boxes.view(), d.other_boxes.view())?))
    },
    "counts_into": |d, on| {
        let mut out = Array1::zeros(d.boxes.nrows());
        BoxOverlap::new().counts_into(on, d.boxes.view(), d.other_boxes.view(), out.view_mut())?;
        Ok(all(out))
    },
    "self_counts": |d, on| Ok(all(BoxOverlap::new().self_counts(on, d.boxes.view())?)),
    "self_counts_into": |d, on| {
        let mut out = Array1::zeros(d.boxes.nrows());
        BoxOverlap::new().self_counts_into(on, d.boxes.view(), out.view_mut())?;
        Ok(all(out))
    },
    "matrix": |d, on| {
        let matrix = BoxOverlap::new().matrix(on, d.boxes.view(), d.other_boxes.view(), 2)?;
        Ok(matrix_of(matrix))
    },
    "slices": |d, on| {
        all_pairs(BoxOverlap::new().slices(on, d.boxes.view(), d.other_boxes.view(), 20)?)
    },
    "self_slices": |d, on| all_pairs(BoxOverlap::new().self_slices(on, d.boxes.view(), 20)?),
    "overlaps_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.boxes, &d.other_boxes])?;
        pairs(BoxOverlap::new().overlaps_device(&a, &b)?.download()?)
    },
    "overlaps_device (indexed)": |d, on| {
        let [a, b] = upload(&on[0], [&d.boxes, &d.other_boxes])?;
        let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
        pairs(search.overlaps_device(&a, &b)?.download()?)
    },
    "self_overlaps_device": |d, on| {
        let boxes = on[0].upload(&d.boxes)?;
        pairs(BoxOverlap::new().self_overlaps_device(&boxes)?.download()?)
    },
    "counts_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.boxes, &d.other_boxes])?;
        downloaded(BoxOverlap::new().counts_device(&a, &b)?)
    },
    "self_counts_device": |d, on| {
        downloaded(BoxOverlap::new().self_counts_device(&on[0].upload(&d.boxes)?)?)
    },
    "counts_device_into": |d, on| {
        let [a, b] = upload(&on[0], [&d.boxes, &d.other_boxes])?;
        let mut out = on[0].upload(&Array1::zeros(d.boxes.nrows()))?;
        BoxOverlap::new().counts_device_into(&a, &b, &mut out)?;
        downloaded(out)
    },
    "self_counts_device_into": |d, on| {
        let mut out = on[0].upload(&Array1::zeros(d.boxes.nrows()))?;
        BoxOverlap::new().self_counts_device_into(&on[0].upload(&d.boxes)?, &mut out)?;
        downloaded(out)
    },
    "matrix_device": |d, on| {
        let [a, b] = upload(&on[0], [&d.boxes, &d.other_boxes])?;
        Ok(matrix_of(BoxOverlap::new().matrix_device(&a, &b, 2)?.download()?))
    },

    "aggregate": |d, on| Ok(columns(buckets().aggregate(on, d.timestamps.view(), d.values.view())?)),
    "aggregate (sorting)": |d, on| {
        let (timestamps, values) = d.reversed();
        Ok(columns(buckets().order(Order::Sort).aggregate(on, timestamps, values)?))
    },
    "aggregate (filling)": |d, on| {
        let filled = TimeBuckets::every(2).methods(&[Method::SUM]).fill(Fill::Previous);
        Ok(columns(filled.aggregate(on, d.timestamps.view(), d.values.view())?))
    },
    "aggregate (selecting)": |d, on| {
        let methods = [Method::COUNT, Method::MIN, Method::MAX, Method::FIRST, Method::LAST];
        let methods = [&methods[..], &[Method::MEDIAN, Method::percentile(95.0)]].concat();
        let selecting = TimeBuckets::every(35).methods(&methods);
        Ok(columns(selecting.aggregate(on, d.timestamps.view(), d.values.view())?))
    },
    "aggregate (rates)": |d, on| {
        let rates = TimeBuckets::every(35).methods(&[Method::LAST.rate(), Method::MAX.rate()]);
        Ok(columns(rates.aggregate(on, d.timestamps.view(), d.values.view())?))
    },
    "aggregate (deviations)": |d, on| {
        let deviations = TimeBuckets::every(35).methods(&[Method::VAR, Method::STD]);
        Ok(columns(deviations.aggregate(on, d.timestamps.view(), d.values.view())?))
    },
    "aggregate (long buckets)": |d, on| {
        let long = TimeBuckets::every(1 << 40).methods(&[Method::SUM, Method::VAR]);
        Ok(columns(long.aggregate(on, d.timestamps.view(), d.values.view())?))
    },
    "aggregate_series": |d, on| {
        let (timestamps, values) = (d.timestamps.view(), d.values.view());
        Ok(columns(buckets().aggregate_series(on, &d.point_offsets, timestamps, values)?))
    },
    "aggregate_into": |d, on| {
        let count = d.timestamps.len();
        let (mut starts, mut out) = (Array1::zeros(count), Array2::zeros((4, count)));
        let (timestamps, values) = (d.timestamps.view(), d.values.view());
        let places = (starts.view_mut(), out.view_mut());
        let length = buckets().aggregate_into(on, timestamps, values, places.0, places.1)?;
        out.slice_mut(s![.., length..]).fill(0.0);
        starts.slice_mut(s![length..]).fill(0);
        Ok(times(&starts).into_iter().chain(out).collect())
    },
    "aggregate_series_into": |d, on| {
        let count = d.timestamps.len();
        let (mut starts, mut out) = (Array1::zeros(count), Array2::zeros((4, count)));
        let (timestamps, values) = (d.timestamps.view(), d.values.view());
        let places = (starts.view_mut(), out.view_mut());
        let offsets = buckets().aggregate_series_into(
            on, &d.point_offsets, timestamps, values, places.0, places.1,
        )?;
        let length = offsets[2];
        out.slice_mut(s![.., length..]).fill(0.0);
        starts.slice_mut(s![length..]).fill(0);
        Ok(times(&starts).into_iter().chain(out).collect())
    },
    "summaries": |d, on| {
        let found = buckets().summaries(on, d.timestamps.view(), d.values.view())?;
        Ok(columns(found.columns(&OF_SUMMARIES, 0)?))
    },
    "summaries_series": |d, on| {
        let (timestamps, values) = (d.timestamps.view(), d.values.view());
        let found = buckets().summaries_series(on, &d.point_offsets, timestamps, values)?;
        Ok(columns(found.columns(&OF_SUMMARIES, 0)?))
    },
    "summaries_of": |d, on| {
        let (timestamps, values) = (d.timestamps.view(), d.values.view());
        let found =
            buckets().summaries_of::<Summary, _>(on, &d.point_offsets, timestamps, values)?;
        Ok(columns(found.columns(&OF_SUMMARIES, 0)?))
    },
    "aggregate_device": |d, on| {
        let (timestamps, values) = (on[0].upload(&d.timestamps)?, on[0].upload(&d.values)?);
        Ok(columns(buckets().aggregate_device(&timestamps, &values)?.download()?))
    },
    "aggregate_series_device": |d, on| {
        let (timestamps, values) = (on[0].upload(&d.timestamps)?, on[0].upload(&d.values)?);
        let found = buckets().aggregate_series_device(&d.point_offsets, &timestamps, &values)?;
        Ok(columns(found.download()?))
    },
    "summaries_device": |d, on| {
        let (timestamps, values) = (on[0].upload(&d.timestamps)?, on[0].upload(&d.values)?);
        let found = buckets().summaries_device(&timestamps, &values)?.download()?;
        Ok(columns(found.columns(&OF_SUMMARIES, 0)?))
    },
    "summaries_series_device": |d, on| {
        let (timestamps, values) = (on[0].upload(&d.timestamps)?, on[0].upload(&d.values)?);
        let found = buckets().summaries_series_device(&d.point_offsets, &timestamps, &values)?;
        Ok(columns(found.download()?.columns(&OF_SUMMARIES, 0)?))
    },
    "summaries_of_device": |d, on| {
        let (timestamps, values) = (on[0].upload(&d.timestamps)?, on[0].upload(&d.values)?);
        let offsets = &d.point_offsets;
        let found = buckets().summaries_of_device::<Summary, _>(offsets, &timestamps, &values)?;
        Ok(columns(found.download()?.columns(&OF_SUMMARIES, 0)?))
    },
    "bucket_counts": |d, on| Ok(counts(bucket_counts(on, d.timestamps.view(), 35, 0)?)),
    "bucket_counts_device": |d, on| {
        Ok(counts(bucket_counts_device(&on[0].upload(&d.timestamps)?, 35, 0)?.download()?))
    },
    "round_timestamps": |d, on| Ok(times(&round_timestamps(on, d.timestamps.view(), 35, 0)?)),
    "round_timestamps_into": |d, on| {
        let mut out = Array1::zeros(d.timestamps.len());
        round_timestamps_into(on, d.timestamps.view(), 35, 0, out.view_mut())?;
        Ok(times(&out))
    },
    "round_timestamps_inplace": |d, on| {
        let mut timestamps = d.timestamps.clone();
        round_timestamps_inplace(on, timestamps.view_mut(), 35, 0)?;
        Ok(times(&timestamps))
    },
    "round_timestamps_device": |d, on| {
        let timestamps = on[0].upload(&d.timestamps)?;
        Ok(times(&round_timestamps_device(&timestamps, 35, 0)?.download()?))
    },
    "round_timestamps_device_into": |d, on| {
        let [timestamps, mut out] = upload(&on[0], [&d.timestamps, &d.timestamps])?;
        round_timestamps_device_into(&timestamps, 35, 0, &mut out)?;
        Ok(times(&out.download()?))
    },
    "round_timestamps_device_inplace": |d, on| {
        let mut timestamps = on[0].upload(&d.timestamps)?;
        round_timestamps_device_inplace(&mut timestamps, 35, 0)?;
        Ok(times(&timestamps.download()?))
    },

    "add": |d, on| {
        let mut sums = Array1::zeros(d.integers.len());
        let pipeline = Pipeline::new(on).streams(2).memory(4096);
        add(&pipeline, &d.integers, &d.integers, &mut sums)?;
        Ok(all(sums))
    },
    "exclusive_sums": |d, on| {
        let numbers: Vec<u32> = d.keys.iter().map(|&key| key as u32).collect();
        let sums = exclusive_sums(&on[0].buffer_from(&numbers)?)?.to_vec()?;
        Ok(sums.into_iter().map(|sum| sum as f64).collect())
    },
    "exclusive_sums_into": |d, on| {
        let numbers: Vec<u32> = d.keys.iter().map(|&key| key as u32).collect();
        let mut sums = on[0].zeros(numbers.len() + 1)?;
        exclusive_sums_into(&on[0].buffer_from(&numbers)?, &mut sums)?;
        Ok(sums.to_vec()?.into_iter().map(|sum| sum as f64).collect())
    },
    "sort_keys": |d, on| {
        let sorted = sort_keys(on[0].buffer_from(&d.keys)?, 0..64)?.to_vec()?;
        Ok(sorted.into_iter().map(|key| key as f64).collect())
    },
    "sort_pairs": |d, on| {
        let places: Vec<u32> = (0..).take(d.keys.len()).collect();
        let keys = on[0].buffer_from(&d.keys)?;
        let (_, places) = sort_pairs(keys, on[0].buffer_from(&places)?, 0..20)?;
        Ok(places.to_vec()?.into_iter().map(f64::from).collect())
    },
};
