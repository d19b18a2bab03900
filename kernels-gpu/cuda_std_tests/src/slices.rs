//! Slices of global memory.

use cuda_std::prelude::*;

/// Results of [`read_slice`] per thread.
pub const READS: usize = 10;

/// Whether both agree, as a function of the GPU that is called and returns a bool.
#[inline(never)]
fn are_equal(a: Option<u32>, b: u32) -> bool {
    a == Some(b)
}

/// What reads of slices give: a thread more than there are elements looks past the end.
///
/// # Safety
/// `out` has an element per thread, at least one more than `input`; `empty` is empty.
#[kernel(max_block = 128)]
pub unsafe fn read_slice(
    input: DeviceSlice<u32>,
    empty: DeviceSlice<u32>,
    out: DeviceSliceMut<[u64; READS]>,
) {
    let i = thread::global_index();
    let is_inside = i < input.len();
    // Inside, past the end, and of nothing.
    input.prefetch(i);
    input.prefetch(usize::MAX);
    empty.prefetch(i);
    // SAFETY: below the lengths.
    unsafe {
        let value = if is_inside { input.at(i) } else { 0 };
        let through_pointer = if is_inside {
            input.as_ptr().add(i).read()
        } else {
            0
        };
        let half = DeviceSlice::from_raw_parts(input.as_ptr(), input.len() / 2);
        let results = [
            value as u64,
            through_pointer as u64,
            input.get(i).map_or(u64::MAX, u64::from),
            half.get(i).map_or(u64::MAX, u64::from),
            empty.get(i).map_or(u64::MAX, u64::from),
            are_equal(input.get(i), value) as u64,
            input.len() as u64,
            input.is_empty() as u64,
            empty.len() as u64,
            empty.is_empty() as u64,
        ];
        out.set(i, results);
    }
}

/// Writes through every way that a slice has: `data[i]` becomes `2 · data[i] + 1000`, then by an
/// atomic 1 more, then by the pointer 3 times that.
///
/// # Safety
/// `data` is not empty, `empty` is, `lengths` has four elements.
#[kernel(max_block = 128)]
pub unsafe fn write_slice(
    data: DeviceSliceMut<u32>,
    empty: DeviceSliceMut<u32>,
    lengths: DeviceSliceMut<u64>,
) {
    let i = thread::global_index();
    if i >= data.len() {
        return;
    }
    // SAFETY: below the length, and a thread per element.
    unsafe {
        data.set(i, 2 * data.at(i) + 1000);
        atomic::add(data.address(i), 1);
        let same = DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len());
        same.as_mut_ptr().add(i).write(3 * same.at(i));
        if i == 0 {
            lengths.set(0, data.len() as u64);
            lengths.set(1, data.is_empty() as u64);
            lengths.set(2, empty.len() as u64);
            lengths.set(3, empty.is_empty() as u64);
        }
    }
}

/// Elements of every width, each written from the one of the other slice.
///
/// # Safety
/// All slices have an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn element_widths(
    bytes: DeviceSlice<i8>,
    shorts: DeviceSlice<u16>,
    doubles: DeviceSlice<f64>,
    short_out: DeviceSliceMut<i16>,
    byte_out: DeviceSliceMut<u8>,
    single_out: DeviceSliceMut<f32>,
) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe {
        short_out.set(i, bytes.at(i) as i16 * 3);
        byte_out.set(i, (shorts.at(i) >> 4) as u8);
        single_out.set(i, doubles.at(i) as f32);
    }
}
