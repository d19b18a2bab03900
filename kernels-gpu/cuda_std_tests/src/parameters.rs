//! Parameters as Rust-CUDA's kernels have them: slices, references, arrays, structs and numbers of
//! any width.

use cuda_std::prelude::*;

/// `output[i] = input[i] + before · values of `more`` for each thread of `input`.
///
/// # Safety
/// Nobody else uses `output`; with more than one thread, an element of it each.
#[kernel]
pub fn scaled(input: &[u32], before: u8, more: &[u64], output: DeviceSliceMut<u64>) {
    let i = thread::global_index();
    if i < input.len() {
        let sum: u64 = more.iter().sum();
        // SAFETY: below the length, an element per thread.
        unsafe { output.set(i, input[i] as u64 + before as u64 * sum) };
    }
}

/// Writes the index of each thread, without a look at the length.
#[kernel]
pub fn unchecked_index(values: &mut [u32]) {
    let i = thread::global_index();
    values[i] = i as u32;
}

/// Lengths, and whether slices are empty.
#[kernel(block = 1)]
pub fn lengths<'a>(bytes: &'a [u8], triples: &'a [[f32; 3]], none: &mut [f64], out: &mut [u64]) {
    out[0] = bytes.len() as u64;
    out[1] = triples.len() as u64;
    out[2] = none.len() as u64;
    out[3] = bytes.is_empty() as u64;
    out[4] = none.is_empty() as u64;
    out[5] = none.iter().map(|v| v.to_bits()).sum();
    out[6] = size_of_val(triples) as u64;
    none.fill(1.0);
}

/// A struct of a kernel in Rust-CUDA's style: plain `Copy` data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The slope.
    pub slope: f64,
    /// Its value at 0.
    pub start: f32,
    /// How often it is applied.
    pub times: u8,
}

/// Through references: a struct that is read, an array that is written, and a number that is both.
#[kernel(block = 1)]
pub fn references(line: &Line, powers: &mut [f64; 4], count: &mut i16) {
    let mut value = line.start as f64;
    for power in powers {
        for _ in 0..line.times {
            value = value * line.slope + 1.0;
            *count -= 1;
        }
        *power = value;
    }
}

/// Arrays by value, the second of structs, and pointers to each.
///
/// # Safety
/// `out` has an element for each of them, `byte` one.
#[kernel(block = 1)]
pub unsafe fn arrays(shorts: [i16; 3], pairs: [[u8; 2]; 2], byte: *const u8, out: *mut i64) {
    let [[a, b], [c, d]] = pairs;
    // SAFETY: by the contract of this function, `out` has an element for each of them, `byte` one.
    let values = [a as i64, b as i64, c as i64, d as i64, unsafe { *byte }
        as i64];
    for (i, value) in shorts.iter().map(|&v| v as i64).chain(values).enumerate() {
        // SAFETY: three and five elements.
        unsafe { out.add(i).write(value) };
    }
}

/// The widest and the narrowest: 128 bits, a `bool` and a `char`.
///
/// # Safety
/// `out` has eight elements.
#[kernel(block = 1)]
pub unsafe fn extremes(
    yes: bool,
    wide: u128,
    no: bool,
    negative: i128,
    letter: char,
    out: DeviceSliceMut<u64>,
) {
    let results = [
        yes as u64,
        wide as u64,
        (wide >> 64) as u64,
        no as u64,
        negative as u64,
        (negative >> 64) as u64,
        letter as u64,
        if yes && !no { 1 } else { 2 },
    ];
    for (i, result) in results.into_iter().enumerate() {
        // SAFETY: eight elements.
        unsafe { out.set(i, result) };
    }
}
