//! Properties of the tensor sketch, on random input, on every device and in every form.

use gridstride::Device;
use gridstride::tensor_sketch::{Form, Sequences, Tables, TensorSketch};
use ndarray::{Array1, Array3, ArrayView1, Axis};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{FORMS, check, columns_from, has_double};
use test_support::cases;
use test_support::devices;

/// Tables of up to five letters.
fn tables() -> impl Strategy<Value = Tables> {
    (1..=5usize, 1..=5usize, 1..=40usize, any::<u64>()).prop_map(|(alphabet_size, t, dim, seed)| {
        Tables::from_seed(alphabet_size, t, dim, seed).unwrap()
    })
}

/// Tables, and `count` sequences of fewer than `longest` of their letters.
fn tables_and_texts(
    count: impl Into<proptest::collection::SizeRange>,
    longest: usize,
) -> impl Strategy<Value = (Tables, Vec<Vec<u8>>)> {
    let count = count.into();
    tables().prop_flat_map(move |tables| {
        let letter = 0..tables.alphabet_size() as u8;
        (Just(tables), vec(vec(letter, 0..longest), count.clone()))
    })
}

/// Returns all rows in every way that is exact while C(n, t) is below 2²⁴: the direct form in
/// `f32`, and every form in `f64`.
fn exact_rows(device: &Device, tables: &Tables, sequences: &Sequences) -> Vec<Array3<f64>> {
    let sketcher = TensorSketch::new(tables.clone()).form(Form::Direct);
    let rows = sketcher.sketch_rows(device, sequences).unwrap();
    let mut ways = vec![rows.mapv(f64::from)];
    for form in FORMS {
        if has_double(device, form) {
            let sketcher = sketcher.clone().form(form).double();
            ways.push(sketcher.sketch_rows(device, sequences).unwrap());
        }
    }
    ways
}

fn convolve(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> {
    let dim = a.len();
    let mut result = Array1::zeros(dim);
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            result[(i + j) % dim] += x * y;
        }
    }
    result
}

proptest! {
    #![proptest_config(cases(64, 8))]

    #[test]
    fn every_entry_is_within_the_bound((tables, texts) in tables_and_texts(0..6, 80)) {
        check(&tables, &texts.iter().collect());
    }

    /// S_{a,b}(xy) = Σ_m S_{a,m}(x) ⊛ S_{m,b}(y) for all 0 ≤ a ≤ b ≤ t, where S_{a,b} is the sketch
    /// from row a to row b, made with columns a to b of the tables, and ⊛ the circular convolution.
    /// At these lengths all values are whole numbers below 2²⁴, so that both sides are exact.
    #[test]
    fn a_concatenation_is_composed_of_its_parts((tables, texts) in tables_and_texts(2, 20)) {
        let t = tables.tuple_length();
        let whole = texts.concat();
        let sequences = Sequences::from_iter([&texts[0], &texts[1], &whole]);
        for device in devices() {
            // From each row a < t: (x, y, xy) × (rows a to t) × D. From row t there is only row t.
            let from: Vec<Vec<Array3<f64>>> = (0..t)
                .map(|a| exact_rows(&device, &columns_from(&tables, a), &sequences))
                .collect();
            for way in 0..from[0].len() {
                let mut from: Vec<_> = from.iter().map(|ways| ways[way].clone()).collect();
                from.push(from[0].slice_axis(Axis(1), (0..1).into()).to_owned());
                let s = |a: usize, b: usize, sequence: usize| {
                    from[a].index_axis(Axis(0), sequence).index_axis_move(Axis(0), b - a)
                };
                for a in 0..=t {
                    for b in a..=t {
                        let composed = (a..=b)
                            .map(|m| convolve(s(a, m, 0), s(m, b, 1)))
                            .fold(Array1::zeros(tables.dim()), |sum, term| sum + term);
                        prop_assert_eq!(s(a, b, 2), composed, "S_{},{}", a, b);
                    }
                }
            }
        }
    }

    #[test]
    fn each_sequence_is_sketched_by_itself(
        (tables, texts) in tables_and_texts(1..8, 60),
        normalize: bool,
        rotation in 0..8usize,
    ) {
        let mut others = texts.clone();
        others.rotate_left(rotation % texts.len());
        others.reverse();
        for device in devices() {
            for form in FORMS {
                let sketcher = TensorSketch::new(tables.clone()).form(form).normalize(normalize);
                let sketches = sketcher.sketch(&device, &texts.iter().collect()).unwrap();
                let reordered = sketcher.sketch(&device, &others.iter().collect()).unwrap();
                for (text, sketch) in texts.iter().zip(sketches.outer_iter()) {
                    let alone = sketcher.sketch_one(&device, ArrayView1::from(text)).unwrap();
                    prop_assert_eq!(sketch, alone.view());
                    let place = others.iter().position(|other| other == text).unwrap();
                    prop_assert_eq!(sketch, reordered.row(place));
                }
            }
        }
    }

    #[test]
    fn a_session_is_the_same_however_it_is_divided(
        (tables, texts) in tables_and_texts(0..8, 60),
        steps in vec(1..30usize, 1..6),
        normalize: bool,
    ) {
        let sketcher = TensorSketch::new(tables).normalize(normalize);
        let mut steps = steps.iter().cycle();
        for device in devices() {
            let mut session = sketcher.session(&device).unwrap();
            let (mut taken, expected) = (0, sketcher.sketch(&device, &texts.iter().collect()).unwrap());
            for text in &texts {
                let mut left = &text[..];
                while !left.is_empty() {
                    let (now, later) = left.split_at(left.len().min(*steps.next().unwrap()));
                    session.push(now).unwrap();
                    left = later;
                }
                session.end_sequence().unwrap();
                for row in session.take_finished().unwrap().outer_iter() {
                    prop_assert_eq!(row, expected.row(taken));
                    taken += 1;
                }
            }
            prop_assert_eq!(session.finish().unwrap(), expected.slice_axis(Axis(0), (taken..).into()));
        }
    }

    #[test]
    fn concatenated_sequences_are_the_pushed_ones((_, texts) in tables_and_texts(0..8, 30)) {
        let pushed: Sequences = texts.iter().collect();
        let mut offsets = vec![0];
        for text in &texts {
            offsets.push(offsets[offsets.len() - 1] + text.len());
        }
        let given = Sequences::from_concatenated(texts.concat(), offsets).unwrap();
        prop_assert_eq!(given, pushed);
    }
}
