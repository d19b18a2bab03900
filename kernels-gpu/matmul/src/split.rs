//! Numbers of f32 as sums of three terms of bf16, for products of f32 by the instructions for bf16.
//!
//! The first term is the bf16 nearest to the number, the second one that nearest to what is left, and
//! the third one is the rest, which has at most 8 bits. Numbers below 2⁻¹¹⁰ are rounded to multiples
//! of 2⁻¹³³, the least bf16.
//!
//! The copy of a factor has four *sections*, matrices of its size that follow each other along k:
//! the first terms of all numbers, the first terms of finite ones, the second and the third terms.
//! In A they are in reverse. Sums of products of terms that are about equally small are then
//! products of neighbouring sections, none of which has to be there twice. Infinities and NaN are
//! only in the section that is multiplied by first terms: times a second term of zero, infinity
//! would be NaN.
//!
//! The kernel is memory-bound: 4 bytes are read and 8 written for a number. A thread has 32 numbers
//! on their way, and writes eight neighbours of a section at once.

use cuda_std::narrow::bf16_value;
use cuda_std::prelude::*;

use crate::cast::bf16_of_f32;
use crate::product::{read, write};

/// A factor, or a batch of them, to split. Elements with the smaller stride in the *copy* are
/// neighbours: along k or along the outer index.
///
/// A launch has a block in the x direction for each [`split_blocks`], and one in the z direction for
/// each matrix of the batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Splitting {
    /// Bits of the numbers; the memory begins at a multiple of 16 bytes.
    pub from: DeviceSlice<u32>,
    /// Where the first element of the first matrix is.
    pub start: i64,
    /// Strides between neighbours, rows of neighbours and matrices, in elements.
    pub strides: [i64; 3],
    /// Bits of the terms: a batch of four sections each, aligned to 16 bytes.
    pub to: DeviceSliceMut<u16>,
    /// Strides between rows, sections and matrices, in elements: multiples of 8.
    pub to_strides: [u64; 3],
    /// Neighbours and rows.
    pub lengths: [u32; 2],
    /// Neighbours and rows of a section, with zeros behind the numbers; the former are a multiple
    /// of 8.
    pub padded: [u32; 2],
    /// 1 if the sections are in reverse, else 0.
    pub is_reversed: u32,
}

/// Threads of a block.
pub const SPLIT_THREADS: u32 = 256;
/// Sections of a factor.
pub const SECTIONS: usize = 4;
const WARPS: u32 = SPLIT_THREADS / 32;
/// Neighbours that a thread writes at once.
const GROUP: u32 = 8;
/// Groups, and rows, of a block.
const SIDE: u32 = 32;

/// Blocks in the x direction for a section of that many neighbours and rows.
pub const fn split_blocks([neighbours, rows]: [u32; 2]) -> u32 {
    neighbours.div_ceil(GROUP * SIDE) * rows.div_ceil(SIDE)
}

/// Returns the bits of the elements of the four sections for the `f32` with these bits.
#[inline(always)]
pub fn terms_of_f32(bits: u32) -> [u16; SECTIONS] {
    const EXPONENT: u32 = 0x7f80;
    let nearest = bf16_of_f32(bits);
    // All bits of the exponent: infinities and NaN.
    if bits >> 16 & EXPONENT == EXPONENT {
        return [nearest, 0, 0, 0];
    }
    // The largest numbers round to infinity; they take the largest finite one.
    let is_too_large = nearest as u32 & EXPONENT == EXPONENT;
    let first = nearest - is_too_large as u16;
    // Both differences are exact: multiples of the number's last place, of fewer bits.
    let rest = f32::from_bits(bits) - bf16_value(first);
    let second = bf16_of_f32(rest.to_bits());
    let third = bf16_of_f32((rest - bf16_value(second)).to_bits());
    [first, first, second, third]
}

impl Splitting {
    /// The group and the row of this thread's numbers `i`.
    #[inline(always)]
    fn place(&self, i: u32) -> [u32; 2] {
        let across = self.padded[0].div_ceil(GROUP * SIDE);
        let block = thread::block_idx_x();
        let (lane, other) = (
            thread::thread_idx_x() % 32,
            thread::thread_idx_x() / 32 + i * WARPS,
        );
        // Neighbouring threads read what is closer to each other.
        let is_along = self.strides[0].unsigned_abs() <= self.strides[1].unsigned_abs();
        let (group, row) = if is_along {
            (lane, other)
        } else {
            (other, lane)
        };
        [block % across * SIDE + group, block / across * SIDE + row]
    }

    /// The numbers of a group; zeros for those that are not there.
    ///
    /// # Safety
    /// The launch is as [`Splitting`] says.
    #[inline(always)]
    unsafe fn read(&self, [group, row]: [u32; 2]) -> [u32; 8] {
        let mut numbers = [0; 8];
        let [near, far, matrix] = self.strides;
        let first = GROUP * group;
        if row >= self.lengths[1] || first >= self.lengths[0] {
            return numbers;
        }
        let start = self.start + thread::block_idx_z() as i64 * matrix + row as i64 * far;
        let place = |i: u32| (start + (first + i) as i64 * near) as usize;
        let is_aligned = near == 1 && (self.start | far | matrix) % 4 == 0;
        // SAFETY: only what is there is read, and 16 bytes where they are aligned.
        unsafe {
            if is_aligned && self.lengths[0] - first >= GROUP {
                self.from.address(place(7));
                let [low, high] = [0, 4].map(|i| read::<u32, 4>(self.from.address(place(i))));
                return [
                    low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3],
                ];
            }
            unrolled! { i in [0 1 2 3 4 5 6 7] {
                if first + (i as u32) < self.lengths[0] {
                    numbers[i] = self.from.at(place(i as u32));
                }
            }}
        }
        numbers
    }

    /// Writes the terms of a group.
    ///
    /// # Safety
    /// As of [`read`](Self::read); the group is this thread's own.
    #[inline(always)]
    unsafe fn write(&self, [group, row]: [u32; 2], numbers: [u32; 8]) {
        if row >= self.padded[1] || GROUP * group >= self.padded[0] {
            return;
        }
        let terms = numbers.map(terms_of_f32);
        let [far, section, matrix] = self.to_strides;
        let place = thread::block_idx_z() as u64 * matrix + row as u64 * far;
        let first = place + (GROUP * group) as u64;
        unrolled! { number in [0 1 2 3] {
            let at = if self.is_reversed != 0 { 3 - number } else { number };
            let place = (first + at as u64 * section) as usize;
            let pair = |i: usize| terms[2 * i][number] as u32 | (terms[2 * i + 1][number] as u32) << 16;
            // SAFETY: within the copy, at a multiple of 8 elements.
            unsafe {
                self.to.address(place + 7);
                let words = [pair(0), pair(1), pair(2), pair(3)];
                write(self.to.address(place).cast::<u32>(), words);
            }
        }}
    }
}

/// Splits numbers.
///
/// # Safety
/// The launch is as [`Splitting`] says.
#[kernel(block = 256)]
pub unsafe fn split_f32(task: Splitting) {
    let mut numbers = [[0; 8]; 4];
    unrolled! { i in [0 1 2 3] {
        // SAFETY: by the contract of this function, the launch is as `Splitting` says.
        numbers[i] = unsafe { task.read(task.place(i as u32)) };
    }}
    unrolled! { i in [0 1 2 3] {
        // SAFETY: by the contract of this function, the launch is as `Splitting` says, and no other
        // thread has this place.
        unsafe { task.write(task.place(i as u32), numbers[i]) };
    }}
}
