//! Where rows begin, and other forms of the compressed rows.

use cuda_std::prelude::*;

/// Makes of where each part of each row begins, `parts` parts a row, where each row begins and how
/// many pairs it has.
///
/// # Safety
/// `sums` has an element for each part and one for the end, `counts` one for each row, `offsets`
/// one more.
#[kernel(max_block = 256)]
pub unsafe fn row_offsets(
    parts: u32,
    sums: DeviceSlice<u64>,
    offsets: DeviceSliceMut<u64>,
    counts: DeviceSliceMut<u32>,
) {
    for row in thread::grid_stride(offsets.len()) {
        // SAFETY: by the contract of this function, `sums` has an element for each part and one for
        // the end, `counts` one for each row, `offsets` one more.
        unsafe {
            let start = sums.at(row * parts as usize);
            offsets.set(row, start);
            if row < counts.len() {
                let end = sums.at((row + 1) * parts as usize);
                counts.set(row, (end - start) as u32);
            }
        }
    }
}

/// Writes the rows as a matrix with `limit` columns, filled up with −1.
///
/// # Safety
/// `offsets` say where the rows of `indices` begin and end; `matrix` has `limit` elements for each.
#[kernel(max_block = 256)]
pub unsafe fn matrix(
    limit: u32,
    offsets: DeviceSlice<u64>,
    indices: DeviceSlice<u32>,
    matrix: DeviceSliceMut<i32>,
) {
    for place in thread::grid_stride(matrix.len()) {
        let (row, column) = (place / limit as usize, place % limit as usize);
        // SAFETY: by the contract of this function, `offsets` say where the rows of `indices` begin
        // and end; `matrix` has `limit` elements for each.
        unsafe {
            let index = offsets.at(row) + column as u64;
            let value = if index < offsets.at(row + 1) {
                indices.at(index as usize) as i32
            } else {
                -1
            };
            matrix.set(place, value);
        }
    }
}

/// Writes the pairs (row, index).
///
/// # Safety
/// `offsets` say where the rows of `indices` begin and end; `pairs` has two elements for each
/// index.
#[kernel(max_block = 256)]
pub unsafe fn pair_list(
    offsets: DeviceSlice<u64>,
    indices: DeviceSlice<u32>,
    pairs: DeviceSliceMut<u32>,
) {
    for place in thread::grid_stride(indices.len()) {
        // The last row that begins at or before the place has it: rows before that are empty if
        // they begin there too.
        let (mut low, mut high) = (0, offsets.len() - 1);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            // SAFETY: below the length.
            if unsafe { offsets.at(middle) } <= place as u64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        // SAFETY: two elements for each index.
        unsafe {
            pairs.set(2 * place, low as u32);
            pairs.set(2 * place + 1, indices.at(place));
        }
    }
}
