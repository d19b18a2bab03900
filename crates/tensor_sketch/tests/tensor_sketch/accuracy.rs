//! Every entry of the tensor sketch, on every device and in every form, compared with the reference
//! within the bound derived in `common/sketch.rs`, for sizes around those where implementations
//! switch methods.

use approx::assert_abs_diff_eq;
use gridstride::Device;
use gridstride::tensor_sketch::{Form, Sequences, Tables, TensorSketch};
use ndarray::{Array1, ArrayView1};

use super::{CHUNK, FORMS, check, check_forms, codes};
use test_support::{self, devices};

const ALPHABETS: [usize; 5] = [4, 1, 20, 2, 256];
const DIMS: [usize; 13] = [1, 2, 3, 31, 32, 33, 64, 96, 97, 128, 255, 256, 1000];

/// Steps of one entry by one letter that a case may take: the simulator makes about ten million a
/// second.
const MOST_WORK: usize = 250_000;

fn lengths_around(powers: &[usize]) -> Vec<usize> {
    let longest = if test_support::small() {
        130
    } else {
        usize::MAX
    };
    let lengths = powers.iter().flat_map(|power| power - 1..=power + 1);
    lengths.filter(|&length| length < longest).collect()
}

/// Sequences around t letters, many in one call: every tuple length for dimensions up to 33, two for
/// larger ones.
#[test]
fn short_sequences_in_every_dimension() {
    for (i, dim) in DIMS.into_iter().enumerate() {
        for t in 1..=8 {
            if dim > 33 && (i + t) % 4 > 0 {
                continue;
            }
            let alphabet_size = ALPHABETS[(i + t) % ALPHABETS.len()];
            let tables = Tables::from_seed(alphabet_size, t, dim, i as u64).unwrap();
            let lengths = (0..10).chain(lengths_around(&[32]));
            let texts: Vec<_> = lengths
                .map(|n| codes(n, alphabet_size, (n * t) as u64))
                .collect();
            check(&tables, &texts.iter().collect());
        }
    }
}

/// For each length two shapes, different from length to length.
#[test]
fn long_sequences_in_some_shapes() {
    // In the Fourier form words have one letter more from 4·A^m letters on, threads take 128
    // letters, chunks have 2048, and 16 chunks are composed at a time.
    let lengths = lengths_around(&[64, 128, 256, 512, 1024, CHUNK, 16 * CHUNK]);
    for (i, n) in lengths.into_iter().enumerate() {
        // The direct form has no other path beyond its tiles of 1024 letters.
        let forms = match n <= CHUNK + 1 {
            true => &FORMS[..],
            false => &[Form::Fourier],
        };
        // 37 has no factor in common with the 104 shapes, so that they do not repeat.
        let shapes = (0..8 * DIMS.len()).map(|j| (11 * i + 37 * j) % (8 * DIMS.len()));
        let shapes = shapes.map(|shape| (shape % 8 + 1, DIMS[shape / 8]));
        for (t, dim) in shapes.filter(|(t, dim)| n * t * dim <= MOST_WORK).take(2) {
            let alphabet_size = ALPHABETS[(i + t + dim) % ALPHABETS.len()];
            let tables = Tables::from_seed(alphabet_size, t, dim, n as u64).unwrap();
            let text = codes(n, alphabet_size, dim as u64);
            check_forms(forms, &tables, &Sequences::from_iter([&text]));
        }
    }
}

#[test]
fn the_usual_shape_and_a_large_one() {
    let n = if test_support::small() { 200 } else { 2049 };
    for (t, dim) in [(4, 96), (4, 1000)] {
        let tables = Tables::from_seed(4, t, dim, 5).unwrap();
        check(&tables, &Sequences::from_iter([&codes(n, 4, 6)]));
    }
}

/// The shapes for which tuning.rs chooses each number of values per thread in turn.
#[test]
fn every_kernel_of_the_direct_form() {
    let shapes = [
        (4, 1),
        (4, 64),
        (4, 96),
        (4, 128),
        (1, 192),
        (8, 256),
        (5, 2100),
        (4, 4096),
        (8, 2100),
        (8, 4096),
    ];
    for (t, dim) in shapes {
        let tables = Tables::from_seed(4, t, dim, 12).unwrap();
        let longest = if test_support::small() { 10 } else { 45 };
        let texts = [0, 3, longest].map(|n| codes(n, 4, n as u64));
        check_forms(&[Form::Direct], &tables, &texts.iter().collect());
    }
}

/// The alphabets for which tuning.rs chooses each depth of operators, and a sketch with the
/// largest number of lanes.
#[test]
fn every_kernel_of_the_fourier_form() {
    let mut shapes: Vec<_> = (1..=8)
        .flat_map(|t| [3, 4, 6, 8, 16, 256].map(|alphabet_size| (alphabet_size, t, 33)))
        .collect();
    if !test_support::small() {
        shapes.push((4, 2, 4096));
    }
    for (alphabet_size, t, dim) in shapes {
        let tables = Tables::from_seed(alphabet_size, t, dim, 12).unwrap();
        let texts = [0, 7, 45].map(|n| codes(n, alphabet_size, n as u64));
        check_forms(&[Form::Fourier], &tables, &texts.iter().collect());
    }
}

/// Letters that are all the same give the largest sums.
#[test]
fn all_letters_equal() {
    for t in 1..=8 {
        let tables = Tables::from_seed(2, t, 33, t as u64).unwrap();
        let texts = [40, 500].map(|n| vec![1; n]);
        check(&tables, &texts.iter().collect());
    }
}

fn relative_error(values: Array1<f64>, expected: &Array1<f64>) -> f64 {
    let norm = |values: &Array1<f64>| values.dot(values).sqrt();
    norm(&(values - expected)) / norm(expected)
}

/// A sequence of several segments, and of one letter more than one.
#[test]
fn more_letters_than_a_segment() {
    let segment = 2048 * usize::pow(16, 3);
    let tables = Tables::from_seed(4, 2, 3, 5).unwrap();
    let direct = TensorSketch::new(tables.clone())
        .form(Form::Direct)
        .double();
    let sketcher = TensorSketch::new(tables).form(Form::Fourier);
    for device in devices()
        .into_iter()
        .filter(|device| !test_support::is_slow(device))
    {
        for length in [segment, segment + 1, 2 * segment + 12_345] {
            let text = Array1::from(codes(length, 4, length as u64));
            let expected = direct.sketch_one(&Device::cpu(), text.view()).unwrap();
            let single = sketcher.sketch_one(&device, text.view()).unwrap();
            let error = relative_error(single.mapv(f64::from), &expected);
            assert_abs_diff_eq!(error, 0.0, epsilon = 1e-6);
            let double = sketcher.clone().double();
            let double = double.sketch_one(&device, text.view()).unwrap();
            assert_abs_diff_eq!(relative_error(double, &expected), 0.0, epsilon = 1e-12);
        }
    }
}

/// Rounding errors of sums over few letters do not cancel, so the sums must be short.
#[test]
fn a_million_letters() {
    if test_support::small() {
        eprintln!("skipped: it takes a million letters");
        return;
    }
    let random = codes(1_000_000, 4, 1);
    let (equal, pair) = (vec![2; 1_000_000], [1, 3].repeat(500_000));
    for (seed, text) in (0..).zip([random, equal, pair]) {
        // 17 lanes are several of the groups that devices compute together; 8 are the kernels' largest.
        let dim = if seed == 0 { 34 } else { 16 };
        let tables = Tables::from_seed(4, 4, dim, seed).unwrap();
        let text = ArrayView1::from(&text);
        // In f64: γ_{10⁶}(2⁻⁵³) is 1e-10.
        let direct = TensorSketch::new(tables.clone())
            .form(Form::Direct)
            .double();
        let expected = direct.sketch_one(&Device::cpu(), text).unwrap();
        for device in devices() {
            // The error of the direct form grows with the square root of the length.
            let sketcher = TensorSketch::new(tables.clone()).form(Form::Fourier);
            let single = sketcher.sketch_one(&device, text).unwrap();
            let error = relative_error(single.mapv(f64::from), &expected);
            println!("{device}, seed {seed}: {error:e}");
            assert_abs_diff_eq!(error, 0.0, epsilon = 1e-6);
            let double = sketcher.double().sketch_one(&device, text).unwrap();
            let error = relative_error(double, &expected);
            assert_abs_diff_eq!(error, 0.0, epsilon = 1e-12);
        }
    }
}
