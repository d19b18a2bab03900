//! Distances that lose the most to rounding and underflow, on every device, against exact
//! arithmetic, within the bound that the documentation of `distances` derives: γ_{D+4} of the
//! distance, and a term for numbers of very different magnitudes.

use std::fmt::Debug;

use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{Component, Distances, Metric, Windows};
use ndarray::{Array2, ArrayView2, array, s};

use test_support::exact::{Exact, U, is_root_within, is_within};
use test_support::in_every_type;
use test_support::{Random, devices, scaled, several, small};

/// The least and the largest exponent of normal numbers.
trait Number: Component + Debug {
    const EXPONENTS: [i32; 2];
    const DIGITS: u32;
}

impl Number for f32 {
    const EXPONENTS: [i32; 2] = [-126, 127];
    const DIGITS: u32 = 24;
}

impl Number for f64 {
    const EXPONENTS: [i32; 2] = [-1022, 1023];
    const DIGITS: u32 = 53;
}

fn exact<T: Number>(number: T) -> Exact {
    Exact::from(number.to_f64())
}

/// The unit roundoff of a device's arithmetic, and the factor of the largest magnitude in the bound.
fn arithmetic<T: Number>(device: &Device) -> (f64, f64) {
    match (device.kind(), T::DIGITS) {
        (DeviceKind::Cpu, _) | (_, 53) => (U, 1e-300),
        _ => (2f64.powi(-24), 1e-35),
    }
}

/// Checks a distance by its exact square, of `count` numbers up to `largest` in magnitude.
#[track_caller]
fn check<T: Number>(
    device: &Device,
    metric: Metric,
    found: f64,
    square: &Exact,
    (count, largest): (usize, f64),
    what: &str,
) {
    let (u, factor) = arithmetic::<T>(device);
    let relative = Exact::gamma(count + 4, u);
    let longer = (count as f64 / 4096.0).max(1.0);
    let term = Exact::from(factor) * Exact::from(largest) * Exact::from(longer);
    // A result below the normal range of f64 is rounded to a multiple of the smallest number.
    let underflow = Exact::power(-1075);
    let largest_number = Exact::from(f64::MAX);
    let up = Exact::whole(1) + relative.clone();
    let is_right = match metric {
        SquaredL2 if found == f64::INFINITY => &up * square > largest_number,
        SquaredL2 => {
            let bound = &relative * square + term.squared() + underflow;
            is_within(found, square, &bound)
        }
        L2 if found == f64::INFINITY => up.squared() * square.clone() > largest_number.squared(),
        L2 => is_root_within(&found.into(), square, &relative, &(term + underflow)),
    };
    assert!(
        is_right,
        "{device}, {metric:?}, {what}: {found:e} is beyond the bound"
    );
}

fn square<T: Number>(a: ndarray::ArrayView1<T>, b: ndarray::ArrayView1<T>) -> Exact {
    let pairs = a.iter().zip(b);
    pairs.map(|(&a, &b)| (exact(a) - exact(b)).squared()).sum()
}

fn magnitude<T: Number>(rows: ArrayView2<T>) -> f64 {
    rows.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max)
}

/// A number with all digits of the type, about 2^`exponent`, which may be subnormal.
fn number<T: Number>(exponent: i32, random: &mut Random) -> T {
    let digits = random.within(1 << 52, 1 << 53) as f64;
    let sign = if random.bits() >> 63 == 0 { 1.0 } else { -1.0 };
    T::from_f64(scaled(sign * digits / 2f64.powi(52), exponent))
}

/// Rows of each kind of difficulty, with its name.
fn hard_rows<T: Number>(dim: usize) -> Vec<(Array2<T>, &'static str)> {
    let [low, high] = T::EXPONENTS;
    let mut random = Random(dim as u64);
    let shape = (5, dim);
    let mut all = vec![];
    let make = |exponents: [i32; 2], random: &mut Random| {
        Array2::from_shape_simple_fn(shape, || {
            let exponent = random.within(exponents[0].into(), i64::from(exponents[1]) + 1);
            number::<T>(exponent as i32, random)
        })
    };
    let subnormal = low - T::DIGITS as i32 + 1;
    all.push((make([subnormal, high - 1], &mut random), "all exponents"));
    all.push((make([subnormal, low - 1], &mut random), "subnormal"));
    all.push((make([high - 1, high - 1], &mut random), "the largest"));
    all.push((
        make([low / 2 - 3, low / 2 + 3], &mut random),
        "squares at the smallest number",
    ));
    // Neighbours of the numbers of the first row, so that nothing but last places is left.
    let mut close = make([0, 20], &mut random);
    for row in 1..5 {
        for column in 0..dim {
            let first = close[(0, column)].to_f64();
            let place = 2f64.powi(first.abs().log2().floor() as i32 + 1 - T::DIGITS as i32);
            let places = random.within(-(row as i64), row as i64 + 1) as f64;
            close[(row, column)] = T::from_f64(first + places * place);
        }
    }
    all.push((close, "neighbours"));
    // The largest number in the same column, and differences that underflow beside it.
    let mut beside = make([low / 2, low / 2 + 60], &mut random);
    if let Some(mut column) = (dim > 0).then(|| beside.column_mut(0)) {
        column.fill(T::from_f64(2f64.powi(high - 2)));
    }
    all.push((beside, "beside the largest"));
    let mut zeros = make([low, low], &mut random).mapv(|x| T::from_f64(x.to_f64() * 0.0));
    zeros.slice_mut(s![3.., ..]).fill(T::from_f64(-0.0));
    all.push((zeros, "zeros of both signs"));
    all
}

fn dims() -> &'static [usize] {
    if small() {
        &[1, 7, 33]
    } else {
        &[1, 2, 7, 33, 96, 1000]
    }
}

fn hard_rows_are_within_the_bound<T: Number>() {
    for &dim in dims() {
        for (rows, name) in hard_rows::<T>(dim) {
            let largest = magnitude(rows.view());
            let (a, b) = rows.view().split_at(ndarray::Axis(0), 2);
            let squares = Array2::from_shape_fn((2, 3), |(i, j)| square(a.row(i), b.row(j)));
            for device in devices() {
                for metric in [L2, SquaredL2] {
                    let found = Distances::new().metric(metric).distances(&device, a, b);
                    let what = format!("D = {dim}, {name}");
                    for (&found, exact) in found.unwrap().iter().zip(&squares) {
                        check::<T>(&device, metric, found, exact, (dim, largest), &what);
                    }
                }
            }
        }
    }
}

fn hard_windows_are_within_the_bound<T: Number>() {
    for dim in [3, 32] {
        for (rows, name) in hard_rows::<T>(dim) {
            let largest = magnitude(rows.view());
            let (first, second) = rows.view().split_at(ndarray::Axis(0), 2);
            let a = Windows::new(first, &[0, 2]).unwrap();
            let b = Windows::new(second, &[0, 2, 3]).unwrap();
            // Two windows with the first sequence, one with the second.
            let pair = |i: usize, j: usize| square(first.row(i), second.row(j));
            let squares = [pair(0, 0) + pair(1, 1), pair(0, 2)];
            for device in devices() {
                for metric in [L2, SquaredL2] {
                    let with = Distances::new().metric(metric);
                    let found = with.slide_distances(&device, a, b).unwrap();
                    for (j, windows) in [2, 1].into_iter().enumerate() {
                        let of = (windows * dim, largest);
                        let what = format!("{windows} windows of {dim}, {name}");
                        check::<T>(&device, metric, found[(0, j)], &squares[j], of, &what);
                    }
                }
            }
        }
    }
}

/// The nearest rows have the distances of `distances`, in ascending order, equal ones in the order
/// of the rows; and no row is left out that is nearer by more than both errors.
fn the_nearest_rows_are_the_nearest<T: Number>() {
    for dim in [2, 33] {
        let mut cases = hard_rows::<T>(dim);
        // Ties: each row twice.
        let (rows, _) = &cases[0];
        let twice = ndarray::concatenate![ndarray::Axis(0), rows.view(), rows.view()];
        cases.push((twice, "ties"));
        for (rows, name) in cases {
            let queries = rows.slice(s![..2, ..]);
            let (largest, count) = (magnitude(rows.view()), rows.nrows());
            for device in devices() {
                for metric in [L2, SquaredL2] {
                    let with = Distances::new().metric(metric);
                    let all = with.distances(&device, queries, rows.view()).unwrap();
                    for k in [1, 3, count] {
                        let found = with.nearest(&device, queries, rows.view(), k).unwrap();
                        for query in 0..2 {
                            let mut order: Vec<usize> = (0..count).collect();
                            order.sort_by(|&i, &j| {
                                all[(query, i)].total_cmp(&all[(query, j)]).then(i.cmp(&j))
                            });
                            let what = format!("{device}, {metric:?}, D = {dim}, {name}, k = {k}");
                            for (place, &row) in order.iter().take(k).enumerate() {
                                let at = (query, place);
                                assert_eq!(found.indices[at], row as u64, "{what}");
                                let distance = found.distances[at];
                                let expected = all[(query, row)].to_bits();
                                assert_eq!(distance.to_bits(), expected, "{what}");
                                let exact = square(queries.row(query), rows.row(row));
                                let of = (dim, largest);
                                check::<T>(&device, metric, distance, &exact, of, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    hard_rows_are_within_the_bound
    hard_windows_are_within_the_bound
    the_nearest_rows_are_the_nearest
    distances_of_equal_rows_are_zero
} }

/// Also where all numbers are subnormal or the largest, and −0 equals 0.
fn distances_of_equal_rows_are_zero<T: Number>() {
    for (rows, name) in hard_rows::<T>(33) {
        for device in devices() {
            let found = Distances::new().pairwise(&device, rows.view()).unwrap();
            for distance in found.diag() {
                assert_eq!(distance.to_bits(), 0, "{device}, {name}");
            }
            if name == "zeros of both signs" {
                assert!(
                    found.iter().all(|distance| distance.to_bits() == 0),
                    "{device}"
                );
            }
        }
    }
}

/// Each partition has its own scale, which shows in nothing but the second term.
#[test]
fn partitions_of_different_magnitudes_are_within_the_bound() {
    let mut random = Random(9);
    let exponents = [-149, -100, -60, 0, 40, 126];
    let rows = exponents.map(|exponent| [number::<f32>(exponent, &mut random); 2]);
    let rows: Array2<f32> = Array2::from_shape_fn((6, 2), |(i, j)| rows[i][j] / (j + 1) as f32);
    let largest = magnitude(rows.view());
    for device in devices() {
        let set = several(&device, 3);
        for metric in [L2, SquaredL2] {
            let with = Distances::new().metric(metric);
            let found = with.distances(&set, rows.view(), rows.view()).unwrap();
            for ((i, j), &found) in found.indexed_iter() {
                let exact = square(rows.row(i), rows.row(j));
                check::<f32>(&device, metric, found, &exact, (2, largest), "partitions");
            }
        }
    }
}

/// Of 8192 numbers the second term may be twice as large.
#[test]
fn long_rows_are_within_the_bound() {
    let dim = if small() { 5000 } else { 1 << 13 };
    let mut rows = Array2::from_elem((2, dim), 1f32);
    for (column, row) in rows.columns_mut().into_iter().enumerate() {
        let mut row = row;
        row[1] = 1.0 + f32::EPSILON * (column % 3) as f32;
    }
    rows[(0, 0)] = 1e30;
    rows[(1, 0)] = 1e30;
    let exact = square(rows.row(0), rows.row(1));
    for device in devices() {
        for metric in [L2, SquaredL2] {
            let found = Distances::new()
                .metric(metric)
                .pairwise(&device, rows.view())
                .unwrap();
            let of = (dim, magnitude(rows.view()));
            check::<f32>(&device, metric, found[(0, 1)], &exact, of, "long rows");
        }
    }
}

#[test]
fn distances_beyond_the_range_are_infinite() {
    let rows = array![[f64::MAX, f64::MAX], [-f64::MAX, f64::MAX], [f64::MAX, 0.0]];
    for device in devices() {
        let found = Distances::new().pairwise(&device, rows.view()).unwrap();
        assert_eq!(found[(0, 1)], f64::INFINITY, "{device}");
        assert_eq!(found[(0, 2)], f64::MAX, "{device}");
        let with = Distances::new().metric(SquaredL2);
        let found = with.pairwise(&device, rows.view()).unwrap();
        assert_eq!(found[(0, 2)], f64::INFINITY, "{device}");
    }
}
