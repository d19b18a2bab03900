//! The matrix instructions of a warp: [`crate::mma`] on the host.

use super::access::{Access, AccessKind, AccessSite};
use super::lane::{dynamic_shared, lane};
use super::numbers::{Unpack, bf16s, f16s, f32s, f64s, tf32s};
use super::shared::DynamicShared;
use super::{Misuse, WarpOperation};
use crate::shared::SharedAddress;
use crate::warp::{WARP_SIZE, WarpValue};
use core::panic::Location;

const LANES: usize = WARP_SIZE as usize;

/// An instruction's shape, and how it reads its numbers.
#[derive(Clone, Copy)]
struct Instruction {
    k: usize,
    /// Whether a register has two elements, whose k follow each other.
    in_pairs: bool,
    numbers: Unpack,
    sums: Unpack,
    /// Registers of D and A in words.
    d_words: usize,
    a_words: usize,
    /// Elements of D in a lane.
    d_count: usize,
}

impl Instruction {
    /// Which of four lanes has the elements of this k, and as which of its elements the first row
    /// or column has it if `groups` registers have the same k.
    fn find(&self, k: usize, groups: usize) -> (usize, usize) {
        if self.in_pairs {
            (k % 8 / 2, k / 8 * 2 * groups + k % 2)
        } else {
            (k % 4, k / 4 * groups)
        }
    }

    /// Multiplies the matrices that the lanes hold, D, A and B one after the other. The products
    /// are exact; each is added, in the order of k, with one rounding of f64; sums in f32 are
    /// rounded once, at the end. A GPU that sums in f32 rounds or cuts after some products, which
    /// is left open.
    fn perform(&self, lanes: &mut [&mut [u32]]) {
        let mut a = [[0.0; 8]; LANES];
        let mut b = [[0.0; 4]; LANES];
        let mut d = [[0.0; 4]; LANES];
        for (lane, words) in lanes.iter().enumerate() {
            let (of_d, rest) = words.split_at(self.d_words);
            let (of_a, of_b) = rest.split_at(self.a_words);
            (self.sums)(of_d, &mut d[lane]);
            (self.numbers)(of_a, &mut a[lane]);
            (self.numbers)(of_b, &mut b[lane]);
        }
        // The two rows of a lane are in registers that follow each other.
        let next_row = if self.in_pairs { 2 } else { 1 };
        for (lane, words) in lanes.iter_mut().enumerate() {
            for i in 0..self.d_count {
                let (row, column) = (lane / 4, 2 * (lane % 4) + i % 2);
                let mut sum = d[lane][i];
                for k in 0..self.k {
                    let (among_four, of_a) = self.find(k, 2);
                    let (_, of_b) = self.find(k, 1);
                    let of_a = a[4 * row + among_four][of_a + i / 2 * next_row];
                    sum = of_a.mul_add(b[4 * column + among_four][of_b], sum);
                }
                if self.d_words == self.d_count {
                    words[i] = (sum as f32).to_bits();
                } else {
                    let bits = sum.to_bits();
                    (words[2 * i], words[2 * i + 1]) = (bits as u32, (bits >> 32) as u32);
                }
            }
        }
    }
}

/// Adds a number's words.
fn push(words: &mut Vec<u32>, number: impl WarpValue) {
    number.map_words(|word| {
        words.push(word);
        word
    });
}

macro_rules! instructions {
    ($($name:ident $operation:ident, k $k:literal $in_pairs:literal,
       $d:ident $sums:ident $d_count:literal, $input:ident $numbers:ident $a_count:literal $b_count:literal;)*) => {$(
        pub(crate) fn $name(
            d: &mut [$d; $d_count],
            a: [$input; $a_count],
            b: [$input; $b_count],
            site: &'static Location<'static>,
        ) {
            let mut words = Vec::with_capacity(20);
            d.iter().for_each(|&number| push(&mut words, number));
            let d_words = words.len();
            a.iter().for_each(|&number| push(&mut words, number));
            let a_words = words.len() - d_words;
            b.iter().for_each(|&number| push(&mut words, number));
            let instruction = Instruction {
                k: $k,
                in_pairs: $in_pairs,
                numbers: $numbers,
                sums: $sums,
                d_words,
                a_words,
                d_count: $d_count,
            };
            let perform = |lanes: &mut [&mut [u32]]| {
                instruction.perform(lanes);
                Ok(())
            };
            lane().collective(WarpOperation::$operation, &mut words, &perform, site);
            let mut words = words.into_iter();
            for number in d {
                *number = number.map_words(|word| words.next().unwrap_or(word));
            }
        }
    )*};
}

instructions! {
    m8n8k4_f64 M8n8k4F64, k 4 false, f64 f64s 2, f64 f64s 1 1;
    m16n8k4_f64 M16n8k4F64, k 4 false, f64 f64s 4, f64 f64s 2 1;
    m16n8k8_f64 M16n8k8F64, k 8 false, f64 f64s 4, f64 f64s 4 2;
    m16n8k8_tf32 M16n8k8Tf32, k 8 false, f32 f32s 4, u32 tf32s 4 2;
    m16n8k16_f16 M16n8k16F16, k 16 true, f32 f32s 4, u32 f16s 4 2;
    m16n8k16_bf16 M16n8k16Bf16, k 16 true, f32 f32s 4, u32 bf16s 4 2;
}

pub(crate) fn load_tiles(
    row: SharedAddress,
    transposed: bool,
    site: &'static Location<'static>,
) -> [u32; 4] {
    let shared = dynamic_shared(lane());
    lane().access(Access {
        address: shared.address(row.bits() as usize),
        bytes: 16,
        kind: AccessKind::Read,
        alignment: 1,
        site: AccessSite::Call(site),
    });
    let mut words = [row.bits(), 0, 0, 0];
    let perform = |lanes: &mut [&mut [u32]]| load(shared, transposed, lanes);
    lane().collective(WarpOperation::LoadTiles, &mut words, &perform, site);
    words
}

/// Gives every lane its elements of the four tiles whose rows the lanes give.
fn load(
    shared: DynamicShared,
    transposed: bool,
    lanes: &mut [&mut [u32]],
) -> Result<(), (usize, Misuse)> {
    let mut rows = [[0; 16]; LANES];
    for (lane, words) in lanes.iter().enumerate() {
        let row = shared.read("a row of load_tiles", words[0] as usize);
        rows[lane] = row.map_err(|misuse| (lane, misuse))?;
    }
    let element = |tile: usize, row: usize, column: usize| {
        let row = &rows[8 * tile + row];
        u32::from(u16::from_le_bytes([row[2 * column], row[2 * column + 1]]))
    };
    for (lane, words) in lanes.iter_mut().enumerate() {
        let (g, first) = (lane / 4, 2 * (lane % 4));
        for (tile, word) in words.iter_mut().enumerate() {
            let [low, high] = [first, first + 1].map(|other| {
                if transposed {
                    element(tile, other, g)
                } else {
                    element(tile, g, other)
                }
            });
            *word = high << 16 | low;
        }
    }
    Ok(())
}
