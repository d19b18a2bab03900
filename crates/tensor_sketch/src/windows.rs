//! Sketches of all windows of a sequence.
//!
//! # Algorithm
//! Windows of `width` letters begin every `stride` letters. With q = ⌊width / stride⌋ and r =
//! `width` mod `stride`, the text is cut into *strides* of `stride` letters, and each stride into
//! two *segments*: the *head*, its first r letters, and the *tail*. If r = 0, a stride is a single
//! segment. A window consists of q whole strides and the head of the next stride:
//!
//! ```text
//! window i = S(i) S(i+1) … S(i+q−1) H(i+q)        S(k): stride k, H(k): the head of stride k
//! ```
//!
//! In the Fourier form each factor is a matrix, and the window's matrix is their product (see
//! `fourier`). Matrices have inverses, but dividing the product by the factors that leave the
//! window would add up rounding errors from window to window. Instead, consecutive strides form
//! *runs*. Windows that begin in the same run share the strides between that run and the run in
//! which the first of these windows ends:
//!
//! ```text
//! window i = S(i) … S(end of the run − 1) · middle · S(…) … S(i+q−1) · H(i+q)
//! ```
//!
//! The left products are made from the end of a run backwards, the right products forwards, one
//! stride at a time, and the middle once for all windows of the run. So each window takes few
//! products of matrices, whatever its width, and depends only on its own letters. With one run per
//! window there is no middle, as in the algorithm for minima of sliding windows (M. van Herk, 'A
//! fast algorithm for local minimum and maximum filters'; J. Gil and M. Werman, 'Computing 2-D min,
//! median, and max filters').

use std::ops::Range;

use super::input::Windows;
use super::tuning::Runs;

/// The limits of a batch: its windows, and the letters in which these windows begin. A batch always
/// has room for one window for each stride of a window, also beyond these limits.
const MAX_WINDOWS: usize = 1 << 16;
const MAX_LETTERS: usize = 1 << 27;

impl Windows {
    /// Returns some of these windows.
    pub fn range(self, range: Range<usize>) -> Windows {
        Windows {
            first: self.first + range.start,
            count: range.len(),
            ..self
        }
    }

    /// Returns the whole strides of a window, q.
    pub fn strides(self) -> usize {
        self.width / self.stride
    }

    /// Returns the number of neighbouring windows that begin in a run. Partitions that begin at
    /// multiples of this number compute the same products as the whole.
    pub fn run(self) -> usize {
        match self.strides() {
            0 => 1,
            strides => Runs::new(strides as u64).length as usize,
        }
    }

    /// Returns the number of windows in a batch on a device, before it is rounded up to whole runs.
    pub fn together(self) -> usize {
        let most = MAX_WINDOWS.min(MAX_LETTERS / self.stride);
        most.max(self.strides())
    }

    /// Returns the segments of a stride: a head and a tail, or one if windows end where others
    /// begin.
    pub fn segments_per_stride(self) -> usize {
        match self.width.is_multiple_of(self.stride) {
            true => 1,
            false => 2,
        }
    }
}
