//! The tensor sketch, on every device and in every form.

mod accuracy;
mod adversarial;
mod calls;
mod devices;
mod properties;
mod twins;
mod windows;

use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use ndarray::{Axis, Slice};

use test_support::devices;
use test_support::sketch::{CHUNK, Reference, codes};

/// Returns the tables from column `first` on, which make the sketches S_{first, b}.
fn columns_from(tables: &Tables, first: usize) -> Tables {
    let columns = Slice::from(first..);
    let hashes = tables.hashes().mapv(i64::from);
    let signs = tables.signs().mapv(i64::from);
    let (hashes, signs) = (
        hashes.slice_axis(Axis(1), columns),
        signs.slice_axis(Axis(1), columns),
    );
    Tables::new(hashes, signs, tables.dim()).unwrap()
}

/// The forms in which all devices sketch.
const FORMS: [Form; 2] = [Form::Direct, Form::Fourier];

/// Whether a device sketches in `f64` in that form: kernels do not in the direct one.
fn has_double(device: &Device, form: Form) -> bool {
    device.kind() == DeviceKind::Cpu || form == Form::Fourier
}

/// Sketches `sequences` on every device and in every way, and compares each entry with the
/// reference.
fn check(tables: &Tables, sequences: &Sequences) {
    check_forms(&FORMS, tables, sequences);
}

/// As [`check`], but only in these forms.
fn check_forms(forms: &[Form], tables: &Tables, sequences: &Sequences) {
    let codes = (0..sequences.len()).map(|i| sequences.get(i).unwrap());
    let references: Vec<_> = codes.map(|codes| Reference::new(tables, codes)).collect();
    for device in devices() {
        for &form in forms {
            let sketcher = TensorSketch::new(tables.clone()).form(form);
            check_with(&device, sketcher.clone(), sequences, &references, form);
            if has_double(&device, form) {
                check_with(&device, sketcher.double(), sequences, &references, form);
            }
        }
    }
}

fn check_with<T: Entry>(
    device: &Device,
    sketcher: TensorSketch<T>,
    sequences: &Sequences,
    references: &[Reference],
    form: Form,
) {
    let tables = sketcher.tables();
    let t = tables.tuple_length();
    let sketchers = [false, true].map(|normalize| sketcher.clone().normalize(normalize));
    let made = sketchers.map(|sketcher| sketcher.sketch_rows(device, sequences).unwrap());
    let last = sketcher.sketch(device, sequences).unwrap();
    assert_eq!(last.dim(), (sequences.len(), tables.dim()));
    for (i, (last, reference)) in last.outer_iter().zip(references).enumerate() {
        for (rows, normalize) in made.iter().zip([false, true]) {
            assert_eq!(rows.dim(), (sequences.len(), t + 1, tables.dim()));
            for (k, row) in rows.index_axis(Axis(0), i).outer_iter().enumerate() {
                reference.check_row(row, k, normalize, form);
            }
        }
        reference.check_row(last, t, false, form);
    }
}
