//! Adding up the parts of k.

use cuda_std::prelude::*;

use crate::product::{Sum, read, write};

/// C = alpha·Σ P + beta·C, element by element, of parts that follow each other without gaps. Both
/// slices begin at multiples of 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parts<T> {
    /// The parts, each with as many elements as C.
    pub parts: DeviceSlice<T>,
    /// The results.
    pub c: DeviceSliceMut<T>,
    /// Factor of the sums.
    pub alpha: T,
    /// Factor of C, which is not read if it is 0.
    pub beta: T,
    /// How many parts there are.
    pub count: u32,
}
/// `WIDTH` neighbours of each part, from element `index` on, added up in the order of the parts.
///
/// # Safety
/// They are there, and aligned to their size.
#[inline(always)]
unsafe fn add<T: Sum, const WIDTH: usize>(task: &Parts<T>, index: usize) -> [T; WIDTH] {
    let length = task.c.len();
    let mut sums = [T::ZERO; WIDTH];
    let mut part = 0;
    // Four at a time are on their way.
    while part < task.count {
        let mut values = [[T::ZERO; WIDTH]; 4];
        unrolled! { i in [0 1 2 3] {
            if part + (i as u32) < task.count {
                let first = (part as usize + i) * length + index;
                // SAFETY: passed on to the caller.
                unsafe {
                    task.parts.address(first + WIDTH - 1);
                    values[i] = read(task.parts.address(first));
                }
            }
        }}
        unrolled! { i in [0 1 2 3] {
            if part + (i as u32) < task.count {
                unrolled! { j in [0 1 2 3] {
                    if j < WIDTH {
                        sums[j % WIDTH] = sums[j % WIDTH] + values[i][j % WIDTH];
                    }
                }}
            }
        }}
        part += 4;
    }
    sums
}

/// `WIDTH` neighbours of C, from element `index` on.
///
/// # Safety
/// As of [`add`]; no other thread writes them.
#[inline(always)]
unsafe fn finish<T: Sum, const WIDTH: usize>(task: &Parts<T>, index: usize) {
    // SAFETY: passed on to the caller.
    unsafe {
        let sums: [T; WIDTH] = add(task, index);
        let mut results = sums.map(|sum| task.alpha * sum);
        task.c.address(index + WIDTH - 1);
        let c = task.c.address(index);
        if task.beta != T::ZERO {
            let before: [T; WIDTH] = read(c);
            unrolled! { j in [0 1 2 3] {
                if j < WIDTH {
                    results[j % WIDTH] = T::multiply_add(task.beta, before[j % WIDTH], results[j % WIDTH]);
                }
            }}
        }
        write(c, results);
    }
}

/// # Safety
/// As of the kernels.
#[inline(always)]
unsafe fn add_parts<T: Sum, const WIDTH: usize>(task: &Parts<T>) {
    let length = task.c.len();
    // Each part has to begin at a multiple of 16 bytes.
    if length.is_multiple_of(WIDTH) {
        for index in thread::grid_stride(length / WIDTH) {
            // SAFETY: aligned as asked; each index is of one thread.
            unsafe { finish::<T, WIDTH>(task, index * WIDTH) };
        }
    } else {
        for index in thread::grid_stride(length) {
            // SAFETY: as above.
            unsafe { finish::<T, 1>(task, index) };
        }
    }
}

/// Adds parts up, for any launch in the x direction.
///
/// # Safety
/// The slices are as [`Parts`] says, and no part lies in C.
#[kernel(block = 256)]
pub unsafe fn add_parts_f32(task: Parts<f32>) {
    // SAFETY: passed on to the caller.
    unsafe { add_parts::<f32, 4>(&task) }
}

/// Adds parts up, for any launch in the x direction.
///
/// # Safety
/// The slices are as [`Parts`] says, and no part lies in C.
#[kernel(block = 256)]
pub unsafe fn add_parts_f64(task: Parts<f64>) {
    // SAFETY: passed on to the caller.
    unsafe { add_parts::<f64, 2>(&task) }
}
