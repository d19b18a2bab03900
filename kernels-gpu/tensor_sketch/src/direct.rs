//! The direct form: the definition's recurrence in the real domain, one block per sequence.
//!
//! For each letter and each row k the recurrence adds row k, rotated and signed, to row k + 1. The
//! block keeps row k + 1 distributed over `lanes` threads, a multiple of 32, so that a warp works
//! on one row and every branch on k is uniform. Thread `lane` of a row owns its `VALUES` positions
//! lane, lane + lanes, lane + 2·lanes, … in registers: neighbouring threads touch neighbouring
//! words of shared memory, whatever the rotation.
//!
//! Only rows 1 to t − 1 are read by other threads, so only they are published in shared memory,
//! twice: while all read one copy, the owners write the other, and one barrier per letter is
//! enough. Row 0 never changes, and no thread reads row t.
//!
//! A published row is `VALUES · lanes` words long, at least D: a thread whose position is past D
//! computes a value that nobody uses, which costs less than a branch.

use cuda_std::prelude::*;

/// Letters staged through shared memory at a time.
pub const TILE: u32 = 1024;

/// The bit of a packed table entry that stands for the sign −1; the lower bits are the rotation.
pub const NEGATIVE: u32 = 1 << 31;

/// The arguments that all sequences of a launch share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Number of letters in the alphabet, A.
    pub alphabet: u32,
    /// Tuple length t.
    pub tuple: u32,
    /// Dimension D.
    pub dim: u32,
    /// Bits of a packed letter: 1, 2, 4 or 8.
    pub bits: u32,
    /// 1 to write rows 0 to t of each sequence, 0 to write row t alone.
    pub all_rows: u32,
    /// The factor of each match, a power of two: row k of the recurrence carries its k-th power,
    /// so that the rows of long sequences stay within the range of `f32`.
    pub step: f32,
}

/// The arrays of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Arrays<T> {
    /// The letters of all sequences, packed from the lowest bit of each element up, all below the
    /// alphabet's size.
    pub letters: DeviceSlice<u32>,
    /// Where each sequence begins, ascending, and where the last one ends.
    pub offsets: DeviceSlice<u64>,
    /// A sequence's number for each block.
    pub order: DeviceSlice<u32>,
    /// An entry for each letter and place of a tuple, with a rotation below the dimension.
    pub tables: DeviceSlice<u32>,
    /// A factor for each row of each sequence, t + 1 of them.
    pub scales: DeviceSlice<f32>,
    /// Room for the rows that are written, sequence after sequence.
    pub out: DeviceSliceMut<T>,
}

/// The dynamic shared memory of a launch in 32-bit words: two copies of t − 1 rows, the packed
/// tables, and the staged letters with one more that stands for the end.
pub const fn shared_words(parameters: &Parameters, row_length: u32) -> u64 {
    let rows = 2 * (parameters.tuple as u64 - 1) * row_length as u64;
    rows + parameters.alphabet as u64 * parameters.tuple as u64 + (TILE as u64 / 4 + 1)
}

/// Sketches sequence `order[block]`.
///
/// # Safety
/// - The slices have the lengths that [`Arrays`] documents.
/// - The block is (lanes, `tuple`), lanes a multiple of 32 and lanes × `VALUES` at least `dim`;
///   dynamic shared memory holds [`shared_words`] for rows of lanes × `VALUES`.
#[inline(always)]
unsafe fn direct<const VALUES: usize>(parameters: Parameters, arrays: Arrays<f32>) {
    let Arrays {
        letters,
        offsets,
        order,
        tables,
        scales,
        out,
    } = arrays;
    let Parameters {
        alphabet,
        tuple,
        dim,
        bits,
        all_rows,
        step,
    } = parameters;
    let (lanes, lane, k) = (
        thread::block_dim_x(),
        thread::thread_idx_x(),
        thread::thread_idx_y(),
    );
    let threads = lanes * tuple;
    let tid = thread::index_in_block();
    let row_length = lanes * VALUES as u32;
    let copy_length = (tuple - 1) * row_length;

    let rows = shared::dynamic_shared_mem::<f32>();
    // SAFETY: the three parts lie one after the other within `shared_words`.
    let (table, tile) = unsafe {
        let table = rows.add(2 * copy_length as usize).cast::<u32>();
        (table, table.add((alphabet * tuple) as usize).cast::<u8>())
    };

    let mut i = tid;
    while i < 2 * copy_length {
        // SAFETY: within the rows.
        unsafe { rows.add(i as usize).write(0.0) };
        i += threads;
    }
    let mut i = tid;
    while i < alphabet * tuple {
        // SAFETY: within the table, on both sides.
        unsafe { table.add(i as usize).write(tables.at(i as usize)) };
        i += threads;
    }

    // SAFETY: an entry per block, and an offset on both sides of each sequence.
    let (sequence, mut position, end) = unsafe {
        let sequence = order.at(thread::block_idx_x() as usize) as usize;
        (sequence, offsets.at(sequence), offsets.at(sequence + 1))
    };

    // Row k is published as number k − 1 of each copy; threads with k = 0 read none and those with
    // k = t − 1 write none, so these places are only reached where they exist. Subtracting from
    // the sum changes a place to the same one in the other copy.
    let mut source = k.wrapping_sub(1).wrapping_mul(row_length);
    let source_sum = copy_length.wrapping_add(source.wrapping_mul(2));
    let mut target = copy_length + k * row_length;
    let target_sum = copy_length + 2 * k * row_length;

    let mut own = [0.0f32; VALUES];
    while position < end {
        let count = (end - position).min(TILE as u64) as u32;
        let mut i = tid;
        while i <= count {
            // The letter past the end is only there to be read ahead of time: any code will do.
            let code = if i < count {
                let bit = (position + i as u64) * bits as u64;
                // SAFETY: below the sequence's end.
                let packed = unsafe { letters.at((bit / 32) as usize) };
                (packed >> (bit % 32) as u32 & ((1 << bits) - 1)) as u8
            } else {
                0
            };
            // SAFETY: `i` is at most TILE, and the tile has room for one more letter than that.
            unsafe { tile.add(i as usize).write(code) };
            i += threads;
        }
        thread::sync_threads();

        // SAFETY: codes are below `alphabet`, so entries are within the table.
        let entry_of = |i: u32| unsafe {
            table
                .add((tile.add(i as usize).read() as u32 * tuple + k) as usize)
                .read()
        };
        let mut entry = entry_of(0);
        let mut i = 0;
        while i < count {
            i += 1;
            // Read ahead, so that the two dependent reads wait behind this letter's work.
            let next = entry_of(i);
            let rotation = entry & !NEGATIVE;
            let factor = f32::from_bits(step.to_bits() | (entry & NEGATIVE));
            if k == 0 {
                // Row 0 is 1 at position 0, so rotated it is 1 at `rotation`.
                let mut v = 0;
                while v < VALUES {
                    if lane + v as u32 * lanes == rotation {
                        own[v] += factor;
                    }
                    v += 1;
                }
            } else {
                let first = lane as i32 - rotation as i32;
                let mut v = 0;
                while v < VALUES {
                    let from = first + (v as u32 * lanes) as i32;
                    let from = if from < 0 { from + dim as i32 } else { from };
                    // SAFETY: 0 ≤ from < row_length, and row k of the copy exists as k > 0.
                    let value =
                        unsafe { rows.add(source.wrapping_add(from as u32) as usize).read() };
                    own[v] = float::fma_f32(factor, value, own[v]);
                    v += 1;
                }
            }
            if k + 1 < tuple {
                let mut v = 0;
                while v < VALUES {
                    // SAFETY: within row k of the copy, written by its owner alone.
                    unsafe {
                        rows.add((target + lane + v as u32 * lanes) as usize)
                            .write(own[v])
                    };
                    v += 1;
                }
            }
            source = source_sum.wrapping_sub(source);
            target = target_sum - target;
            entry = next;
            thread::sync_threads();
        }
        position += count as u64;
    }

    let row = k + 1;
    if all_rows == 0 && row != tuple {
        return;
    }
    let rows_out = if all_rows != 0 { tuple as usize + 1 } else { 1 };
    let first = sequence * rows_out * dim as usize;
    if all_rows != 0 && k == 0 {
        let mut l = lane;
        while l < dim {
            // SAFETY: row 0 of this sequence.
            unsafe { out.set(first + l as usize, if l == 0 { 1.0 } else { 0.0 }) };
            l += lanes;
        }
    }
    // SAFETY: a scale per row.
    let scale = unsafe { scales.at(sequence * (tuple as usize + 1) + row as usize) };
    let base = first + (rows_out - 1).min(row as usize) * dim as usize;
    // As little as possible for each value, so that the loop is unrolled even where there are many:
    // otherwise `own` would have to lie in memory.
    let mut v = 0;
    while v < VALUES {
        let l = lane + v as u32 * lanes;
        if l < dim {
            // SAFETY: row `row` of this sequence (the only one if t alone is written).
            unsafe { out.set(base + l as usize, own[v] * scale) };
        }
        v += 1;
    }
}

macro_rules! entries {
    ($($name:ident = $values:literal;)*) => {$(
        #[doc = concat!("The direct form with ", $values, " values per thread.")]
        ///
        /// # Safety
        /// As stated in `gridstride::tensor_sketch`'s launch: arrays of matching lengths, codes
        /// below the alphabet, a block of (a multiple of 32) × `tuple` threads, and
        /// [`shared_words`] of dynamic shared memory.
        #[kernel(max_block = 1024)]
        pub unsafe fn $name(parameters: Parameters, arrays: Arrays<f32>) {
            // SAFETY: by the contract of this kernel, the slices have the lengths that `Arrays`
            // documents, the block has a multiple of 32 lanes for each of `tuple` rows, and dynamic
            // shared memory has `shared_words` for them.
            unsafe { direct::<$values>(parameters, arrays) }
        }
    )*};
}

entries! {
    direct_1 = 1;
    direct_2 = 2;
    direct_3 = 3;
    direct_4 = 4;
    direct_6 = 6;
    direct_8 = 8;
    direct_12 = 12;
    direct_16 = 16;
    direct_24 = 24;
    direct_32 = 32;
}
