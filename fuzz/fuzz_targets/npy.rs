//! Matrices from NPY files: the numbers are the bytes at the end of the file.

#![no_main]

use std::io::Cursor;
use std::path::Path;

use files::npy::NpyReader;
use half::{bf16, f16};
use libfuzzer_sys::fuzz_target;

/// Returns the numbers of a file in `f64`, in the order of the file.
fn numbers(file: &[u8], count: usize, type_name: &str) -> Vec<f64> {
    let size = match type_name {
        "f64" => 8,
        "f32" => 4,
        _ => 2,
    };
    let (header, numbers) = file.split_at(file.len() - count * size);
    let is_big_endian = header
        .windows(2)
        .any(|text| [b">f", b">V"].contains(&text.try_into().unwrap()));
    let number = |bytes: &[u8], is_big_endian: bool| match (size, is_big_endian) {
        (2, _) => {
            let [first, second] = bytes.try_into().unwrap();
            let bits = match is_big_endian {
                false => u16::from_le_bytes([first, second]),
                true => u16::from_be_bytes([first, second]),
            };
            match type_name {
                "f16" => f16::from_bits(bits).to_f64(),
                _ => bf16::from_bits(bits).to_f64(),
            }
        }
        (4, false) => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        (4, true) => f32::from_be_bytes(bytes.try_into().unwrap()).into(),
        (_, false) => f64::from_le_bytes(bytes.try_into().unwrap()),
        (_, true) => f64::from_be_bytes(bytes.try_into().unwrap()),
    };
    let numbers = numbers.chunks_exact(size);
    numbers.map(|bytes| number(bytes, is_big_endian)).collect()
}

fuzz_target!(|data: &[u8]| {
    let open = || NpyReader::new(Path::new(""), Box::new(Cursor::new(data.to_vec())));
    let Ok(reader) = open() else { return };
    let dim = reader.dim();
    if let Ok(stored) = reader.read::<f64>() {
        assert_eq!(stored.view().dim(), dim);
        let bits = |numbers: &[f64]| -> Vec<u64> {
            numbers.iter().map(|number| number.to_bits()).collect()
        };
        let found = bits(stored.rows.as_slice().unwrap());
        let expected = numbers(data, found.len(), stored.type_name);
        assert_eq!(found, bits(&expected));
    }
    if let Ok(stored) = open().unwrap().read::<f32>() {
        assert_eq!(stored.view().dim(), dim);
    }
});
