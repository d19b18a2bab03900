//! Records of CSV in blocks that are parsed in parallel, against csv's reader of the whole text.

#![no_main]

use arbitrary::Arbitrary;
use files::records::comparison::check;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    size: u8,
    step: u8,
    text: &'a [u8],
}

fuzz_target!(|input: Input| {
    let [size, step] = [input.size, input.step].map(|number| usize::from(number).max(1));
    check(input.text, size, step, b',');
});
