//! The matrix instructions of a warp group: [`crate::wgmma`] on the host.

use super::lane::{DynamicShared, lane};
use super::numbers::{Unpack, bf16s, f16s, tf32s};
use super::{Misuse, WarpOperation};
use crate::wgmma::Operand;
use core::panic::Location;
use std::collections::VecDeque;

/// Rows of A and of D.
const ROWS: usize = 64;
/// Bytes of a row of an atom, and of an atom.
const ROW: usize = 128;
const ATOM: usize = 8 * ROW;

/// What the numbers of A and B are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F16,
    Bf16,
    Tf32,
}

impl Type {
    fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
        }
    }

    fn unpack(self) -> Unpack {
        match self {
            Self::F16 => f16s,
            Self::Bf16 => bf16s,
            Self::Tf32 => tf32s,
        }
    }
}

/// An operand as the instruction finds it in shared memory.
#[derive(Clone, Copy, Debug)]
struct Tile {
    name: &'static str,
    start: usize,
    /// Bytes between atoms whose rows of A or columns of B follow each other, and between those whose
    /// k do.
    stride: usize,
    stride_k: usize,
    across: bool,
    /// Rows of A or columns of B.
    count: usize,
    element: usize,
}

impl Tile {
    fn new(
        name: &'static str,
        operand: Operand,
        across: bool,
        count: usize,
        element: usize,
    ) -> Result<Self, Misuse> {
        let bytes = |from: u32| (operand.bits() >> from & 0x3fff) as usize * 16;
        let [start, leading, second] = [0, 16, 32].map(bytes);
        let (stride, stride_k) = if across {
            (leading, second)
        } else {
            (second, 0)
        };
        // Along k an instruction may begin further on in the rows.
        let in_row = if across { 0 } else { start % ROW };
        for (what, value) in [
            ("the address of an operand's first atom", start - in_row),
            ("the distance of an operand's atoms", stride),
            ("the distance of an operand's atoms along k", stride_k),
        ] {
            if value % ATOM != 0 {
                return Err(Misuse::Misaligned {
                    what,
                    value,
                    alignment: ATOM,
                });
            }
        }
        if in_row + K_BYTES > ROW {
            return Err(Misuse::AcrossRows {
                operand: name,
                start: in_row,
            });
        }
        Ok(Self {
            name,
            start,
            stride,
            stride_k,
            across,
            count,
            element,
        })
    }

    /// The bits of the elements in words: for each k all rows or columns if rows run across k, else
    /// for each row or column all k.
    fn words(&self, shared: DynamicShared) -> Result<Vec<u32>, Misuse> {
        let mut words = Vec::with_capacity(self.count * K_BYTES / 4);
        // Pieces of 16 bytes stay together.
        if self.across {
            for k in 0..K_BYTES / self.element {
                let row = self.start + k / 8 * self.stride_k + k % 8 * ROW;
                for piece in 0..self.count * self.element / 16 {
                    let address = row + piece / 8 * self.stride + piece % 8 * 16;
                    self.read(shared, address, &mut words)?;
                }
            }
        } else {
            for i in 0..self.count {
                let row = self.start + i / 8 * self.stride + i % 8 * ROW;
                for piece in 0..K_BYTES / 16 {
                    self.read(shared, row + piece * 16, &mut words)?;
                }
            }
        }
        Ok(words)
    }

    /// Adds the piece that would be at `address` if pieces did not swap their places.
    fn read(
        &self,
        shared: DynamicShared,
        address: usize,
        words: &mut Vec<u32>,
    ) -> Result<(), Misuse> {
        let piece: [u8; 16] = shared.read(self.name, address ^ (address / ROW % 8 * 16))?;
        let (chunks, _) = piece.as_chunks();
        words.extend(chunks.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        Ok(())
    }

    /// The elements, for each k all rows or columns.
    fn numbers(&self, words: &[u32], unpack: Unpack) -> Vec<f64> {
        let length = K_BYTES / self.element;
        let mut numbers = vec![0.0; length * self.count];
        unpack(words, &mut numbers);
        if self.across {
            return numbers;
        }
        let at = |i: usize| numbers[i % self.count * length + i / self.count];
        (0..numbers.len()).map(at).collect()
    }
}

/// Bytes of k that an instruction takes.
const K_BYTES: usize = 32;

/// Both operands, and what was read from them.
#[derive(Clone, Copy, Debug)]
struct Issued {
    tiles: [Tile; 2],
    hash: u64,
    site: &'static Location<'static>,
}

impl Issued {
    fn check(&self, shared: DynamicShared) -> Result<(), Misuse> {
        let [a, b] = self.tiles;
        if hash(&a.words(shared)?, &b.words(shared)?) == self.hash {
            return Ok(());
        }
        Err(Misuse::OperandsOverwritten { issued: self.site })
    }
}

/// A number that other operands have hardly ever (FxHash).
fn hash(a: &[u32], b: &[u32]) -> u64 {
    a.iter().chain(b).fold(0, |hash: u64, &word| {
        (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

/// The instructions that a thread has not waited for.
#[derive(Debug, Default)]
pub struct Pending {
    /// Those that are not in a group yet.
    open: Vec<Issued>,
    groups: VecDeque<Vec<Issued>>,
}

/// Words that a thread hands in and gets back, before its sums.
const HEAD: usize = 4;

pub(crate) fn multiply(
    numbers: Type,
    sums: &mut [f32],
    a: Operand,
    b: Operand,
    across: &[bool],
    site: &'static Location<'static>,
) {
    let lane = lane();
    let shared = DynamicShared::of(lane);
    let columns = 2 * sums.len();
    let [a_across, b_across] = [0, 1].map(|i| across.get(i).copied().unwrap_or(false));
    let tiles = || -> Result<[Tile; 2], Misuse> {
        Ok([
            Tile::new("A of a wgmma", a, a_across, ROWS, numbers.bytes())?,
            Tile::new("B of a wgmma", b, b_across, columns, numbers.bytes())?,
        ])
    };
    let perform = |threads: &mut [&mut [u32]]| {
        let same = |words: &&mut [u32]| words[..HEAD] == threads[0][..HEAD];
        if let Some(other) = threads.iter().position(|words| !same(words)) {
            return Err((other, Misuse::OperandsDiffer));
        }
        perform(tiles, numbers.unpack(), shared, threads).map_err(|misuse| (0, misuse))
    };
    let halves = |operand: Operand| [operand.bits() as u32, (operand.bits() >> 32) as u32];
    let mut words = [halves(a), halves(b)].concat();
    words.extend(sums.iter().map(|sum| sum.to_bits()));
    let operation = if columns == 128 {
        WarpOperation::WgmmaN128
    } else {
        WarpOperation::WgmmaN256
    };
    lane.together(operation, &mut words, &perform, site);
    for (sum, &word) in sums.iter_mut().zip(&words[HEAD..]) {
        *sum = f32::from_bits(word);
    }
    // What cannot be decoded has been reported.
    if let Ok(tiles) = tiles() {
        let hash = u64::from(words[1]) << 32 | u64::from(words[0]);
        let mut pending = lane.pending_wgmma().borrow_mut();
        pending.open.push(Issued { tiles, hash, site });
    }
}

/// Gives every thread the hash of the operands and its sums. The products are exact; each is added, in
/// the order of k, with one rounding of f64, and the sum is rounded to f32 at the end. A GPU rounds or
/// cuts after some products, which is left open.
fn perform(
    tiles: impl Fn() -> Result<[Tile; 2], Misuse>,
    unpack: Unpack,
    shared: DynamicShared,
    threads: &mut [&mut [u32]],
) -> Result<(), Misuse> {
    let [a, b] = tiles()?;
    let (a_words, b_words) = (a.words(shared)?, b.words(shared)?);
    let hash = hash(&a_words, &b_words);
    let columns = b.count;
    let (a, b) = (a.numbers(&a_words, unpack), b.numbers(&b_words, unpack));
    let mut sums = vec![0.0; columns];
    for (row, first) in (0..ROWS).map(|row| (row, row / 16 * 32 + row % 8 * 4)) {
        // Where the threads of this row have its element of a column.
        let place = |column: usize| {
            let element = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
            (first + column % 8 / 2, HEAD + element)
        };
        for (column, sum) in sums.iter_mut().enumerate() {
            let (thread, element) = place(column);
            *sum = f64::from(f32::from_bits(threads[thread][element]));
        }
        for (of_a, of_b) in a.chunks_exact(ROWS).zip(b.chunks_exact(columns)) {
            let of_a = of_a[row];
            for (sum, of_b) in sums.iter_mut().zip(of_b) {
                *sum += of_a * of_b;
            }
        }
        for (column, &sum) in sums.iter().enumerate() {
            let (thread, element) = place(column);
            threads[thread][element] = (sum as f32).to_bits();
        }
    }
    for words in threads {
        (words[0], words[1]) = (hash as u32, (hash >> 32) as u32);
    }
    Ok(())
}

pub(crate) fn commit() {
    let mut pending = lane().pending_wgmma().borrow_mut();
    let group = core::mem::take(&mut pending.open);
    pending.groups.push_back(group);
}

pub(crate) fn wait(latest: u32, site: &'static Location<'static>) {
    let lane = lane();
    let shared = DynamicShared::of(lane);
    let finished: Vec<_> = {
        let mut pending = lane.pending_wgmma().borrow_mut();
        let count = pending.groups.len().saturating_sub(latest as usize);
        pending.groups.drain(..count).flatten().collect()
    };
    // The lanes of a warp have the same instructions, so that one of them looks for all.
    let perform = |_: &mut [&mut [u32]]| {
        let check = |issued: &Issued| issued.check(shared);
        finished
            .iter()
            .try_for_each(check)
            .map_err(|misuse| (0, misuse))
    };
    lane.together(WarpOperation::WgmmaWait, &mut [], &perform, site);
}
