//! Names that are keywords, or that the attributes use themselves; types from macros, with
//! lifetimes and by paths.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::address_space;
use cuda_std::prelude::*;

/// `fn[0]` becomes the sum of `type`, plus `in`.
#[kernel(block = 1)]
pub fn r#match(r#type: &[u32], r#in: u32, r#fn: &mut [u32]) {
    r#fn[0] = r#type.iter().sum::<u32>() + r#in;
}

/// Has the names of the variables that the attribute adds, without its prefix. `arguments` becomes
/// the lengths and the sums of the others.
#[kernel(block = 1)]
pub fn thread(
    slice_0: &[u32],
    slice_0_length: u32,
    first: &[u32],
    offset: u32,
    number: &u32,
    arguments: &mut [u32],
) {
    arguments[0] = slice_0.len() as u32;
    arguments[1] = slice_0.iter().sum::<u32>() + slice_0_length;
    arguments[2] = first.len() as u32;
    arguments[3] = first.iter().sum::<u32>() + offset + number;
}

/// Statics beside a kernel, with names that variables of the expansion could have.
pub mod statics {
    #![allow(non_upper_case_globals)]
    use super::*;

    static address: u32 = 1;
    static arguments: [u32; 2] = [20, 300];
    const first: u32 = 4000;
    const offset: u32 = 50000;
    const slice_0: u32 = 600_000;

    /// `out[0]` becomes the sum of the statics and constants, plus `value`.
    #[kernel(block = 1)]
    pub fn add_statics(out: &mut [u32], value: &u32) {
        let sum: u32 = arguments.iter().sum();
        out[0] = address + sum + first + offset + slice_0 + value;
    }
}

/// Declares a kernel whose types are fragments: `out[0]` becomes the sum of all of its arguments.
macro_rules! sum {
    ($(#[$doc:meta])* $name:ident, $element:ty, $slice:ty, $out:ty) => {
        $(#[$doc])*
        #[kernel(block = 1)]
        pub fn $name(
            start: $element,
            values: &[$element],
            more: $slice,
            pair: &[$element; 2],
            out: $out,
        ) {
            let all = values.iter().chain(more).chain(pair);
            out[0] = all.fold(start, |sum, value| sum + *value);
        }
    };
}

sum! {
    /// The sum of floats.
    sum_f32, f32, &[f32], &mut [f32]
}
sum! {
    /// The sum of integers.
    sum_i64, i64, &[i64], &mut [i64; 1]
}

/// Indices of values, `start..end`, of which the lifetime is that of the values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The first index.
    pub start: u32,
    /// The index behind the last one.
    pub end: u32,
    /// The values.
    pub values: PhantomData<&'a [u32]>,
}

impl<'a> Row<'a> {
    fn of(self, values: &'a [u32]) -> &'a [u32] {
        &values[self.start as usize..self.end as usize]
    }
}

/// `sums[i]` becomes the sum of the values of row i, and the number of values in all `others`.
#[kernel(block = 1)]
pub fn rows<'values, 'a>(
    values: &'values [u32],
    rows: &'a [Row<'values>],
    others: &[self::Row<'_>],
    last: &'a Row<'values>,
    sums: &'a mut [[u32; 2]],
) where
    'values: 'a,
{
    let count = others.iter().map(|other| other.end - other.start).sum();
    for (row, sum) in rows.iter().chain([last]).zip(sums) {
        *sum = [row.of(values).iter().sum(), count];
    }
}

/// A constant with the name of another one.
pub mod first {
    use super::*;

    /// The first and second result.
    #[address_space(constant)]
    pub static mut CONSTANT: [u32; 2] = [10, 11];
}

/// A constant with the name of another one, in a module whose name is a keyword.
pub mod r#type {
    use super::*;

    /// The third result.
    #[address_space(constant)]
    pub static mut CONSTANT: u32 = 12;
}

/// The fourth result, under a name that is a keyword.
#[address_space(constant)]
#[allow(non_upper_case_globals)]
pub static mut r#loop: u32 = 13;

/// The fifth result, under another name in the PTX.
#[address_space(constant)]
#[unsafe(export_name = "GIVEN_NAME")]
pub static mut NAMED: u32 = 14;

/// Reads constants whose names are not unique, are keywords, or are given by hand.
///
/// # Safety
/// Nothing sets them during the launch.
#[kernel(block = 1)]
pub unsafe fn read_constants(out: &mut [u32; 5]) {
    // SAFETY: the caller vouches for it.
    unsafe {
        let [a, b] = first::CONSTANT;
        *out = [a, b, r#type::CONSTANT, r#loop, NAMED];
    }
}

/// Shared, without `mut` and outside of a function.
#[address_space(shared)]
static COUNT: AtomicU32 = AtomicU32::new(0);

fn add_to_count(value: u32) {
    COUNT.fetch_add(value, Ordering::Relaxed);
}

/// `out[i]` becomes the sum of the threads' numbers in block i, counted from i.
///
/// # Safety
/// `out` has an element per block.
#[kernel]
pub unsafe fn shared_count(out: DeviceSliceMut<u32>) {
    let (block, i) = (cuda_std::thread::block_idx_x(), cuda_std::thread::thread_idx_x());
    if i == 0 {
        COUNT.store(block, Ordering::Relaxed);
    }
    cuda_std::thread::sync_threads();
    add_to_count(i);
    cuda_std::thread::sync_threads();
    if i == 0 {
        // SAFETY: an element per block.
        unsafe { out.set(block as usize, COUNT.load(Ordering::Relaxed)) };
    }
}
