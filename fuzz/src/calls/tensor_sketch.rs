//! Tensor sketches.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Entry, Form, Tables, TensorSketch};
use ndarray::{Array3, ArrayView1, Axis};

use super::most;
use crate::inputs::{Strided, size};
use test_support::sketch::Reference;

/// Sketches sequences in any form and type.
pub fn tensor_sketch(device: &Device, u: &mut Unstructured) -> Result<()> {
    let Some(tables) = tables(u, most(device, 130, 40))? else {
        return Ok(());
    };
    let form = *u.choose(&[Form::Direct, Form::Fourier])?;
    let sketcher = TensorSketch::new(tables).form(form);
    match u.arbitrary()? {
        true => sketch(device, sketcher, form, u),
        false if most(device, 1, 0) == 1 || form == Form::Fourier => {
            sketch(device, sketcher.double(), form, u)
        }
        // Kernels have no such form.
        false => Ok(()),
    }
}

/// Draws tables; `None` if there are none of such sizes.
fn tables(u: &mut Unstructured, most_dim: usize) -> Result<Option<Tables>> {
    let letters = *u.choose(&[4, 1, 2, 20, 256, 0, 257])?;
    let (t, dim) = (u.int_in_range(0..=9)?, size(u, most_dim)?);
    if u.arbitrary()? {
        let tables = Tables::from_seed(letters, t, dim, u.arbitrary()?);
        let is_right = (1..=256).contains(&letters) && (1..=8).contains(&t) && dim > 0;
        assert_eq!(
            tables.is_ok(),
            is_right,
            "{letters} letters, t = {t}, D = {dim}"
        );
        return Ok(tables.ok());
    }
    let mut may_be_wrong = u.ratio(1, 8)?;
    let most = dim.max(1) as i64 - 1;
    let mut is_right = (1..=256).contains(&letters) && (1..=8).contains(&t) && dim > 0;
    let hashes = Strided::new(u, (letters, t), -1, |u| {
        if may_be_wrong && u.ratio(1, 16)? {
            let hash: i64 = u.arbitrary()?;
            is_right &= (0..=most).contains(&hash);
            may_be_wrong = false;
            return Ok(hash);
        }
        u.int_in_range(0..=most)
    })?;
    let signs = Strided::new(u, (letters, t), 0, |u| {
        Ok(if u.arbitrary()? { 1 } else { -1 })
    })?;
    let tables = Tables::new(hashes.view(), signs.view(), dim);
    assert_eq!(tables.is_ok(), is_right, "{tables:?}");
    Ok(tables.ok())
}

fn sketch<T: Entry>(
    device: &Device,
    sketcher: TensorSketch<T>,
    form: Form,
    u: &mut Unstructured,
) -> Result<()> {
    let tables = sketcher.tables().clone();
    let normalize = u.arbitrary()?;
    let sketcher = sketcher.normalize(normalize);
    let letters = tables.alphabet_size();
    let mut is_right = true;
    let mut texts = Vec::new();
    for _ in 0..size(u, 4)? {
        let length = size(u, most(device, 300, 60))?;
        let mut text = Vec::new();
        for _ in 0..length {
            let code: u8 = u.arbitrary()?;
            let code = (usize::from(code) % letters) as u8;
            text.push(code);
        }
        if letters < 256 && length > 0 && u.ratio(1, 16)? {
            let place = u.choose_index(length)?;
            text[place] = u.int_in_range(letters as u8..=255)?;
            is_right = false;
        }
        texts.push(text);
    }
    let sequences: Sequences = texts.iter().collect();
    let rows = sketcher.sketch_rows(device, &sequences);
    let last = sketcher.sketch(device, &sequences);
    let there = sequences.upload(device).unwrap();
    let rows_there = sketcher.sketch_rows_device(&there);
    let last_there = sketcher.sketch_device(&there);
    if !is_right {
        assert!(rows.is_err() && last.is_err());
        assert!(rows_there.is_err() && last_there.is_err());
        return Ok(());
    }
    let (rows, last): (Array3<T>, _) = (rows.unwrap(), last.unwrap());
    assert_eq!(rows_there.unwrap().download().unwrap(), rows);
    assert_eq!(last_there.unwrap().download().unwrap(), last);
    let t = tables.tuple_length();
    assert_eq!(rows.dim(), (texts.len(), t + 1, tables.dim()));
    assert_eq!(last.dim(), (texts.len(), tables.dim()));
    for (i, text) in texts.iter().enumerate() {
        let reference = Reference::new(&tables, ArrayView1::from(text));
        for (k, row) in rows.index_axis(Axis(0), i).outer_iter().enumerate() {
            reference.check_row(row, k, normalize, form);
        }
        reference.check_last_row(last.row(i), normalize, form);
    }
    Ok(())
}
