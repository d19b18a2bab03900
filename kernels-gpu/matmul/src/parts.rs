//! Adding up the parts of k.

use cuda_std::prelude::*;

use crate::cast::{bf16_of_f32, f16_of_f32, f32_of_bf16, f32_of_f16};
use crate::product::{Sum, read, write};

/// C = alpha·Σ P + beta·C, element by element, of parts that follow each other without gaps. Both
/// slices begin at multiples of 16 bytes. The elements of C are sums, or bits of rounded ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parts<T, C> {
    /// The parts, each with as many elements as C.
    pub parts: DeviceSlice<T>,
    /// The results.
    pub c: DeviceSliceMut<C>,
    /// Factor of the sums.
    pub alpha: T,
    /// Factor of C, which is not read if it is 0.
    pub beta: T,
    /// Number of parts.
    pub count: u32,
}
/// How sums become elements of C, and back.
#[derive(Clone, Copy)]
struct Form<T, C> {
    round: fn(T) -> C,
    widen: fn(C) -> T,
}

/// `WIDTH` neighbours of each part, from element `index` on, added up in the order of the parts.
///
/// # Safety
/// Each part has `WIDTH` elements from `index` on, aligned to their size.
#[inline(always)]
unsafe fn add<T: Sum, C: Copy, const WIDTH: usize>(task: &Parts<T, C>, index: usize) -> [T; WIDTH] {
    let length = task.c.len();
    let mut sums = [T::ZERO; WIDTH];
    let mut part = 0;
    // Four at a time are on their way.
    while part < task.count {
        let mut values = [[T::ZERO; WIDTH]; 4];
        unrolled! { i in [0 1 2 3] {
            if part + (i as u32) < task.count {
                let first = (part as usize + i) * length + index;
                // SAFETY: by the contract of this function, each part has these `WIDTH` elements,
                // aligned to their size, and `part + i` is the number of a part.
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
unsafe fn finish<T: Sum, C: Copy, const WIDTH: usize>(
    task: &Parts<T, C>,
    index: usize,
    Form { round, widen }: Form<T, C>,
) {
    // SAFETY: by the contract of this function, the parts and C have `WIDTH` elements from `index`
    // on, aligned to their size, and no other thread writes those of C.
    unsafe {
        let sums: [T; WIDTH] = add(task, index);
        let mut results = sums.map(|sum| task.alpha * sum);
        task.c.address(index + WIDTH - 1);
        let c = task.c.address(index);
        if task.beta != T::ZERO {
            let before: [T; WIDTH] = read::<C, WIDTH>(c).map(widen);
            unrolled! { j in [0 1 2 3] {
                if j < WIDTH {
                    results[j % WIDTH] = T::multiply_add(task.beta, before[j % WIDTH], results[j % WIDTH]);
                }
            }}
        }
        write(c, results.map(round));
    }
}

/// # Safety
/// The contract of the kernels of [`Parts`].
#[inline(always)]
unsafe fn add_parts<T: Sum, C: Copy, const WIDTH: usize>(task: &Parts<T, C>, form: Form<T, C>) {
    let length = task.c.len();
    // Each part has to begin at a multiple of 16 bytes.
    if length.is_multiple_of(WIDTH) {
        for index in thread::grid_stride(length / WIDTH) {
            // SAFETY: aligned as asked; each index is of one thread.
            unsafe { finish::<T, C, WIDTH>(task, index * WIDTH, form) };
        }
    } else {
        for index in thread::grid_stride(length) {
            // SAFETY: a single element is aligned to its size; each index is of one thread.
            unsafe { finish::<T, C, 1>(task, index, form) };
        }
    }
}

macro_rules! kernels {
    ($($name:ident: $sum:ty, $c:ty, $width:literal, $round:expr, $widen:expr;)*) => {$(
        /// Adds parts up, for any launch in the x direction.
        ///
        /// # Safety
        /// The slices are as [`Parts`] says, and no part lies in C.
        #[kernel(block = 256)]
        pub unsafe fn $name(task: Parts<$sum, $c>) {
            let form = Form { round: $round, widen: $widen };
            // SAFETY: by the contract of this function, the slices are as `Parts` says, and no part
            // lies in C.
            unsafe { add_parts::<$sum, $c, $width>(&task, form) }
        }
    )*};
}
kernels! {
    add_parts_f32: f32, f32, 4, |sum| sum, |c| c;
    add_parts_f64: f64, f64, 2, |sum| sum, |c| c;
    add_parts_to_f16: f32, u16, 4, |sum: f32| f16_of_f32(sum.to_bits()), |c| f32::from_bits(f32_of_f16(c));
    add_parts_to_bf16: f32, u16, 4, |sum: f32| bf16_of_f32(sum.to_bits()), |c| f32::from_bits(f32_of_bf16(c));
}
