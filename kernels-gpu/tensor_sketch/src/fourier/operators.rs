//! The operators: the matrices of all words of m letters, and of the single letters.

use super::number::Pair64;
use super::{Complex, Number, operator_index, quads, square_of_z};
use crate::NEGATIVE;
use cuda_std::prelude::*;

/// The most letters of a word that an entry of an operator can use: the largest depth.
const MAX_DEPTH: usize = 4;

/// The arguments that all operators share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Number of letters in the alphabet, A.
    pub alphabet: u32,
    /// Tuple length t.
    pub tuple: u32,
    /// Dimension D.
    pub dim: u32,
    /// Letters in a word, m.
    pub word_letters: u32,
    /// The number of words, A^m; the single letters follow where m > 1.
    pub words: u32,
    /// Rows of the table, the last one for the identity.
    pub rows: u32,
    /// Entries up to so far above the diagonal, at least the smaller one of m and t.
    pub depth: u32,
    /// Lanes in a group.
    pub width: u32,
    /// Groups of lanes.
    pub groups: u32,
}

/// Writes the table of operators: for each group of lanes, each row and each lane the entries above
/// the diagonal, rounded once from `f64`.
///
/// # Safety
/// `tables` has alphabet × tuple entries, `roots` the powers of exp(−2πi/D), and `table` has
/// `groups · rows · width · quads` elements.
#[inline(always)]
unsafe fn operators<N: Number>(
    parameters: Parameters,
    tables: DeviceSlice<u32>,
    roots: DeviceSlice<[f64; 2]>,
    table: DeviceSliceMut<u128>,
) {
    let Parameters {
        tuple,
        dim,
        rows,
        depth,
        width,
        ..
    } = parameters;
    let places = quads::<N>(tuple as usize, depth as usize) * N::PER_QUAD;
    let items = parameters.groups as usize * (rows * width) as usize * places;
    for item in thread::grid_stride(items) {
        let (place, at) = (item % places, (item / places) as u32);
        let (lane, at) = (at % width, at / width);
        let (row, group) = (at % rows, at / rows);
        let lane = group * width + lane;
        let value = match place_of(tuple as usize, depth as usize, place) {
            Some((a, b)) if lane < dim.div_ceil(2) => {
                // SAFETY: by the contract of this function, `tables` has alphabet × tuple entries,
                // `roots` the powers of exp(−2πi/D), and `table` has `groups · rows · width ·
                // quads` elements.
                unsafe { entry(parameters, tables, roots, row, lane, a as u32, b as u32) }
            }
            _ => Complex::ZERO,
        };
        let rounded = Complex {
            x: N::from_f64(value.x),
            y: N::from_f64(value.y),
        };
        // SAFETY: the place of this item, which no other thread has.
        unsafe {
            table
                .address(item / N::PER_QUAD)
                .cast::<N::Pair>()
                .add(item % N::PER_QUAD)
                .write(N::pair(rounded))
        };
    }
}

/// The entry (a, b) that stands at `place` of an operator.
fn place_of(tuple: usize, depth: usize, place: usize) -> Option<(usize, usize)> {
    let mut b = tuple;
    while b > 0 {
        let first = operator_index(tuple, depth, b.saturating_sub(depth), b);
        let count = if b < depth { b } else { depth };
        if place < first + count {
            return Some((b.saturating_sub(depth) + place - first, b));
        }
        b -= 1;
    }
    None
}

/// Entry (a, b) of the matrix of a row's word: the sum over the choices of b − a of its letters, in
/// order, of the product of their values.
///
/// # Safety
/// As [`operators`], and `row` is one of the table's.
#[inline(always)]
unsafe fn entry(
    parameters: Parameters,
    tables: DeviceSlice<u32>,
    roots: DeviceSlice<[f64; 2]>,
    row: u32,
    lane: u32,
    a: u32,
    b: u32,
) -> Complex<f64> {
    let Parameters {
        alphabet,
        tuple,
        dim,
        word_letters,
        words,
        rows,
        ..
    } = parameters;
    if row == rows - 1 {
        return Complex::ZERO;
    }
    let (mut rest, letters) = if row < words {
        (row, word_letters)
    } else {
        (row - words, 1)
    };
    let z2 = square_of_z(lane);
    // `sums[d]` is the sum over the choices of d of the letters so far, for the d places from a.
    let mut sums = [Complex::<f64>::ZERO; MAX_DEPTH + 1];
    sums[0].x = 1.0;
    let mut i = 0;
    while i < letters {
        let letter = rest % alphabet;
        rest /= alphabet;
        let mut d = MAX_DEPTH;
        while d > 0 {
            let k = a + d as u32 - 1;
            if k < b {
                // SAFETY: a letter of the alphabet, and a row below t.
                let packed = unsafe { tables.at((letter * tuple + k) as usize) };
                // SAFETY: the power is below D.
                let value = unsafe { value(packed, roots, lane, dim) };
                sums[d] = sums[d].plus_product(sums[d - 1], value, value.y * z2);
            }
            d -= 1;
        }
        i += 1;
    }
    let mut result = Complex::ZERO;
    let mut d = 1;
    while d <= MAX_DEPTH {
        if b == a + d as u32 {
            result = sums[d];
        }
        d += 1;
    }
    result
}

/// The value of a letter's step in a lane: sign · z^hash.
///
/// # Safety
/// `roots` has `dim` elements, and the hash is below `dim`.
#[inline(always)]
unsafe fn value(packed: u32, roots: DeviceSlice<[f64; 2]>, lane: u32, dim: u32) -> Complex<f64> {
    let hash = packed & !NEGATIVE;
    let sign = if packed & NEGATIVE == 0 { 1.0 } else { -1.0 };
    if lane > 0 {
        // SAFETY: below `dim`; a pair is aligned to 16 bytes, as all of a buffer's are.
        let root = unsafe {
            let address = roots.address((hash * lane % dim) as usize);
            f64::unpair(address.cast::<Pair64>().read())
        };
        return Complex {
            x: sign * root.x,
            y: sign * root.y,
        };
    }
    // Modulo z² − 1, or modulo z − 1 where D is odd.
    if dim & 1 == 0 && hash & 1 == 1 {
        Complex { x: 0.0, y: sign }
    } else {
        Complex { x: sign, y: 0.0 }
    }
}

/// The table of operators in `f32`.
///
/// # Safety
/// As stated for the launch in `gridstride::tensor_sketch`: tables, roots and table of the sizes in
/// `parameters`.
#[kernel(max_block = 256)]
pub unsafe fn operators_f32(
    parameters: Parameters,
    tables: DeviceSlice<u32>,
    roots: DeviceSlice<[f64; 2]>,
    table: DeviceSliceMut<u128>,
) {
    // SAFETY: `operators` asks what this kernel asks: tables, roots and a table of operators of the
    // sizes in `parameters`.
    unsafe { operators::<f32>(parameters, tables, roots, table) }
}

/// The table of operators in `f64`.
///
/// # Safety
/// As for [`operators_f32`].
#[kernel(max_block = 256)]
pub unsafe fn operators_f64(
    parameters: Parameters,
    tables: DeviceSlice<u32>,
    roots: DeviceSlice<[f64; 2]>,
    table: DeviceSliceMut<u128>,
) {
    // SAFETY: the caller keeps the contract of `operators_f32`, which this function shares.
    unsafe { operators::<f64>(parameters, tables, roots, table) }
}
