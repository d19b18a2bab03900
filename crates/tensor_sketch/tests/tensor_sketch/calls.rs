//! Tensor sketches whose results are known without computing them, and refused arguments, on every
//! device and in every form.

use gridstride::tensor_sketch::{Form, Sequences, Tables, TensorSketch, binomial};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, array, s};

use super::{CHUNK, FORMS, check, codes};
use test_support::{self, assert_error, devices, fails};

/// Returns the sketch in each form.
fn sketch_one(device: &Device, tables: &Tables, codes: &[u8]) -> [(Form, Array1<f32>); 2] {
    FORMS.map(|form| {
        let sketcher = TensorSketch::new(tables.clone()).form(form);
        (form, sketcher.sketch_one(device, codes.into()).unwrap())
    })
}

/// Returns a sketch with ±`value` at the place of the tuple of the first t letters.
fn at_one_place(tables: &Tables, codes: &[u8], value: f64) -> Array1<f32> {
    let tuple = || codes.iter().copied().zip(0..tables.tuple_length());
    let place: u32 = tuple().map(|(letter, k)| tables.hash(letter, k)).sum();
    let sign: i8 = tuple().map(|(letter, k)| tables.sign(letter, k)).product();
    let mut sketch = Array1::zeros(tables.dim());
    sketch[place as usize % tables.dim()] = (f64::from(sign) * value) as f32;
    sketch
}

#[test]
fn worked_by_hand() {
    // The tuples of 0 1 1 are (0, 1) twice and (1, 1): places 2 + 2 = 4 = 1 and 0 + 2 = 2 mod 3,
    // signs 1 · -1 and -1 · -1.
    let (hashes, signs) = (array![[2, 1], [0, 2]], array![[1, 1], [-1, -1]]);
    let tables = Tables::new(hashes.view(), signs.view(), 3).unwrap();
    let sketcher = TensorSketch::new(tables);
    let text = Sequences::from_iter([&[0, 1, 1]]);
    for device in devices() {
        for form in FORMS {
            let sketcher = sketcher.clone().form(form);
            let rows = sketcher.sketch_rows(&device, &text).unwrap();
            let expected = array![[[1.0, 0.0, 0.0], [-2.0, 0.0, 1.0], [0.0, -2.0, 1.0]]];
            assert_eq!(rows, expected);
            let normalized = sketcher.normalize(true);
            let rows = normalized.sketch_rows(&device, &text).unwrap();
            assert_eq!(rows, expected / array![[1.0], [3.0], [3.0]]);
        }
    }
}

#[test]
fn fewer_letters_than_a_tuple_give_zeros() {
    for device in devices() {
        for t in 1..=8 {
            let tables = Tables::from_seed(4, t, 32, 9).unwrap();
            let texts: Vec<_> = (0..t).map(|n| codes(n, 4, 1)).collect();
            let texts = Sequences::from(texts);
            for (form, normalize) in FORMS.into_iter().flat_map(|f| [(f, false), (f, true)]) {
                let sketcher = TensorSketch::new(tables.clone())
                    .form(form)
                    .normalize(normalize);
                let sketches = sketcher.sketch(&device, &texts).unwrap();
                assert_eq!(sketches, Array2::zeros((t, 32)));
            }
        }
    }
}

#[test]
fn one_tuple_falls_on_one_place() {
    for device in devices() {
        for t in 1..=8 {
            let tables = Tables::from_seed(20, t, 97, 2).unwrap();
            let text = codes(t, 20, 3);
            for (form, sketch) in sketch_one(&device, &tables, &text) {
                assert_eq!(sketch, at_one_place(&tables, &text, 1.0), "{form:?}");
            }
        }
    }
}

#[test]
fn equal_letters_fall_on_one_place() {
    for t in 1..=8 {
        let tables = Tables::from_seed(4, t, 96, 8).unwrap();
        // C(26, 8) is below 2^24.
        let expected = at_one_place(&tables, &[2; 26], binomial(26, t as u64));
        for device in devices() {
            let [(_, direct), _] = sketch_one(&device, &tables, &[2; 26]);
            assert_eq!(direct, expected);
        }
        check(&tables, &Sequences::from_iter([&[2; 26]]));
    }
}

#[test]
fn tuples_of_one_letter_are_counts() {
    let (hashes, signs) = (array![[3], [0], [3]], array![[1], [-1], [1]]);
    let tables = Tables::new(hashes.view(), signs.view(), 5).unwrap();
    for device in devices() {
        for (form, sketch) in sketch_one(&device, &tables, &[0, 0, 1, 2, 1, 1, 2, 0]) {
            assert_eq!(sketch, array![-3.0, 0.0, 0.0, 5.0, 0.0], "{form:?}");
        }
    }
}

#[test]
fn one_dimension_counts_all_tuples() {
    let tables = Tables::new(array![[0, 0, 0]].view(), array![[1, 1, 1]].view(), 1).unwrap();
    for device in devices() {
        for (form, sketch) in sketch_one(&device, &tables, &[0; 100]) {
            assert_eq!(sketch, array![161_700.0], "{form:?}");
        }
    }
}

#[test]
fn no_sequences() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 7, 0).unwrap());
    for device in devices() {
        let none = Sequences::new();
        assert_eq!(sketcher.sketch(&device, &none).unwrap().dim(), (0, 7));
        let rows = sketcher.sketch_rows(&device, &none).unwrap();
        assert_eq!(rows.dim(), (0, 4, 7));
    }
}

#[test]
fn many_sequences_of_mixed_length() {
    let count = if test_support::small() { 50 } else { 500 };
    let tables = Tables::from_seed(4, 3, 33, 4).unwrap();
    let texts = (0..count).map(|i| codes(i * i % 61 * (i % 3), 4, i as u64));
    check(&tables, &texts.collect::<Vec<_>>().iter().collect());
}

/// More than one thread looks their scales up.
#[test]
fn thousands_of_short_sequences() {
    let text = codes(23, 4, 3);
    let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 6, 4).unwrap()).normalize(true);
    for device in devices() {
        let prefixes: Sequences = (0..23).map(|length| &text[..length]).collect();
        let of_prefixes = sketcher.sketch(&device, &prefixes).unwrap();
        let many: Sequences = (0..9001).map(|i| &text[..i % 23]).collect();
        let sketches = sketcher.sketch(&device, &many).unwrap();
        for (i, sketch) in sketches.outer_iter().enumerate() {
            assert_eq!(sketch, of_prefixes.row(i % 23), "{device}, {i}");
        }
    }
}

#[test]
fn views_with_any_strides() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap());
    let codes = Array1::from(codes(90, 4, 5));
    let matrix = codes.to_shape((9, 10)).unwrap();
    let views = [
        codes.slice(s![..;-1]),
        codes.slice(s![1..;3]),
        codes.slice(s![5..80;-7]),
        codes.slice(s![..0]),
        matrix.column(3),
        matrix.row(4),
    ];
    for device in devices() {
        for form in FORMS {
            let sketcher = sketcher.clone().form(form);
            let together = sketcher
                .sketch(&device, &views.iter().copied().collect())
                .unwrap();
            for (view, row) in views.iter().zip(together.outer_iter()) {
                let packed = Array1::from(view.to_vec());
                assert_eq!(sketcher.sketch_one(&device, *view).unwrap(), row);
                assert_eq!(sketcher.sketch_one(&device, packed.view()).unwrap(), row);
            }
        }
    }
}

#[test]
fn the_same_from_run_to_run() {
    let tables = Tables::from_seed(4, 4, 96, 1).unwrap();
    let texts: Sequences = [500, 0, 900, 77].map(|n| codes(n, 4, 1)).iter().collect();
    let sketcher = TensorSketch::new(tables).normalize(true);
    for device in devices() {
        for form in FORMS {
            let sketcher = sketcher.clone().form(form);
            let first = sketcher.sketch(&device, &texts).unwrap();
            for _ in 0..5 {
                assert_eq!(sketcher.sketch(&device, &texts).unwrap(), first);
            }
        }
    }
}

/// Lengths that are sketched together with others, separately, and in several leaves.
#[test]
fn a_sketch_does_not_depend_on_others() {
    if test_support::small() {
        eprintln!("skipped: it takes 200 000 letters");
        return;
    }
    let tables = Tables::from_seed(4, 3, 40, 1).unwrap();
    let many = 16 * CHUNK;
    let lengths = [1, 63, 64, 512, 513, CHUNK, many, many + 1, 70_921];
    let texts = lengths.map(|n| codes(n, 4, n as u64));
    let sketcher = TensorSketch::new(tables).normalize(true);
    let device = Device::cpu();
    for form in FORMS {
        let sketcher = sketcher.clone().form(form);
        let together = sketcher.sketch(&device, &texts.iter().collect()).unwrap();
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1);
        let one_thread = one_thread.build().unwrap();
        for (text, row) in texts.iter().zip(together.outer_iter()) {
            let alone = one_thread.install(|| sketcher.sketch_one(&device, text.into()));
            assert_eq!(alone.unwrap(), row, "{form:?}, {} letters", text.len());
        }
    }
}

#[test]
fn codes_outside_the_alphabet_are_named() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 0).unwrap());
    // The second bad code stands earlier in its own sequence, the first is in an earlier one.
    let mut texts =
        [(0, 0), (0, 100_000), (0, 0), (3, 70_000), (9, 2)].map(|(code, n)| vec![code; n]);
    texts[3][69_000] = 4;
    texts[3][69_500] = 200;
    let texts: Sequences = texts.iter().collect();
    for device in devices() {
        assert_error!(sketcher.sketch(&device, &texts), Error::InvalidInput { .. });
        let place = "the code at position 69000 of sequence 3 is 4, but the tables have 4 letters";
        fails(sketcher.sketch(&device, &texts), &[place]);
        fails(
            sketcher.sketch_rows(&device, &texts),
            &["sketch_rows: ", place],
        );
        let error = sketcher.sketch_one(&device, array![0, 255].view());
        assert_error!(&error, Error::InvalidInput { index: Some(1), .. });
        fails(error, &["sketch_one: the code at position 1 is 255, but"]);
    }
}

#[test]
fn a_sketch_that_does_not_fit_a_block_is_refused() {
    let mut limits = simt::Limits::default();
    limits.shared_bytes = 48 << 10;
    let device = Device::simulator_with(simt::Simulator::default().limits(limits));
    let texts: Sequences = [[0; 10]].iter().collect();
    let sketcher = |dim| {
        let tables = Tables::from_seed(4, 4, dim, 1).unwrap();
        TensorSketch::new(tables).form(Form::Direct)
    };
    assert!(sketcher(1024).sketch(&device, &texts).is_ok());
    assert!(sketcher(1024).session(&device).is_ok());
    let room = format!("{device} has 49152");
    let too_large = sketcher(4096);
    fails(
        too_large.sketch(&device, &texts),
        &["sketch: ", "dimension 4096", &room],
    );
    fails(
        too_large.session(&device),
        &["SketchSession: ", "dimension 4096", &room],
    );
}

#[test]
fn a_sketch_beyond_f32_is_an_error() {
    if test_support::small() {
        eprintln!("skipped: it takes 250 000 letters to leave the range");
        return;
    }
    // C(250 000, 8) is 3.8e38, and the largest f32 3.4e38.
    let tables = Tables::new(Array2::zeros((1, 8)).view(), Array2::ones((1, 8)).view(), 1).unwrap();
    let texts: Sequences = [vec![0; 10], vec![0; 250_000]].iter().collect();
    for device in devices() {
        for form in FORMS {
            let sketcher = TensorSketch::new(tables.clone()).form(form);
            let error = sketcher.sketch(&device, &texts);
            assert_error!(&error, Error::Overflow { .. });
            let place = "the sketch of sequence 1 leaves the range of f32";
            fails(
                error,
                &[place, "use normalize(true), double() or shorter tuples"],
            );
        }
    }
}
