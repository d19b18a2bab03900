//! Distances of few numbers, in one launch: each block looks for the largest magnitude itself.

use cuda_std::prelude::*;

use crate::largest::{LARGEST_THREADS, Largest, WORDS, largest_of_block};
use crate::number::Number;
use crate::scale::Scale;
use crate::tile::Parameters;

/// Words of shared memory of [`scaled`].
pub const FEW_WORDS: usize = 2 * WORDS;

/// Returns the parameters with the scale of the numbers in both arrays, `None` standing for `a`
/// again. The first block writes to `bad`, for each array, the complement of the index of the first
/// number that is NaN or infinite, or 0.
///
/// # Safety
/// The block has [`THREADS`](crate::THREADS) threads, `words` points to [`FEW_WORDS`] words of
/// shared memory, and `bad` has two elements.
#[inline(always)]
pub unsafe fn scaled<T: Number>(
    parameters: Parameters,
    a: DeviceSlice<T>,
    b: Option<DeviceSlice<T>>,
    bad: DeviceSliceMut<u64>,
    words: *mut u64,
) -> Parameters {
    let stride = LARGEST_THREADS as usize;
    // SAFETY: by the contract of this function, the block has `THREADS` threads, `words` points to
    // `FEW_WORDS` words of shared memory, and `bad` has two elements.
    let of_a = unsafe { largest_of_block(a, 0, stride, words) };
    let of_b = match b {
        // SAFETY: the block and `bad` are as for `a`; the second `WORDS` of the `FEW_WORDS` words
        // are for `b`.
        Some(b) => unsafe { largest_of_block(b, 0, stride, words.add(WORDS)) },
        None => Largest { bad: 0, ..of_a },
    };
    if thread::block_idx_x() == 0 && thread::thread_idx_x() == 0 {
        // SAFETY: there are two elements.
        unsafe {
            bad.set(0, of_a.bad);
            bad.set(1, of_b.bad);
        }
    }
    let largest = T::of_magnitude(of_a.magnitude.max(of_b.magnitude));
    let (dim, is_root) = (parameters.dim as usize, parameters.root != 0);
    let Scale { scale, unscale } = Scale::new(largest.widened(), dim, is_root, T::MAX_EXPONENT);
    Parameters {
        scale,
        unscale,
        ..parameters
    }
}
