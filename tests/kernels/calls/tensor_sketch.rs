use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use ndarray::{Array1, Array2, Array3, Axis, array, s};

use super::everywhere;
use test_support::devices;

/// Sketches that are not normalised are whole numbers, and exact while they are small.
#[test]
fn every_form_gives_the_same() {
    let tables = Tables::from_seed(4, 2, 16, 1).unwrap();
    let sketcher = TensorSketch::new(tables);
    let sequences = Sequences::from(vec![vec![0, 1, 2, 3, 3, 1], vec![3, 2, 1]]);
    let codes = array![0u8, 1, 2, 3, 3, 1];
    let plain = &devices()[0];
    let rows = sketcher.sketch_rows(plain, &sequences).unwrap();
    let sketches = rows.index_axis(Axis(1), 2).to_owned();
    let windows = sketcher.windows(plain, codes.view(), 3, 2).unwrap();
    everywhere(|device, set| {
        let is = |found: Array2<f32>| assert_eq!(found, sketches, "{device}");
        let is_rows = |found: Array3<f32>| assert_eq!(found, rows, "{device}");
        let is_windows = |found: Array2<f32>| assert_eq!(found, windows, "{device}");

        is(sketcher.sketch(device, &sequences).unwrap());
        is(sketcher.sketch(set, &sequences).unwrap());
        is_rows(sketcher.sketch_rows(device, &sequences).unwrap());
        is_rows(sketcher.sketch_rows(set, &sequences).unwrap());
        is_windows(sketcher.windows(device, codes.view(), 3, 2).unwrap());
        is_windows(sketcher.windows(set, codes.view(), 3, 2).unwrap());
        let one = sketcher.sketch_one(device, codes.view()).unwrap();
        assert_eq!(one, sketches.row(0), "{device}");
        let mut out = Array1::from_elem(one.len(), f32::NAN);
        sketcher
            .sketch_one_into(set, codes.view(), out.view_mut())
            .unwrap();
        assert_eq!(out, sketches.row(0), "{device}");

        let mut out = Array2::from_elem(sketches.dim(), f32::NAN);
        sketcher
            .sketch_into(device, &sequences, out.view_mut())
            .unwrap();
        is(out);
        let mut out = Array3::from_elem(rows.dim(), f32::NAN);
        sketcher
            .sketch_rows_into(set, &sequences, out.view_mut())
            .unwrap();
        is_rows(out);
        let mut out = Array2::from_elem(windows.dim(), f32::NAN);
        sketcher
            .windows_into(device, codes.view(), 3, 2, out.view_mut())
            .unwrap();
        is_windows(out);

        let mut session = sketcher.session(device).unwrap();
        for piece in [&[0u8, 1][..], &[2, 3, 3, 1]] {
            session.push(piece).unwrap();
        }
        session.end_sequence().unwrap();
        assert_eq!(
            session.finish().unwrap(),
            sketches.slice(s![..1, ..]),
            "{device}"
        );

        let on_device = sequences.upload(device).unwrap();
        is(sketcher
            .sketch_device(&on_device)
            .unwrap()
            .download()
            .unwrap());
        is_rows(
            sketcher
                .sketch_rows_device(&on_device)
                .unwrap()
                .download()
                .unwrap(),
        );
        let single = Sequences::from_iter([&codes]).upload(device).unwrap();
        is_windows(
            sketcher
                .windows_device(&single, 3, 2)
                .unwrap()
                .download()
                .unwrap(),
        );
        let mut out = device
            .upload(&Array2::from_elem(sketches.dim(), f32::NAN))
            .unwrap();
        sketcher.sketch_device_into(&on_device, &mut out).unwrap();
        is(out.download().unwrap());
        let mut out = device
            .upload(&Array3::from_elem(rows.dim(), f32::NAN))
            .unwrap();
        sketcher
            .sketch_rows_device_into(&on_device, &mut out)
            .unwrap();
        is_rows(out.download().unwrap());
        let mut out = device
            .upload(&Array2::from_elem(windows.dim(), f32::NAN))
            .unwrap();
        sketcher
            .windows_device_into(&single, 3, 2, &mut out)
            .unwrap();
        is_windows(out.download().unwrap());
    });
}
