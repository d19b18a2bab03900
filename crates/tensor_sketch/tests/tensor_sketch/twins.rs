//! Calls that write to existing memory, and calls over sequences in a device's memory, have the
//! results of the plain calls.

use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, Array3, ArrayView1, ShapeBuilder, s};

use super::{FORMS, codes, has_double};
use test_support::{assert_error, devices, fails, fails_with};

fn texts() -> Sequences {
    let lengths = [0, 1, 70, 3000, 2];
    let texts = lengths.map(|length| codes(length, 4, length as u64));
    Sequences::from(texts.to_vec())
}

#[test]
fn sketches() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap()).normalize(true);
    for device in devices() {
        for form in FORMS {
            let sketcher = sketcher.clone().form(form);
            if has_double(&device, form) {
                check(&device, sketcher.clone().double(), &texts());
            }
            for texts in [texts(), Sequences::new()] {
                check(&device, sketcher.clone(), &texts);
            }
        }
    }
}

fn check<T: Entry>(device: &Device, sketcher: TensorSketch<T>, texts: &Sequences) {
    let count = texts.len();
    let nan = T::from_f64(f64::NAN);
    let expected = sketcher.sketch(device, texts).unwrap();
    let expected_rows = sketcher.sketch_rows(device, texts).unwrap();

    let mut out = Array2::from_elem((count, 33), nan);
    sketcher.sketch_into(device, texts, out.view_mut()).unwrap();
    assert_eq!(out, expected);
    let mut wide = Array2::from_elem((2 * count, 40), nan);
    let part = wide.slice_mut(s![..;-2, 4..37]);
    let both = [device.clone(), device.clone()];
    sketcher.sketch_into(&both, texts, part).unwrap();
    assert_eq!(wide.slice(s![..;-2, 4..37]), expected);
    let beside = wide.slice(s![.., ..4]);
    assert!(beside.iter().all(|entry| entry.to_f64().is_nan()));

    let mut out = Array3::from_elem((count, 4, 33), nan);
    sketcher
        .sketch_rows_into(device, texts, out.view_mut())
        .unwrap();
    assert_eq!(out, expected_rows);
    let mut columns = Array3::from_elem((count, 4, 33).f(), nan);
    sketcher
        .sketch_rows_into(device, texts, columns.view_mut())
        .unwrap();
    assert_eq!(columns, expected_rows);

    let on_device = texts.upload(device).unwrap();
    let found = sketcher.sketch_device(&on_device).unwrap();
    assert_eq!(found.download().unwrap(), expected);
    let found = sketcher.sketch_rows_device(&on_device).unwrap();
    assert_eq!(found.download().unwrap(), expected_rows);

    // The result on another stream.
    let stream = device.stream().unwrap();
    let other = device.on(&stream).unwrap();
    let mut out = other.upload(&Array2::from_elem((count, 33), nan)).unwrap();
    sketcher.sketch_device_into(&on_device, &mut out).unwrap();
    assert_eq!(out.download().unwrap(), expected);
    let mut out = other
        .upload(&Array3::from_elem((count, 4, 33), nan))
        .unwrap();
    sketcher
        .sketch_rows_device_into(&on_device, &mut out)
        .unwrap();
    assert_eq!(out.download().unwrap(), expected_rows);
}

#[test]
fn windows() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap()).normalize(true);
    let text = codes(700, 4, 1);
    for device in devices() {
        // None, without letters in common, of one run and of several, with heads.
        for (width, stride) in [(701, 1), (3, 7), (9, 9), (20, 1), (21, 2), (301, 2)] {
            check_windows(&device, &sketcher, &text, width, stride);
            check_windows(&device, &sketcher.clone().double(), &text, width, stride);
        }
    }
}

fn check_windows<T: Entry>(
    device: &Device,
    sketcher: &TensorSketch<T>,
    text: &[u8],
    width: usize,
    stride: usize,
) {
    let view = ArrayView1::from(text);
    let expected = sketcher.windows(device, view, width, stride).unwrap();
    let nan = Array2::from_elem(expected.dim(), T::from_f64(f64::NAN));
    let mut out = nan.clone();
    (sketcher.windows_into(device, view, width, stride, out.view_mut())).unwrap();
    assert_eq!(out, expected);
    let mut columns = Array2::zeros(expected.dim().f()).mapv(|zero: f32| T::from_f64(zero.into()));
    let columns_mut = columns.view_mut();
    (sketcher.windows_into(device, view, width, stride, columns_mut)).unwrap();
    assert_eq!(columns, expected);

    let on_device = Sequences::from_iter([text]).upload(device).unwrap();
    let found = sketcher.windows_device(&on_device, width, stride).unwrap();
    assert_eq!(found.download().unwrap(), expected);
    let mut out = device.upload(&nan).unwrap();
    (sketcher.windows_device_into(&on_device, width, stride, &mut out)).unwrap();
    assert_eq!(out.download().unwrap(), expected);
}

#[test]
fn what_is_refused() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap());
    let view = ArrayView1::from(&[0, 1, 2, 3]);
    let bad = Sequences::from(vec![vec![0, 1], vec![2, 7]]);
    for device in devices() {
        let mut out = Array2::zeros((5, 32));
        let error = sketcher.sketch_into(&device, &texts(), out.view_mut());
        assert_error!(&error, Error::Shape { .. });
        let text = |call: &str, shape: &str, of_out: &str| {
            format!("{call}: the result has the shape {shape}, but out has {of_out}")
        };
        fails_with(error, text("sketch_into", "[5, 33]", "[5, 32]"));
        let mut short = Array1::zeros(32);
        let error = sketcher.sketch_one_into(&device, view, short.view_mut());
        fails_with(error, text("sketch_one_into", "[33]", "[32]"));
        let error = sketcher.windows_into(&device, view, 2, 1, out.view_mut());
        fails_with(error, text("windows_into", "[3, 33]", "[5, 32]"));
        let mut rows = Array3::zeros((5, 3, 33));
        let error = sketcher.sketch_rows_into(&device, &texts(), rows.view_mut());
        let text = text("sketch_rows_into", "[5, 4, 33]", "[5, 3, 33]");
        fails(error, &[&text]);

        let on_device = texts().upload(&device).unwrap();
        let bad_there = bad.upload(&device).unwrap();
        let mut out = device.upload(&out).unwrap();
        let error = sketcher.sketch_device_into(&on_device, &mut out);
        fails(error, &["sketch_device_into: ", "[5, 33]"]);
        let error = sketcher.windows_device(&on_device, 2, 1);
        let text = "windows_device: windows are of one sequence, not of 5";
        fails_with(error, text);
        let mut out = Array2::zeros((2, 33));
        let into = sketcher.sketch_into(&device, &bad, out.view_mut());
        let rows = sketcher.sketch_rows(&device, &bad).map(drop);
        let rows_there = sketcher.sketch_rows_device(&bad_there).map(drop);
        for (error, call) in [
            (into, "sketch_into"),
            (
                sketcher.sketch_device(&bad_there).map(drop),
                "sketch_device",
            ),
            (rows_there, "sketch_rows_device"),
            (rows, "sketch_rows"),
        ] {
            assert_error!(&error, Error::InvalidInput { index: Some(1), .. });
            let place = "the code at position 1 of sequence 1 is 7";
            fails(error, &[&format!("{call}: {place}")]);
        }
        let error = sketcher.windows_into(&device, (&[0, 9, 0]).into(), 2, 1, out.view_mut());
        let text = "windows_into: the code at position 1 is 9";
        fails(error, &[text]);
    }
    let [.., last] = &devices()[..] else { return };
    let mut elsewhere = Device::cpu().upload(&Array2::zeros((5, 33))).unwrap();
    if last.kind() != Device::cpu().kind() {
        let error = sketcher.sketch_device_into(&texts().upload(last).unwrap(), &mut elsewhere);
        assert_error!(error, Error::DifferentDevices { .. });
    }
}

#[test]
fn the_direct_form_is_in_f32() {
    let sketcher = TensorSketch::new(Tables::from_seed(4, 3, 33, 4).unwrap());
    let sketcher = sketcher.form(Form::Direct).double();
    for device in devices() {
        if has_double(&device, Form::Direct) {
            continue;
        }
        let on_device = texts().upload(&device).unwrap();
        let error = sketcher.sketch_device(&on_device).map(|_| ());
        fails(error, &["sketch_device: on ", "computes in f32 alone"]);
        let plan = sketcher.plan(&device);
        fails(plan, &["plan: on ", "computes in f32 alone"]);
        let session = sketcher.session(&device);
        fails(session, &["SketchSession: on ", "computes in f32 alone"]);
    }
}

#[test]
fn offsets_that_are_wrong() {
    for (offsets, index) in [
        (vec![], None),
        (vec![1, 3], Some(0)),
        (vec![0, 2, 1, 3], Some(2)),
        (vec![0, 2], Some(1)),
    ] {
        let error = Sequences::from_concatenated(vec![0, 1, 2], offsets);
        assert_error!(error, Error::InvalidInput { index: at, .. } if *at == index);
    }
}
