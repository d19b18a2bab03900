//! The number of elements of each buffer of the Fourier form, for the allocations and for the
//! estimates of their bytes. The buffers of a phase are allocated when it begins, and each phase
//! depends on the results of others, so that no single struct holds them.

use std::marker::PhantomData;

use gridstride_runtime::partition::bytes_of;
use gridstride_sequences::bits_for;
use tensor_sketch_kernels::fourier::Number;
use tensor_sketch_kernels::fourier::compose::Run;
use tensor_sketch_kernels::fourier::entries;
use tensor_sketch_kernels::fourier::inverse::Scale;
use tensor_sketch_kernels::fourier::number::Pair64;
use tensor_sketch_kernels::fourier::words::Chunk;

use super::fourier::{CHUNK, lanes};
use super::input::Windows;
use super::tables::Tables;

/// The most lanes in a group.
const GROUP: usize = 8;

/// The sizes that determine the buffers for entries of type `T`.
pub struct Workspace<T> {
    tuple: usize,
    dim: usize,
    /// Bits of a packed letter.
    bits: u64,
    of: PhantomData<T>,
}

impl<T: Number> Workspace<T> {
    pub fn new(tables: &Tables) -> Workspace<T> {
        Workspace {
            tuple: tables.tuple_length(),
            dim: tables.dim(),
            bits: u64::from(bits_for(tables.alphabet_size())),
            of: PhantomData,
        }
    }

    /// Returns the elements of matrices: `Pair<T>` for chunks, [`Pair64`] for products.
    pub fn matrices(&self, count: usize, lanes: usize) -> usize {
        count * entries(self.tuple, self.tuple) * lanes
    }

    /// Returns the elements, [`Pair64`], of products from the windows' starts to the runs' ends.
    pub fn suffixes(&self, windows: usize, lanes: usize) -> usize {
        windows * self.tuple * lanes
    }

    /// Returns the entries of `rows` rows of the sketches of `count` sequences.
    pub fn sketches(&self, count: usize, rows: usize) -> usize {
        count.saturating_mul(rows * self.dim)
    }

    pub fn matrix_bytes(&self, count: usize, lanes: usize) -> usize {
        self.matrices(count, lanes) * size_of::<T::Pair>()
    }

    pub fn suffix_bytes(&self, windows: usize, lanes: usize) -> usize {
        self.suffixes(windows, lanes) * size_of::<Pair64>()
    }

    fn letter_bytes(&self, letters: usize) -> u64 {
        letters as u64 * self.bits / 8
    }

    /// Estimates the bytes of a sequence of one chunk, whose words take `units` units: matrices in
    /// a group of `width` lanes, with an eighth more for products, and rows in `all` lanes.
    pub fn chunk_bytes(&self, units: u64, width: usize, all: usize) -> u64 {
        let places = size_of::<Chunk>() + size_of::<u32>() + 2 * size_of::<Run>();
        let matrices = self.matrix_bytes(1, width) * 9 / 8;
        let rows = self.tuple * all * size_of::<Pair64>();
        let scales = (self.tuple + 1) * size_of::<Scale>();
        let sketch = self.sketches(1, 1) * size_of::<T>();
        let rest = places + matrices + rows + scales + sketch;
        self.letter_bytes(CHUNK) + units * size_of::<u128>() as u64 + rest as u64
    }

    /// Estimates the bytes of a device's memory for the windows of a text of `letters` letters.
    /// Strides are computed in as few lanes at a time as possible. Windows without a whole stride
    /// have no letter in common, and need no matrices of strides.
    pub fn window_bytes(&self, letters: usize, of: Windows) -> u64 {
        let (strides, segments) = (of.strides(), of.segments_per_stride());
        let windows = match strides {
            0 => of.count,
            _ => of.count.min(of.together()),
        };
        let sketch = self.sketches(1, 1) * size_of::<T>();
        let (of_strides, of_window) = match strides {
            0 => (0, sketch + 2 * size_of::<Run>()),
            _ => {
                let all = lanes(self.dim);
                let width = all.min(GROUP);
                let matrices = bytes_of(
                    windows.saturating_add(strides),
                    self.matrix_bytes(segments, width),
                );
                let row = all * size_of::<Pair64>();
                (matrices, self.suffix_bytes(1, width) + row + sketch)
            }
        };
        (self.letter_bytes(letters))
            .saturating_add(of_strides)
            .saturating_add(bytes_of(windows, of_window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the estimate counted more than a group of lanes at a time, no partition would ever fit.
    #[test]
    fn wide_windows_need_little_memory() {
        let windows = |width, count| Windows {
            width,
            stride: 1,
            first: 0,
            count,
        };
        let narrow = Tables::from_seed(4, 4, 96, 0).unwrap();
        let all = Workspace::<f32>::new(&narrow).window_bytes(1_000_000, windows(99_000, 901_001));
        assert!((200 << 20..400 << 20).contains(&all), "{all}");
        let few = Workspace::<f32>::new(&narrow).window_bytes(99_099, windows(99_000, 100));
        assert!(few < 70 << 20, "{few}");
        let wide = Tables::from_seed(4, 4, 4096, 0).unwrap();
        let all = Workspace::<f64>::new(&wide).window_bytes(1_000_000, windows(200_000, 800_001));
        assert!((10 << 30..20 << 30).contains(&all), "{all}");
    }
}
