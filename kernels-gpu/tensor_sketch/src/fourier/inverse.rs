//! From the first rows of matrices in all lanes to sketches: the inverse Fourier transform.

use super::number::Pair64;
use super::{Complex, Number};
use cuda_std::prelude::*;

/// Sketches that a block makes together, at most: it reads the roots of unity once for all of them.
pub const TOGETHER: u32 = 4;

/// Threads of a block.
pub const BLOCK: u32 = 64;

/// The arguments that all sketches share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Dimension D.
    pub dim: u32,
    /// Lanes that the spectra have in memory, at least ⌈D/2⌉.
    pub lanes: u32,
    /// The number of spectra.
    pub spectra: u32,
    /// Spectra of one sequence that are turned into rows of the result, in their order.
    pub rows: u32,
    /// Spectra of one sequence in memory, the ones to turn into rows at the end.
    pub stored_rows: u32,
    /// 1 if row 0 of the recurrence, (1, 0, …, 0), stands before them in the result, else 0.
    pub with_first: u32,
    /// After how many spectra the scales begin anew.
    pub scales: u32,
    /// Spectra that a block works on, at most [`TOGETHER`].
    pub together: u32,
}

/// How the entries of a row are finished.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Scale {
    /// The divisor of the entries.
    pub divisor: f64,
    /// 1 if they are known to be whole numbers before that, else 0.
    pub whole: u64,
}

/// # Safety
/// - `spectra` has `lanes` elements for each spectrum, `roots` the powers of exp(−2πi/D), `scales`
///   as many elements as stated.
/// - Dynamic shared memory holds `together` × ⌈D/2⌉ numbers of 16 bytes.
/// - `out` has `dim` elements for each row.
#[inline(always)]
unsafe fn inverse<N: Number>(
    parameters: Parameters,
    spectra: DeviceSlice<Pair64>,
    roots: DeviceSlice<[f64; 2]>,
    scales: DeviceSlice<Scale>,
    out: DeviceSliceMut<N>,
) {
    let Parameters {
        dim,
        lanes,
        spectra: count,
        rows,
        stored_rows,
        with_first,
        together,
        ..
    } = parameters;
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let shared = shared::dynamic_shared_mem::<Pair64>();
    let used = dim.div_ceil(2);
    let first = thread::block_idx_x() * together;
    let here = (count - first).min(together);

    let mut i = tid;
    while i < together * used {
        let (spectrum, lane) = (i / used, i % used);
        let value = if spectrum < here {
            let number = first + spectrum;
            let stored = (number / rows + 1) * stored_rows - rows + number % rows;
            // SAFETY: a lane of a spectrum.
            unsafe { spectra.at(stored as usize * lanes as usize + lane as usize) }
        } else {
            f64::pair(Complex::ZERO)
        };
        // SAFETY: within shared memory.
        unsafe { shared.add(i as usize).write(value) };
        i += threads;
    }
    thread::sync_threads();

    let read = |spectrum: usize, lane: u32| {
        // Past the last one, which gives results that nobody uses, the last one again.
        let spectrum = (spectrum as u32).min(together - 1);
        // SAFETY: within shared memory.
        f64::unpair(unsafe { shared.add((spectrum * used + lane) as usize).read() })
    };
    // Entries l and D − l have the same cosines, and sines of opposite signs.
    let mut l = tid;
    while l <= dim / 2 {
        let mut even = [0.0; TOGETHER as usize];
        let mut odd = [0.0; TOGETHER as usize];
        let mut power = 0;
        let mut lane = 1;
        while lane < used {
            power += l;
            if power >= dim {
                power -= dim;
            }
            // SAFETY: below D; a pair is aligned to 16 bytes, as all of a buffer's are.
            let root =
                f64::unpair(unsafe { roots.address(power as usize).cast::<Pair64>().read() });
            let mut s = 0;
            while s < TOGETHER as usize {
                let value = read(s, lane);
                even[s] = f64::fma(value.x, root.x, even[s]);
                odd[s] = f64::fma(value.y, root.y, odd[s]);
                s += 1;
            }
            lane += 1;
        }
        let mirrored = dim - l;
        let mut s = 0;
        while s < TOGETHER as usize {
            // Lane 0: modulo z² − 1 the entries with even l are in x, those with odd l in y; modulo
            // z − 1, for odd D, all are in x, once instead of twice as in the other lanes.
            let (own, other) = {
                let value = read(s, 0);
                let at = |l: u32| {
                    if dim % 2 == 1 {
                        value.x * 0.5
                    } else if l & 1 == 0 {
                        value.x
                    } else {
                        value.y
                    }
                };
                (at(l), at(mirrored))
            };
            if (s as u32) < here {
                let spectrum = first + s as u32;
                // SAFETY: as many scales as stated.
                let scale = unsafe { scales.at((spectrum % parameters.scales) as usize) };
                let (sequence, row) = (spectrum / rows, spectrum % rows);
                let line =
                    sequence as usize * (rows + with_first) as usize + (row + with_first) as usize;
                let finish = |sum: f64| {
                    let mut value = sum * (2.0 / dim as f64);
                    if scale.whole != 0 {
                        // Adding zero makes a negative zero positive.
                        value = float::round_ties_even_f64(value) + 0.0;
                    }
                    N::from_f64(value / scale.divisor)
                };
                // SAFETY: entries of this row.
                unsafe {
                    let place = line * dim as usize;
                    out.set(place + l as usize, finish(own + even[s] + odd[s]));
                    if l > 0 && mirrored > l {
                        out.set(place + mirrored as usize, finish(other + even[s] - odd[s]));
                    }
                    if with_first != 0 && row == 0 {
                        let place = place - dim as usize;
                        let one = if l == 0 { 1.0 } else { 0.0 };
                        out.set(place + l as usize, N::from_f64(one));
                        if l > 0 && mirrored > l {
                            out.set(place + mirrored as usize, N::ZERO);
                        }
                    }
                }
            }
            s += 1;
        }
        l += threads;
    }
}

/// Sketches in `f32`.
///
/// # Safety
/// As stated for the launch in `gridstride::tensor_sketch`: spectra, roots, scales and results as
/// counted in `parameters`, dynamic shared memory for the spectra of a block.
#[kernel(max_block = 64)]
pub unsafe fn inverse_f32(
    parameters: Parameters,
    spectra: DeviceSlice<Pair64>,
    roots: DeviceSlice<[f64; 2]>,
    scales: DeviceSlice<Scale>,
    out: DeviceSliceMut<f32>,
) {
    // SAFETY: `inverse` asks what this kernel asks: spectra, roots, scales and results as counted
    // in `parameters`, and shared memory for the spectra that a block has together.
    unsafe { inverse::<f32>(parameters, spectra, roots, scales, out) }
}

/// Sketches in `f64`.
///
/// # Safety
/// As for [`inverse_f32`].
#[kernel(max_block = 64)]
pub unsafe fn inverse_f64(
    parameters: Parameters,
    spectra: DeviceSlice<Pair64>,
    roots: DeviceSlice<[f64; 2]>,
    scales: DeviceSlice<Scale>,
    out: DeviceSliceMut<f64>,
) {
    // SAFETY: the caller keeps the contract of `inverse_f32`, which this function shares.
    unsafe { inverse::<f64>(parameters, spectra, roots, scales, out) }
}
