//! Sketches whose terms cancel, or have all the same sign, on every device, against whole numbers,
//! within the bounds of the documentation of [`TensorSketch`].

use gridstride::device::DeviceKind;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use gridstride::{Device, Real};
use ndarray::{Array2, Array3, Axis};

use super::{CHUNK, FORMS, codes, has_double};
use test_support::exact::{Exact, U, is_within};
use test_support::{devices, is_slow, small};

/// The rows of a sketch by its definition. No entry is above C(n, k), for up to [`LONGEST`] letters
/// and t = 8 below 2¹²⁷.
fn rows(codes: &[u8], tables: &Tables, all_positive: bool) -> Array2<i128> {
    let (t, dim) = (tables.tuple_length(), tables.dim());
    let mut rows = Array2::zeros((t + 1, dim));
    rows[(0, 0)] = 1;
    for &code in codes {
        for k in (0..t).rev() {
            let sign = if all_positive {
                1
            } else {
                i128::from(tables.sign(code, k))
            };
            let hash = tables.hash(code, k) as usize;
            for place in 0..dim {
                let term = sign * rows[(k, place)];
                rows[(k + 1, (place + hash) % dim)] += term;
            }
        }
    }
    rows
}

/// C(n, k), for k up to 8.
fn binomial(n: usize, k: usize) -> i128 {
    (0..k as i128).fold(1, |product, i| product * (n as i128 - i).max(0) / (i + 1))
}

/// A text with the exact rows of its sketch, and those with all signs +1.
struct Text<'a> {
    codes: &'a [u8],
    exact: Array2<i128>,
    magnitudes: Array2<i128>,
}

impl<'a> Text<'a> {
    fn new(codes: &'a [u8], tables: &Tables) -> Text<'a> {
        Text {
            codes,
            exact: rows(codes, tables, false),
            magnitudes: rows(codes, tables, true),
        }
    }
}

/// Compares all rows of a sketch with the exact ones.
fn check<T: Entry>(
    device: &Device,
    form: Form,
    found: &Array3<T>,
    texts: &[Text],
    tables: &Tables,
    what: &str,
) {
    let (t, dim) = (tables.tuple_length(), tables.dim());
    let is_double = size_of::<T>() == 8;
    for (found, text) in found.outer_iter().zip(texts) {
        let n = text.codes.len();
        for ((k, place), &found) in found.indexed_iter() {
            let (exact, magnitude) = (text.exact[(k, place)], text.magnitudes[(k, place)]);
            let tuples = Exact::whole(binomial(n, k));
            let (value, magnitude) = (Exact::whole(exact), Exact::whole(magnitude));
            let (bound, is_exact) = match (form, device.kind()) {
                (Form::Direct, DeviceKind::Cpu) => {
                    let in_sum = Exact::gamma(n, U) * magnitude;
                    let last = Exact::from(T::UNIT_ROUNDOFF) * (value.abs() + in_sum.clone());
                    let is_exact = (0..=k).all(|j| binomial(n, j) < 1 << 53);
                    (
                        if is_exact {
                            last.clone()
                        } else {
                            in_sum + last
                        },
                        false,
                    )
                }
                (Form::Direct, _) => {
                    let is_exact = (0..=k).all(|j| binomial(n, j) < 1 << 24);
                    (Exact::gamma(n, f32::UNIT_ROUNDOFF) * magnitude, is_exact)
                }
                _ => {
                    let factor = match is_double {
                        true => (3200 * t + 2 * dim) as f64 * U,
                        false => (1500 * t) as f64 * f32::UNIT_ROUNDOFF,
                    };
                    let bound = Exact::from(factor) * tuples;
                    let is_exact = bound < Exact::power(-1);
                    (bound, is_exact)
                }
            };
            let bound = if is_exact { Exact::whole(0) } else { bound };
            assert!(
                is_within(found.to_f64(), &value, &bound),
                "{device}, {form:?} in {}, {what}, {n} letters, t = {t}, row {k}, entry {place}: \
                 {found:?} instead of {exact}",
                T::NAME
            );
        }
    }
}

fn check_all(texts: &[Vec<u8>], tables: &Tables, what: &str) {
    let sequences: Sequences = texts.iter().collect();
    let texts: Vec<_> = texts.iter().map(|codes| Text::new(codes, tables)).collect();
    for device in devices() {
        for form in FORMS {
            let sketcher = TensorSketch::new(tables.clone()).form(form);
            let found = sketcher.sketch_rows(&device, &sequences).unwrap();
            check(&device, form, &found, &texts, tables, what);
            if has_double(&device, form) {
                let found = sketcher.double().sketch_rows(&device, &sequences).unwrap();
                check(&device, form, &found, &texts, tables, what);
            }
        }
    }
}

/// Letters of the longest text.
const LONGEST: usize = 20_000;

/// Letters of the longest text for the devices at hand: where one is slow, a letter more than a chunk.
fn longest() -> usize {
    match devices().iter().any(is_slow) {
        true => CHUNK + 1,
        false => LONGEST,
    }
}

/// Texts of letters 0 and 1 around the lengths at which kernels change.
fn texts(longest: usize) -> Vec<Vec<u8>> {
    let lengths = [0, 1, 7, 40, 511, CHUNK + 1, LONGEST];
    let longest = if small() { 50 } else { longest };
    let lengths = lengths.into_iter().filter(|&length| length <= longest);
    let each = lengths.flat_map(|length| {
        let alternating = (0..length).map(|i| (i % 2) as u8).collect();
        let halves = (0..length).map(|i| u8::from(2 * i >= length)).collect();
        [
            vec![1; length],
            alternating,
            halves,
            codes(length, 2, length as u64),
        ]
    });
    each.collect()
}

/// All tuples fall on one place. The letters have opposite signs, so that nearly all of up to
/// C(n, t) terms cancel.
#[test]
fn terms_that_cancel() {
    for (t, dim) in [(1, 1), (3, 2), (4, 3), (8, 1)] {
        let signs = Array2::from_shape_fn((2, t), |(letter, _)| 1 - 2 * letter as i64);
        let tables = Tables::new(Array2::zeros((2, t)).view(), signs.view(), dim).unwrap();
        check_all(&texts(longest()), &tables, "cancelling");
        // The signs of the first letter of a tuple alone.
        let mut signs = Array2::ones((2, t));
        signs[(1, 0)] = -1;
        let tables = Tables::new(Array2::zeros((2, t)).view(), signs.view(), dim).unwrap();
        check_all(&texts(longest()), &tables, "cancelling by the first letter");
    }
}

/// Sums as large as they can be, beyond 2²⁴ and 2⁵³.
#[test]
fn terms_of_one_sign() {
    for (t, dim) in [(1, 1), (2, 5), (4, 3), (8, 2)] {
        let hashes = Array2::from_shape_fn((2, t), |(letter, k)| ((letter + k) % dim) as i64);
        for sign in [1, -1] {
            let signs = Array2::from_elem((2, t), sign);
            let tables = Tables::new(hashes.view(), signs.view(), dim).unwrap();
            check_all(&texts(longest()), &tables, "one sign");
        }
    }
}

/// Letters whose hashes go once around, so that each lane of the Fourier form turns by its own angle
/// with each letter, and its roundings do not average out.
#[test]
fn letters_that_turn_each_lane() {
    for dim in [7, 32] {
        for t in [1, 4] {
            let hashes = Array2::from_shape_fn((dim, t), |(letter, k)| ((letter + k) % dim) as i64);
            let signs = Array2::ones((dim, t));
            let tables = Tables::new(hashes.view(), signs.view(), dim).unwrap();
            let length = if small() { 60 } else { 3000 };
            let same = vec![1; length];
            let around = (0..length).map(|i| (i % dim) as u8).collect();
            check_all(&[same, around], &tables, "turning");
        }
    }
}

/// A normalised row is divided by C(n, k), with three more roundings.
#[test]
fn normalised_rows_are_quotients() {
    let t = 4;
    let signs = Array2::from_shape_fn((2, t), |(letter, _)| 1 - 2 * letter as i64);
    let tables = Tables::new(Array2::zeros((2, t)).view(), signs.view(), 1).unwrap();
    for text in texts(511).into_iter().filter(|text| text.len() >= t) {
        let n = text.len();
        let Text {
            exact, magnitudes, ..
        } = Text::new(&text, &tables);
        let sequences = Sequences::from_iter([&text]);
        for device in devices() {
            let sketcher = TensorSketch::new(tables.clone())
                .form(Form::Direct)
                .normalize(true);
            let found = sketcher.sketch_rows(&device, &sequences).unwrap();
            for ((k, place), &found) in found.index_axis(Axis(0), 0).indexed_iter() {
                // Times C(n, k), so that nothing is divided.
                let tuples = Exact::whole(binomial(n, k));
                let bound = Exact::gamma(n + 3, f32::UNIT_ROUNDOFF);
                let bound = bound * Exact::whole(magnitudes[(k, place)]);
                let error = Exact::from(f64::from(found)) * tuples;
                let error = (error - Exact::whole(exact[(k, place)])).abs();
                assert!(error <= bound, "{device}, row {k} of {n} letters: {found}");
            }
        }
    }
}
