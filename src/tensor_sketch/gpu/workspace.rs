//! The buffers of the Fourier form: the number of elements of each, which allocations and estimates both read.

use std::marker::PhantomData;

use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::entries;
use tensor_sketch_kernels::fourier::inverse::Scale;
use tensor_sketch_kernels::fourier::number::Pair64;
use tensor_sketch_kernels::fourier::words::Chunk;

use super::kernels::{HasKernels, Pair};
use super::letters::bits_for;
use crate::device::Buffer;
use crate::partition::bytes_of;
use crate::tensor_sketch::fourier::{CHUNK, lanes};
use crate::tensor_sketch::tables::Tables;
use crate::{Device, Result};

/// Lanes of a group at most.
const GROUP: usize = 8;

/// The sizes that buffers for entries of type `T` depend on.
pub struct Workspace<T> {
    tuple: usize,
    dim: usize,
    /// Bits of a packed letter.
    bits: u64,
    of: PhantomData<T>,
}

impl<T: HasKernels> Workspace<T> {
    pub fn new(tables: &Tables) -> Workspace<T> {
        Workspace {
            tuple: tables.tuple_length(),
            dim: tables.dim(),
            bits: u64::from(bits_for(tables.alphabet_size())),
            of: PhantomData,
        }
    }

    /// Returns the elements of matrices: `Pair<T>` of those of chunks, [`Pair64`] of products.
    pub fn matrices(&self, count: usize, lanes: usize) -> usize {
        count * entries(self.tuple, self.tuple) * lanes
    }

    /// Returns the elements, [`Pair64`], of `rows` rows of matrices for each of `count` sequences.
    pub fn rows(&self, count: usize, rows: usize, lanes: usize) -> usize {
        count * rows * lanes
    }

    /// Returns the elements, [`Pair64`], of the products from windows to the ends of their runs.
    pub fn suffixes(&self, windows: usize, lanes: usize) -> usize {
        self.rows(windows, self.tuple, lanes)
    }

    /// Returns the entries of `rows` rows of sketches.
    fn sketches(&self, count: usize, rows: usize) -> usize {
        count.saturating_mul(rows * self.dim)
    }

    /// Allocates `rows` rows of the sketches of `count` sequences or windows.
    pub fn allocate_sketches(
        &self,
        device: &Device,
        count: usize,
        rows: usize,
    ) -> Result<Buffer<T>> {
        device.alloc(self.sketches(count, rows))
    }

    fn letter_bytes(&self, letters: usize) -> u64 {
        letters as u64 * self.bits / 8
    }

    fn sketch_bytes(&self) -> usize {
        self.sketches(1, 1) * size_of::<T>()
    }

    /// Returns the bytes of the matrices of `count` chunks in a group of `width` lanes.
    pub fn matrix_bytes(&self, count: usize, width: usize) -> usize {
        self.matrices(count, width) * size_of::<Pair<T>>()
    }

    /// Returns the bytes of the products of `windows` windows in a group of `width` lanes.
    pub fn suffix_bytes(&self, windows: usize, width: usize) -> usize {
        self.suffixes(windows, width) * size_of::<Pair64>()
    }

    /// Estimates the bytes of a chunk that is a sequence: letters, `units` of words, places, matrices in a group of
    /// `width` lanes with an eighth more for products, rows in `all` lanes, scales, and the sketch.
    pub fn chunk_bytes(&self, units: u64, width: usize, all: usize) -> u64 {
        let places = size_of::<Chunk>() + size_of::<u32>() + 2 * size_of::<Run>();
        let matrices = self.matrix_bytes(1, width) * 9 / 8;
        let rows = self.rows(1, self.tuple, all) * size_of::<Pair64>();
        let scales = (self.tuple + 1) * size_of::<Scale>();
        let rest = places + matrices + rows + scales + self.sketch_bytes();
        self.letter_bytes(CHUNK) + units * size_of::<u128>() as u64 + rest as u64
    }

    /// Estimates the bytes of windows without letters in common, of a text of `letters` letters.
    pub fn separate_bytes(&self, letters: usize, windows: usize) -> u64 {
        let result = self.sketch_bytes() + 2 * size_of::<Run>();
        (self.letter_bytes(letters)).saturating_add(bytes_of(windows, result))
    }

    /// Estimates the bytes of `windows` windows of `strides` strides of `pieces` pieces each, which are worked on
    /// together in as few lanes at a time as can be.
    pub fn sliding_bytes(
        &self,
        letters: usize,
        windows: usize,
        strides: usize,
        pieces: usize,
    ) -> u64 {
        let all = lanes(self.dim);
        let width = all.min(GROUP);
        let matrices = self.matrix_bytes(pieces, width);
        let rows = self.rows(1, 1, all) * size_of::<Pair64>();
        let rows = self.suffix_bytes(1, width) + rows + self.sketch_bytes();
        self.letter_bytes(letters)
            .saturating_add(bytes_of(windows.saturating_add(strides), matrices))
            .saturating_add(bytes_of(windows, rows))
    }
}
