//! 16 bytes of a factor, which are read with one instruction.

use cuda_std::narrow;
use cuda_std::prelude::*;

use crate::product::{Sum, read};

/// 16 bytes of neighbouring elements.
pub trait Piece: Copy {
    /// An element as it is in memory.
    type Element: Copy;
    /// The type in which products are summed.
    type Sum: Sum;
    /// Elements of a piece.
    const LENGTH: usize;
    /// All zeros.
    const ZERO: Self;

    /// Reads a piece that begins at element `first`.
    ///
    /// # Safety
    /// The elements are there, initialised, and begin at a multiple of 16 bytes.
    unsafe fn read(elements: DeviceSlice<Self::Element>, first: usize) -> Self;

    /// The piece of the elements that `element` returns.
    fn of(element: impl Fn(u32) -> Self::Element) -> Self;

    /// The value of an element of the piece.
    fn value(self, index: usize) -> Self::Sum;

    /// The value of an element.
    fn widened(element: Self::Element) -> Self::Sum;
}

macro_rules! sums {
    ($($type:ty, $length:literal: [$($index:literal)*];)*) => {$(
        impl Piece for [$type; $length] {
            type Element = $type;
            type Sum = $type;
            const LENGTH: usize = $length;
            const ZERO: Self = [0.0; $length];

            #[inline(always)]
            unsafe fn read(elements: DeviceSlice<$type>, first: usize) -> Self {
                // SAFETY: by the contract of this function, the elements from `first` on are in the
                // slice, initialised, and begin at a multiple of 16 bytes.
                unsafe {
                    elements.address(first + $length - 1);
                    read(elements.address(first))
                }
            }

            #[inline(always)]
            fn of(element: impl Fn(u32) -> $type) -> Self {
                [$(element($index)),*]
            }

            #[inline(always)]
            fn value(self, index: usize) -> $type {
                self[index % $length]
            }

            #[inline(always)]
            fn widened(element: $type) -> $type {
                element
            }
        }
    )*};
}
sums! {
    f32, 4: [0 1 2 3];
    f64, 2: [0 1];
}

macro_rules! of_16_bits {
    ($($(#[$doc:meta])* $name:ident: $widen:path;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name([u32; 4]);

        impl Piece for $name {
            type Element = u16;
            type Sum = f32;
            const LENGTH: usize = 8;
            const ZERO: Self = $name([0; 4]);

            #[inline(always)]
            unsafe fn read(elements: DeviceSlice<u16>, first: usize) -> Self {
                // SAFETY: by the contract of this function, the elements from `first` on are in the
                // slice, initialised, and begin at a multiple of 16 bytes.
                unsafe {
                    elements.address(first + 7);
                    $name(read(elements.address(first).cast()))
                }
            }

            #[inline(always)]
            fn of(element: impl Fn(u32) -> u16) -> Self {
                let pair = |first| u32::from(element(first)) | u32::from(element(first + 1)) << 16;
                $name([pair(0), pair(2), pair(4), pair(6)])
            }

            #[inline(always)]
            fn value(self, index: usize) -> f32 {
                let pair = self.0[index / 2 % 4];
                $widen(if index.is_multiple_of(2) { pair as u16 } else { (pair >> 16) as u16 })
            }

            #[inline(always)]
            fn widened(element: u16) -> f32 {
                $widen(element)
            }
        }
    )*};
}
of_16_bits! {
    /// Eight `f16`.
    F16s: narrow::f16_value;
    /// Eight `bf16`.
    Bf16s: narrow::bf16_value;
}
