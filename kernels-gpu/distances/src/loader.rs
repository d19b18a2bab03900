//! How the rows of an operand come to shared memory, chunk by chunk.

use cuda_std::prelude::*;

use crate::number::Number;

/// Columns that are in shared memory at a time.
pub const CHUNK: u32 = 8;

/// The most numbers of a row: the most for which `least_left` is an `i32`.
pub const MAX_DIM: u32 = i32::MAX as u32 - 15;

const _: () = assert!(least_left(MAX_DIM) >= i32::MIN as i64);

/// Returns the least value that [`Loader::left`] takes for any row, if the longest row of the tile
/// has `longest` numbers: that of an empty row, for the thread with the last columns, after it has
/// fetched all chunks of the longest row and the chunk behind the last one.
const fn least_left(longest: u32) -> i64 {
    // A thread loads at least two columns.
    let column = CHUNK - 2;
    let fetches = longest.div_ceil(CHUNK) + 1;
    -(column as i64) - fetches as i64 * CHUNK as i64
}

/// Two neighbours that are read or written with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Two<T>(pub [T; 2]);

/// Words between the columns of a chunk of `rows` rows. What is added keeps the lanes that write
/// `LOAD` words each of the same row off each other's banks.
pub const fn stride<T: Number>(rows: u32) -> u32 {
    rows + 2 * T::PACK
}

/// One thread's part in bringing the rows of an operand to shared memory: `LOAD` words of one row
/// in each chunk.
///
/// Columns past the end of a row are zero in both operands, and add nothing. With `RAGGED` rows
/// differ in length, and such columns are NaN, which the sums leave out.
pub struct Loader<T, const LOAD: usize, const RAGGED: bool> {
    /// Where its first number of the next chunk is in global memory, if there is one.
    next: *const T,
    /// How many columns of the row are left from there on, if positive.
    left: i32,
    /// The place of its first word in a chunk.
    place: u32,
    stride: u32,
}

/// Threads that load a row together.
#[inline(always)]
pub const fn threads_per_row<T: Number, const LOAD: usize>() -> u32 {
    CHUNK / T::PACK / LOAD as u32
}

impl<T: Number, const LOAD: usize, const RAGGED: bool> Loader<T, LOAD, RAGGED> {
    /// Loads a row of `length` numbers from `start` on, one of the `tile_rows` rows of the operand.
    /// The threads with the same [`row`](Self::row) have the same arguments.
    #[inline(always)]
    pub fn new(start: *const T, length: i32, tile_rows: u32) -> Self {
        let group = thread::thread_idx_x() % threads_per_row::<T, LOAD>() * LOAD as u32;
        let column = group * T::PACK;
        let stride = stride::<T>(tile_rows);
        Loader {
            next: start.wrapping_add(column as usize),
            left: length - column as i32,
            place: group * stride + Self::row(),
            stride,
        }
    }

    /// The row of the operand's tile that this thread loads.
    #[inline(always)]
    pub fn row() -> u32 {
        thread::thread_idx_x() / threads_per_row::<T, LOAD>()
    }

    /// Turns back by `chunks` chunks, and to a row of the same length that begins `numbers` numbers
    /// behind this one.
    #[inline(always)]
    pub fn turn(&mut self, chunks: u32, numbers: usize) {
        let columns = chunks * CHUNK;
        self.next = self
            .next
            .wrapping_sub(columns as usize)
            .wrapping_add(numbers);
        self.left += columns as i32;
    }

    /// Whether the next chunk has all of this thread's columns.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.left >= (LOAD as u32 * T::PACK) as i32
    }

    /// This thread's words of the next chunk.
    ///
    /// # Safety
    /// The row exists. `aligned` only if it begins at a multiple of 16 bytes and its length is a
    /// multiple of 4.
    #[inline(always)]
    pub unsafe fn fetch(&mut self, aligned: bool) -> [u64; LOAD] {
        let absent = if RAGGED { T::NAN } else { T::ZERO };
        let mut words = [T::pack(|_| absent); LOAD];
        if aligned {
            // With one of these columns all are in the row.
            if self.left > 0 {
                let mut i = 0;
                while i < LOAD {
                    // SAFETY: within the row, which begins, like every fourth number, at a multiple
                    // of 16 bytes.
                    let two = unsafe { self.next.cast::<Two<u64>>().add(i / 2).read() };
                    words[i] = two.0[0];
                    words[i + 1] = two.0[1];
                    i += 2;
                }
            }
        } else {
            let mut i = 0;
            while i < LOAD {
                words[i] = T::pack(|index| {
                    let column = i as u32 * T::PACK + index;
                    if (column as i32) < self.left {
                        // SAFETY: within the row.
                        unsafe { self.next.add(column as usize).read() }
                    } else {
                        absent
                    }
                });
                i += 1;
            }
        }
        self.next = self.next.wrapping_add(CHUNK as usize);
        self.left -= CHUNK as i32;
        words
    }

    /// Writes words to shared memory, scaled. The numbers in a word change places if `is_turned`.
    ///
    /// # Safety
    /// `chunk` has room for the operand's part of a chunk.
    #[inline(always)]
    pub unsafe fn put(&self, chunk: *mut u64, words: [u64; LOAD], scale: T, is_turned: bool) {
        let last = if is_turned { T::PACK - 1 } else { 0 };
        let mut i = 0;
        while i < LOAD {
            let scaled = T::pack(|index| T::unpack(words[i], index ^ last) * scale);
            let place = self.place + i as u32 * self.stride;
            // SAFETY: within the chunk.
            unsafe { chunk.add(place as usize).write(scaled) };
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_longer_row_can_be_counted_down() {
        assert_eq!(least_left(0), -6 - 8);
        assert_eq!(least_left(9), -6 - 3 * 8);
        assert!(least_left(MAX_DIM) >= i64::from(i32::MIN));
        assert!(least_left(MAX_DIM + 1) < i64::from(i32::MIN));
        // `turn` adds the columns of whole chunks.
        assert!(i32::try_from(MAX_DIM.div_ceil(CHUNK) * CHUNK).is_ok());
    }
}
