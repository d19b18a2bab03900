//! Tables from JSON: those that are accepted sketch as the reference does.

#![no_main]

use arbitrary::Arbitrary;
use files::tables::parse;
use gridstride::tensor_sketch::{Form, TensorSketch};
use gridstride_fuzz::Reference;
use gridstride_fuzz::cpu;
use libfuzzer_sys::fuzz_target;
use ndarray::ArrayView1;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    alphabet_size: u8,
    tuple: Option<u8>,
    dim: u8,
    text: &'a [u8],
}

fuzz_target!(|input: Input| {
    let (size, tuple) = (input.alphabet_size.into(), input.tuple.map(usize::from));
    let Ok(tables) = parse(input.text, size, tuple, input.dim.into()) else {
        return;
    };
    assert_eq!(
        (tables.alphabet_size(), tables.dim()),
        (size, input.dim.into())
    );
    assert!(tuple.is_none_or(|tuple| tuple == tables.tuple_length()));
    let codes: Vec<u8> = (0..12u8)
        .map(|place| (place * 5) % input.alphabet_size)
        .collect();
    let sketcher = TensorSketch::new(tables.clone()).form(Form::Direct);
    let row = sketcher
        .sketch_one(cpu(), ArrayView1::from(&codes))
        .unwrap();
    let reference = Reference::new(&tables, ArrayView1::from(&codes));
    reference.check_last_row(row.view(), false, Form::Direct);
});
