//! First rows of the matrices of sliding windows, from those of the pieces between all their ends.
//!
//! Windows of w letters begin at every s-th one. With q = ⌊w/s⌋ ≥ 1 and r = w mod s, the text is cut
//! at all multiples of s, and if r > 0 also r letters after each: stride k is a head of r letters and
//! a tail. Every q-th multiple of s is an anchor. Window i contains exactly one of the anchors from i
//! to i + q − 1, strides counted: it is what stands before the anchor, j strides, and what
//! stands behind it, q − j strides and a head. All q windows of an anchor are made from products that
//! grow from the anchor to the left and to the right, a piece at a time. So the work for a window
//! does not depend on its width, and nothing is ever subtracted.

use super::matrix::{Matrix, Stored, entry_index, identity, multiply};
use super::number::{Pair32, Pair64};
use super::{Complex, MAX_TUPLE, Number, square_of_z};
use cuda_std::prelude::*;

/// What a launch works on: the windows of some anchors, which stand beside each other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// Lanes that the matrices have in memory.
    pub lanes: u32,
    /// The number of the first of them: lane 0 differs from the others.
    pub first_lane: u32,
    /// 1 if the matrices are in `f32`, those of `singles`, else 0.
    pub from_singles: u32,
    /// Pieces of a stride: 2, head and tail, or 1 if there are no heads.
    pub pieces: u32,
    /// Strides between anchors, q.
    pub spacing: u32,
    /// The number of anchors.
    pub anchors: u32,
    /// The stride at which the first anchor stands, a multiple of `spacing`.
    pub first_anchor: u64,
    /// The stride of which the first matrix is the first piece.
    pub first_stride: u64,
    /// The number of matrices: windows whose pieces are not all there do not exist.
    pub matrices: u64,
    /// The number of windows of the whole text.
    pub windows: u64,
    /// The window whose result stands first.
    pub first_window: u64,
    /// Lanes that the results have in memory.
    pub out_lanes: u32,
    /// Where the first lane of this launch stands among them.
    pub out_lane: u32,
}

// SAFETY: `repr(C)` of primitives, without pointers.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl cuda_std::host::DeviceParam for Parameters {}

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// # Safety
/// - `singles` or `doubles` has `matrices` matrices of `lanes` lanes: the pieces of all strides from
///   `first_stride` on that the windows of the anchors contain.
/// - `suffixes` has T · `lanes` elements for each stride before each anchor, `spacing` of them.
/// - `out` has `out_lanes` elements for each window of the anchors.
#[inline(always)]
unsafe fn windows<const T: usize>(
    parameters: Parameters,
    singles: DeviceSlice<Pair32>,
    doubles: DeviceSlice<Pair64>,
    suffixes: DeviceSliceMut<Pair64>,
    out: DeviceSliceMut<Pair64>,
) {
    let Parameters {
        pieces,
        spacing,
        first_stride,
        windows,
        ..
    } = parameters;
    let lanes = parameters.lanes as usize;
    let stored = Stored {
        singles,
        doubles,
        are_singles: parameters.from_singles != 0,
        lanes,
    };
    // SAFETY: an entry of a matrix that is there.
    let load =
        |matrix: u64, index, lane| unsafe { stored.entry::<T>(matrix as usize, index, lane) };
    for item in thread::grid_stride(parameters.anchors as usize * lanes) {
        let (number, lane) = (item / lanes, item % lanes);
        let z2 = square_of_z(parameters.first_lane + lane as u32);
        let anchor = parameters.first_anchor + number as u64 * spacing as u64;
        let suffix = |j: u64, b: usize| {
            ((number as u64 * spacing as u64 + j) as usize * T + b - 1) * lanes + lane
        };

        // To the left: the first rows of what stands before the anchor.
        let mut rows = identity::<f64>();
        let mut j = 0;
        while j < spacing as u64 && j <= anchor {
            // Window anchor − j exists if any before it does.
            if j > 0 {
                let stride = (anchor - j - first_stride) * pieces as u64;
                let mut piece = pieces as u64;
                while piece > 0 {
                    piece -= 1;
                    prepend::<T>(&mut rows, |index| load(stride + piece, index, lane), z2);
                }
            }
            let mut b = 1;
            while b <= T {
                // SAFETY: this thread's own place.
                unsafe { suffixes.set(suffix(j, b), f64::pair(rows[0][b])) };
                b += 1;
            }
            j += 1;
        }

        // To the right, with a window at each step.
        let mut rows = identity::<f64>();
        let mut k = 0;
        while k <= spacing as u64 {
            let matrix = (anchor + k - first_stride) * pieces as u64;
            if pieces == 2 && matrix < parameters.matrices {
                multiply::<f64, T, T, T>(&mut rows, |index| load(matrix, index, lane), z2);
            }
            let window = (anchor + k).wrapping_sub(spacing as u64);
            if k > 0 && window < windows {
                let j = spacing as u64 - k;
                // SAFETY: written above by this thread.
                let left = |b: usize| f64::unpair(unsafe { suffixes.at(suffix(j, b)) });
                let last = joined::<T>(&rows, left, z2);
                let place = (window - parameters.first_window) as usize
                    * parameters.out_lanes as usize
                    + parameters.out_lane as usize
                    + lane;
                // SAFETY: the place of this window and lane.
                unsafe { out.set(place, f64::pair(last)) };
            }
            let last = matrix + pieces as u64 - 1;
            if k < spacing as u64 && last < parameters.matrices {
                multiply::<f64, T, T, T>(&mut rows, |index| load(last, index, lane), z2);
            }
            k += 1;
        }
    }
}

/// Entry (0, T) of the product of a matrix with this first row and of `right`.
#[inline(always)]
fn joined<const T: usize>(
    right: &Matrix<f64>,
    left: impl Fn(usize) -> Complex<f64>,
    z2: f64,
) -> Complex<f64> {
    let mut sum = right[0][T];
    let mut m = 1;
    while m < T {
        let p = right[m][T];
        sum = sum.plus_product(left(m), p, p.y * z2);
        m += 1;
    }
    sum.plus(left(T))
}

/// S ← P·S, from the first row on, since each reads those behind it as they were.
#[inline(always)]
fn prepend<const T: usize>(rows: &mut Matrix<f64>, load: impl Fn(usize) -> Complex<f64>, z2: f64) {
    prepend_row::<T, 0>(rows, &load, z2);
    prepend_row::<T, 1>(rows, &load, z2);
    prepend_row::<T, 2>(rows, &load, z2);
    prepend_row::<T, 3>(rows, &load, z2);
    prepend_row::<T, 4>(rows, &load, z2);
    prepend_row::<T, 5>(rows, &load, z2);
    prepend_row::<T, 6>(rows, &load, z2);
    prepend_row::<T, 7>(rows, &load, z2);
}

#[inline(always)]
fn prepend_row<const T: usize, const A: usize>(
    rows: &mut Matrix<f64>,
    load: &impl Fn(usize) -> Complex<f64>,
    z2: f64,
) {
    prepend_entry::<T, A, 1>(rows, load, z2);
    prepend_entry::<T, A, 2>(rows, load, z2);
    prepend_entry::<T, A, 3>(rows, load, z2);
    prepend_entry::<T, A, 4>(rows, load, z2);
    prepend_entry::<T, A, 5>(rows, load, z2);
    prepend_entry::<T, A, 6>(rows, load, z2);
    prepend_entry::<T, A, 7>(rows, load, z2);
    prepend_entry::<T, A, 8>(rows, load, z2);
}

/// What P_{A,M} adds to row A.
#[inline(always)]
fn prepend_entry<const T: usize, const A: usize, const M: usize>(
    rows: &mut Matrix<f64>,
    load: &impl Fn(usize) -> Complex<f64>,
    z2: f64,
) {
    if const { M <= A || M > T } {
        return;
    }
    let p = load(
        const {
            if M > A && M <= T {
                entry_index(T, A, M)
            } else {
                0
            }
        },
    );
    let y_z2 = p.y * z2;
    let mut b = M + 1;
    while b <= T {
        rows[A][b] = rows[A][b].plus_product(rows[if M < MAX_TUPLE { M } else { 0 }][b], p, y_z2);
        b += 1;
    }
    rows[A][M] = rows[A][M].plus(p);
}

macro_rules! windows_of {
    ($($name:ident = $tuple:literal;)*) => {$(
        #[doc = concat!("First rows of sliding windows for tuples of ", $tuple, ".")]
        ///
        /// # Safety
        /// As stated for the launch in `gridstride::tensor_sketch`: the pieces of all windows, with
        /// room for what stands before the anchors and for the results.
        #[kernel(max_block = 128)]
        pub unsafe fn $name(
            parameters: Parameters,
            singles: DeviceSlice<Pair32>,
            doubles: DeviceSlice<Pair64>,
            suffixes: DeviceSliceMut<Pair64>,
            out: DeviceSliceMut<Pair64>,
        ) {
            // SAFETY: passed on to the caller.
            unsafe { windows::<$tuple>(parameters, singles, doubles, suffixes, out) }
        }
    )*};
}

windows_of! {
    windows_1 = 1;
    windows_2 = 2;
    windows_3 = 3;
    windows_4 = 4;
    windows_5 = 5;
    windows_6 = 6;
    windows_7 = 7;
    windows_8 = 8;
}
