//! Products of matrices at equal distances, in `f64` whatever the matrices of chunks are in.

use super::matrix::{Stored, identity, multiply, store, widened};
use super::number::{Pair32, Pair64};
use super::{Number, entries, square_of_z};
use cuda_std::prelude::*;

/// Where the matrices lie that a launch multiplies, and what it makes of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Lanes that the matrices have in memory.
    pub lanes: u32,
    /// The number of the first of them: lane 0 differs from the others.
    pub first_lane: u32,
    /// 1 if the matrices are in `f32`, those of `singles`, else 0.
    pub from_singles: u32,
    /// 1 to make whole matrices, 0 to make first rows.
    pub matrices: u32,
    /// The number of products.
    pub products: u32,
    /// Lanes that the results have in memory.
    pub out_lanes: u32,
    /// Where the first lane of this launch stands among them.
    pub out_lane: u32,
    /// The first entry of a first row that is written, 1 for all rows or t for the last alone.
    pub first_row: u32,
    /// From one matrix of a product to the next one: 1 for neighbours.
    pub distance: u32,
}

/// Matrices that are multiplied, from left to right.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Run {
    /// The number of the first.
    pub first: u32,
    /// Number of matrices; 0 gives the identity.
    pub count: u32,
    /// The number of the result.
    pub result: u32,
    /// 1 if the result is there already and stands to the left of the matrices, else 0. Only for
    /// first rows, all of whose entries are written.
    pub append: u32,
}

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// # Safety
/// - The runs are of matrices that `singles` or `doubles` has, `lanes` lanes each.
/// - `out` has `entries(T, T)` (or T + 1 − `first_row`) × `out_lanes` elements for each result.
#[inline(always)]
unsafe fn compose<const T: usize>(
    parameters: Parameters,
    runs: DeviceSlice<Run>,
    singles: DeviceSlice<Pair32>,
    doubles: DeviceSlice<Pair64>,
    out: DeviceSliceMut<Pair64>,
) {
    let lanes = parameters.lanes as usize;
    let stored = Stored {
        singles,
        doubles,
        are_singles: parameters.from_singles != 0,
        lanes,
    };
    // SAFETY: an entry of a matrix that is there.
    let load = |matrix, index, lane| unsafe { stored.entry::<T>(matrix, index, lane) };
    for item in thread::grid_stride(parameters.products as usize * lanes) {
        let lane = item % lanes;
        // SAFETY: a run for each product.
        let run = unsafe { runs.at(item / lanes) };
        let z2 = square_of_z(parameters.first_lane + lane as u32);
        let out_lane = parameters.out_lane as usize + lane;
        let mut rows = identity::<f64>();
        if parameters.matrices != 0 {
            let distance = parameters.distance as usize;
            let mut next = run.first as usize;
            let end = next + run.count as usize * distance;
            if const { T <= 4 } && stored.are_singles {
                // All entries of the next matrix are on their way while this one is multiplied.
                // Loads where they are needed would wait for memory one after the other.
                // SAFETY: a matrix that is there.
                let read = |matrix| unsafe { stored.singles::<T>(matrix, lane) };
                let mut ahead = if next < end {
                    read(next)
                } else {
                    [Pair32::ZERO; 10]
                };
                while next < end {
                    let entries = ahead;
                    next += distance;
                    if next < end {
                        ahead = read(next);
                    }
                    multiply::<f64, T, T, T>(&mut rows, |index| widened(entries[index]), z2);
                }
            }
            while next < end {
                multiply::<f64, T, T, T>(&mut rows, |index| load(next, index, lane), z2);
                next += distance;
            }
            let result = run.result as usize * const { entries(T, T) };
            store::<f64, T>(&rows, |index, value| {
                let place = (result + index) * parameters.out_lanes as usize + out_lane;
                // SAFETY: an entry of the result.
                unsafe { out.set(place, f64::pair(value)) };
            });
        } else {
            let kept = T + 1 - parameters.first_row as usize;
            let place = |b: usize| {
                (run.result as usize * kept + b - parameters.first_row as usize)
                    * parameters.out_lanes as usize
                    + out_lane
            };
            if run.append != 0 {
                let mut b = 1;
                while b <= T {
                    // SAFETY: an entry of the result, which was written before.
                    rows[0][b] = f64::unpair(unsafe { out.at(place(b)) });
                    b += 1;
                }
            }
            let mut next = run.first as usize;
            let end = next + run.count as usize * parameters.distance as usize;
            while next < end {
                multiply::<f64, T, T, 1>(&mut rows, |index| load(next, index, lane), z2);
                next += parameters.distance as usize;
            }
            let mut b = 1;
            while b <= T {
                if b >= parameters.first_row as usize {
                    // SAFETY: an entry of the result.
                    unsafe { out.set(place(b), f64::pair(rows[0][b])) };
                }
                b += 1;
            }
        }
    }
}

macro_rules! compositions {
    ($blocks:literal: $($name:ident = $tuple:literal;)*) => {$(
        #[doc = concat!("Products of matrices for tuples of ", $tuple, ".")]
        ///
        /// # Safety
        /// As stated for the launch in `gridstride::tensor_sketch`: runs of matrices that are
        /// there, with a place for each result.
        #[kernel(max_block = 128, min_blocks = $blocks)]
        pub unsafe fn $name(
            parameters: Parameters,
            runs: DeviceSlice<Run>,
            singles: DeviceSlice<Pair32>,
            doubles: DeviceSlice<Pair64>,
            out: DeviceSliceMut<Pair64>,
        ) {
            // SAFETY: by the contract of this kernel, the runs are of matrices that are there, and
            // `out` has a place for each result.
            unsafe { compose::<$tuple>(parameters, runs, singles, doubles, out) }
        }
    )*};
}

// The blocks on a multiprocessor leave registers enough for the matrices, so that none is spilled.
compositions! { 4: compose_1 = 1; compose_2 = 2; compose_3 = 3; compose_4 = 4; }
compositions! { 2: compose_5 = 5; compose_6 = 6; compose_7 = 7; compose_8 = 8; }
