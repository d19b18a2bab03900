//! The operands of matrix instructions of a warp group, as they stand in shared memory.

use super::Misuse;
use super::numbers::{Unpack, bf16s, f16s, tf32s};
use super::shared::DynamicShared;
use crate::operand::Operand;
use core::panic::Location;
use std::collections::VecDeque;

/// Bytes of a row of an atom, and of an atom.
const ROW: usize = 128;
const ATOM: usize = 8 * ROW;

/// The type of the numbers of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F16,
    Bf16,
    Tf32,
}

impl Type {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::Tf32 => 4,
        }
    }

    pub(super) fn unpack(self) -> Unpack {
        match self {
            Self::F16 => f16s,
            Self::Bf16 => bf16s,
            Self::Tf32 => tf32s,
        }
    }
}

/// An operand as the instruction finds it in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    name: &'static str,
    start: usize,
    /// Bytes between atoms whose rows of A or columns of B follow each other, and between those
    /// whose k do.
    stride: usize,
    stride_k: usize,
    across: bool,
    /// Rows of A or columns of B.
    pub(super) count: usize,
    element: usize,
}

impl Tile {
    pub(super) fn new(
        name: &'static str,
        operand: Operand,
        across: bool,
        count: usize,
        element: usize,
        shared: DynamicShared,
    ) -> Result<Self, Misuse> {
        // An address takes two bits more than the instruction has for it, so that one that is out of
        // range stays so when `Operand::offset` counts on.
        let bytes = |from: u32| (operand.bits() >> from & 0xffff) as usize * 16;
        let [start, leading, second] = [0, 16, 32].map(bytes);
        // Alignment says nothing about what lies elsewhere.
        shared.require::<16>(name, start)?;
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
    pub(super) fn words(&self, shared: DynamicShared) -> Result<Vec<u32>, Misuse> {
        let mut words = Vec::with_capacity(self.count * K_BYTES / 4);
        for address in self.pieces() {
            let piece: [u8; 16] = shared.read(self.name, address)?;
            let (chunks, _) = piece.as_chunks();
            words.extend(chunks.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        }
        Ok(words)
    }

    /// The addresses of the pieces of 16 bytes, in the order of [`words`](Self::words).
    pub(super) fn pieces(&self) -> impl Iterator<Item = usize> {
        // Pieces stay together.
        let (rows, pieces) = if self.across {
            (K_BYTES / self.element, self.count * self.element / 16)
        } else {
            (self.count, K_BYTES / 16)
        };
        let Self {
            start,
            stride,
            stride_k,
            across,
            ..
        } = *self;
        let (by_row, by_piece) = if across {
            (stride_k, stride)
        } else {
            (stride, 0)
        };
        (0..rows).flat_map(move |row| {
            let row = start + row / 8 * by_row + row % 8 * ROW;
            (0..pieces).map(move |piece| {
                let address = row + piece / 8 * by_piece + piece % 8 * 16;
                // They swap their places in a row.
                address ^ (address / ROW % 8 * 16)
            })
        })
    }

    /// The elements, for each k all rows or columns.
    pub(super) fn numbers(&self, words: &[u32], unpack: Unpack) -> Vec<f64> {
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
pub(super) struct Issued {
    pub(super) tiles: [Tile; 2],
    pub(super) hash: u64,
    pub(super) site: &'static Location<'static>,
}

impl Issued {
    pub(super) fn check(&self, shared: DynamicShared) -> Result<(), Misuse> {
        let [a, b] = self.tiles;
        if hash(&a.words(shared)?, &b.words(shared)?) == self.hash {
            return Ok(());
        }
        Err(Misuse::OperandsOverwritten { issued: self.site })
    }
}

/// A number that other operands have hardly ever (FxHash).
pub(super) fn hash(a: &[u32], b: &[u32]) -> u64 {
    a.iter().chain(b).fold(0, |hash: u64, &word| {
        (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

/// The instructions that a thread has not waited for.
#[derive(Debug, Default)]
pub struct Pending {
    /// Instructions that are not in a group yet.
    pub(super) open: Vec<Issued>,
    pub(super) groups: VecDeque<Vec<Issued>>,
}
