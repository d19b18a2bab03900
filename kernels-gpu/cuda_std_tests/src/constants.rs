//! Statics in constant memory.

use cuda_std::address_space;
use cuda_std::prelude::*;

/// The coefficients of [`polynomial`], the lowest power first.
#[address_space(constant)]
pub static mut COEFFICIENTS: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

/// Numbers of several sizes, with padding between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam, PartialEq)]
pub struct Settings {
    /// A factor of all numbers.
    pub factor: u64,
    /// A byte, with three bytes of padding behind it.
    pub low: u8,
    /// Added to all numbers.
    pub offset: u32,
    /// Added to the numbers of odd threads.
    pub odd: [u16; 2],
}

/// Settings of [`set_numbers`].
#[address_space(constant)]
pub static mut SETTINGS: Settings = Settings {
    factor: 1,
    low: 2,
    offset: 3,
    odd: [4, 5],
};

/// A number that the host never sets, under a name that is given by hand.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut UNTOUCHED: u32 = 0x1234_5678;

/// A number that programs that call the driver can set: kernels must not take its initial value for
/// it.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static VISIBLE: u32 = 77;

/// The number of squares in the table of constant memory.
pub const TABLE_LEN: usize = 256;

/// The squares of 0, 1, …, which no host changes.
#[address_space(constant)]
static TABLE: [u32; TABLE_LEN] = {
    let mut table = [0; TABLE_LEN];
    let mut i = 0;
    while i < TABLE_LEN {
        table[i] = (i * i) as u32;
        i += 1;
    }
    table
};

/// Replaces each x by the polynomial at x.
///
/// # Safety
/// Nothing sets `COEFFICIENTS` during the launch.
#[kernel]
pub unsafe fn polynomial(values: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if let Some(value) = values.get_mut(i) {
        // SAFETY: the caller vouches for it.
        let coefficients = unsafe { COEFFICIENTS };
        let horner = |sum, &coefficient| sum * *value + coefficient;
        *value = coefficients.iter().rev().fold(0.0, horner);
    }
}

/// Gives thread i coefficient i modulo 4: another kernel with the same static, and an index that
/// differs within a warp.
///
/// # Safety
/// Nothing sets `COEFFICIENTS` during the launch.
#[kernel]
pub unsafe fn read_coefficients(out: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        // SAFETY: the caller vouches for it.
        *out = unsafe { COEFFICIENTS[i % 4] };
    }
}

/// Numbers made of all of the settings.
///
/// # Safety
/// Nothing sets `SETTINGS` during the launch.
#[kernel]
pub unsafe fn set_numbers(out: &mut [u64]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        // SAFETY: the caller vouches for it. The array is read where it is, as its index is not
        // constant.
        let (settings, odd) = unsafe { (SETTINGS, SETTINGS.odd[i / 2 % 2]) };
        let odd = odd as u64 * (i % 2) as u64;
        *out = i as u64 * settings.factor + settings.low as u64 + settings.offset as u64 + odd;
    }
}

/// Reads statics that nobody sets.
#[kernel]
pub fn initial_values(untouched: &mut [u32], squares: &mut [u32]) {
    let i = thread::index_1d() as usize;
    if let (Some(untouched), Some(square)) = (untouched.get_mut(i), squares.get_mut(i)) {
        // SAFETY: nothing sets it.
        *untouched = unsafe { UNTOUCHED } + VISIBLE;
        *square = TABLE[i % TABLE_LEN];
    }
}
