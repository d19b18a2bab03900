//! First rows of the matrices of sliding windows, from those of the pieces between all their ends.
//!
//! Windows of w letters begin at every s-th one. With q = ⌊w/s⌋ ≥ 1 and r = w mod s, the text is
//! cut at all multiples of s, and if r > 0 also r letters after each: stride k is a head of r
//! letters and a tail. Strides are gathered into runs of L ≤ q. A window that begins in a run
//! consists of the rest of it, u whole runs, v + x strides and a head, where x counts the windows
//! of the run from 0 and q = (u + 1)·L + v. The products of u whole runs are made before, once for
//! each run; the others grow from the end of the run to the left and from the end of the whole runs
//! to the right, a piece at a time. So the work for a window does not depend on its width, and
//! nothing is ever subtracted.

use super::matrix::{Matrix, Stored, entry_index, identity, multiply, read};
use super::number::{Pair32, Pair64};
use super::{Complex, MAX_TUPLE, Number, entries, square_of_z};
use cuda_std::prelude::*;

/// The windows of a launch, which are neighbours, from the first stride on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Lanes that the matrices have in memory.
    pub lanes: u32,
    /// The number of the first of them: lane 0 differs from the others.
    pub first_lane: u32,
    /// 1 if the matrices of pieces are in `f32`, those of `singles`, else 0.
    pub from_singles: u32,
    /// Pieces of a stride: 2, head and tail, or 1 if there are no heads.
    pub pieces: u32,
    /// Strides in a run, L.
    pub run: u32,
    /// Whole runs in a window, u.
    pub whole_runs: u32,
    /// Strides behind them in the first window of a run, v.
    pub rest: u32,
    /// The number of windows.
    pub windows: u32,
    /// Lanes that the results have in memory.
    pub out_lanes: u32,
    /// Where the first lane of this launch stands among them.
    pub out_lane: u32,
}

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// The arrays of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Arrays {
    /// A matrix of `lanes` lanes for each piece of the windows, if they are in `f32`.
    pub singles: DeviceSlice<Pair32>,
    /// The same if they are in `f64`.
    pub doubles: DeviceSlice<Pair64>,
    /// A matrix for each run if there are whole ones: the product of those behind it.
    pub middles: DeviceSlice<Pair64>,
    /// Room for T · `lanes` elements for each window.
    pub suffixes: DeviceSliceMut<Pair64>,
    /// Room for `out_lanes` elements for each window.
    pub out: DeviceSliceMut<Pair64>,
}

/// # Safety
/// - A run has at least one stride, and no more than a window.
/// - The slices have the lengths that [`Arrays`] documents.
#[inline(always)]
unsafe fn windows<const T: usize>(parameters: Parameters, arrays: Arrays) {
    let Arrays {
        singles,
        doubles,
        middles,
        suffixes,
        out,
    } = arrays;
    let lanes = parameters.lanes as usize;
    let (length, windows) = (parameters.run as usize, parameters.windows as usize);
    let pieces = parameters.pieces as usize;
    let stored = Stored {
        singles,
        doubles,
        are_singles: parameters.from_singles != 0,
        lanes,
    };
    // SAFETY: an entry of a matrix that is there.
    let load = |matrix, index, lane| unsafe { stored.entry::<T>(matrix, index, lane) };
    let runs = windows.div_ceil(length);
    for item in thread::grid_stride(runs * lanes) {
        let (run, lane) = (item / lanes, item % lanes);
        let z2 = square_of_z(parameters.first_lane + lane as u32);
        let first = run * length;
        let suffix = |window: usize, b: usize| (window * T + b - 1) * lanes + lane;

        // To the left: first rows of what stands in the run.
        let mut rows = identity::<f64>();
        let mut stride = first + length;
        while stride > first {
            stride -= 1;
            let mut piece = pieces;
            while piece > 0 {
                piece -= 1;
                let matrix = stride * pieces + piece;
                prepend::<T>(&mut rows, |index| load(matrix, index, lane), z2);
            }
            let mut b = 1;
            while b <= T && stride < windows {
                // SAFETY: this thread's own place.
                unsafe { suffixes.set(suffix(stride, b), f64::pair(rows[0][b])) };
                b += 1;
            }
        }

        // To the right, in the end with a window at each step.
        let mut rows = identity::<f64>();
        if parameters.whole_runs > 0 {
            rows = read::<f64, T>(|index| {
                let place = (run * const { entries(T, T) } + index) * lanes + lane;
                // SAFETY: the matrix of this run.
                f64::unpair(unsafe { middles.at(place) })
            });
        }
        let behind = first + (1 + parameters.whole_runs as usize) * length;
        let mut matrix = behind * pieces;
        let mut before = parameters.rest;
        let mut window = first;
        let end = (first + length).min(windows);
        loop {
            if pieces == 2 {
                multiply::<f64, T, T, T>(&mut rows, |index| load(matrix, index, lane), z2);
                matrix += 1;
            }
            if before > 0 {
                before -= 1;
            } else {
                // SAFETY: written above by this thread.
                let left = |b: usize| f64::unpair(unsafe { suffixes.at(suffix(window, b)) });
                let joined = joined::<T>(&rows, left, z2);
                let place =
                    window * parameters.out_lanes as usize + parameters.out_lane as usize + lane;
                // SAFETY: the place of this window and lane.
                unsafe { out.set(place, f64::pair(joined)) };
                window += 1;
                if window == end {
                    break;
                }
            }
            // The matrices behind the head, up to the next head.
            multiply::<f64, T, T, T>(&mut rows, |index| load(matrix, index, lane), z2);
            matrix += 1;
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

/// Returns the product that P_{A,M} adds to row A.
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
    ($blocks:literal: $($name:ident = $tuple:literal;)*) => {$(
        #[doc = concat!("First rows of sliding windows for tuples of ", $tuple, ".")]
        ///
        /// # Safety
        /// As stated for the launch in `gridstride::tensor_sketch`: the pieces of all windows and
        /// the products of whole runs, of a stride at least and a window at most, with room for
        /// what stands in the runs and for the results.
        #[kernel(max_block = 128, min_blocks = $blocks)]
        pub unsafe fn $name(parameters: Parameters, arrays: Arrays) {
            // SAFETY: by the contract of this kernel, the arrays have the pieces, the products of
            // whole runs and room for the results, and runs are as long as `windows` asks.
            unsafe { windows::<$tuple>(parameters, arrays) }
        }
    )*};
}

// The blocks on a multiprocessor leave registers enough for the matrices, so that none is spilled.
windows_of! { 6: windows_1 = 1; windows_2 = 2; windows_3 = 3; }
windows_of! { 4: windows_4 = 4; }
windows_of! { 3: windows_5 = 5; windows_6 = 6; }
windows_of! { 2: windows_7 = 7; windows_8 = 8; }
