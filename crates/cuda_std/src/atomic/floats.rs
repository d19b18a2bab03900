//! Atomic floats, for a block, a device or all of them.

use super::mid;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

macro_rules! unsafety {
    (safe $(#[$doc:meta])* fn $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $($rest)*
    };
    (block $(#[$doc:meta])* fn $($rest:tt)*) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// All threads that use the float meanwhile are of one block.
        pub unsafe fn $($rest)*
    };
}

macro_rules! operations {
    ($float:ident $unsafety:ident; $($(#[$doc:meta])* $name:ident = $function:ident;)*) => {$(
        unsafety! { $unsafety
        $(#[$doc])*
        #[inline(always)]
        fn $name(&self, val: $float, order: Ordering) -> $float {
            // SAFETY: the address of a float that is only accessed atomically.
            unsafe { mid::$function(self.0.get(), order, val) }
        }
        }
    )*};
}

macro_rules! atomic_floats {
    ($($name:ident, $float:ident, $align:literal, $unsafety:ident, $of:literal: $load:ident $store:ident
        $add:ident $sub:ident $and:ident $or:ident $xor:ident;)*) => {$(
        #[doc = concat!("A float that threads of ", $of, " share.")]
        ///
        /// Sums depend on the order in which threads arrive: they are not the same from run to run.
        #[repr(C, align($align))]
        #[derive(Debug)]
        pub struct $name(UnsafeCell<$float>);

        // SAFETY: all accesses are atomic.
        unsafe impl Sync for $name {}

        impl $name {
            /// Returns a float with this value.
            pub const fn new(v: $float) -> Self {
                Self(UnsafeCell::new(v))
            }

            /// Returns the value.
            pub fn into_inner(self) -> $float {
                self.0.into_inner()
            }

            operations! { $float $unsafety;
                /// Adds `val`, and returns the value before. For `f32` in the global memory of a GPU,
                /// subnormal numbers and sums count as zero.
                fetch_add = $add;
                /// Subtracts `val`, and returns the value before. For `f32` in the global memory of a
                /// GPU, subnormal numbers and differences count as zero.
                fetch_sub = $sub;
                /// Computes the bitwise AND with `val`, and returns the value before.
                fetch_and = $and;
                /// Computes the bitwise OR with `val`, and returns the value before.
                fetch_or = $or;
                /// Computes the bitwise XOR with `val`, and returns the value before.
                fetch_xor = $xor;
            }

            unsafety! { $unsafety
            /// Returns the value.
            ///
            /// # Panics
            /// If the order has a release.
            #[inline(always)]
            fn load(&self, order: Ordering) -> $float {
                // SAFETY: the address of a float that is only accessed atomically.
                $float::from_bits(unsafe { mid::$load(self.0.get().cast(), order) })
            }
            }

            unsafety! { $unsafety
            /// Writes the value.
            ///
            /// # Panics
            /// If the order has an acquire.
            #[inline(always)]
            fn store(&self, val: $float, order: Ordering) {
                // SAFETY: the address of a float that is only accessed atomically.
                unsafe { mid::$store(self.0.get().cast(), order, val.to_bits()) }
            }
            }
        }
    )*};
}

atomic_floats! {
    AtomicF32, f32, 4, safe, "a device": atomic_load_32_device atomic_store_32_device
        atomic_fetch_add_f32_device atomic_fetch_sub_f32_device atomic_fetch_and_f32_device atomic_fetch_or_f32_device atomic_fetch_xor_f32_device;
    AtomicF64, f64, 8, safe, "a device": atomic_load_64_device atomic_store_64_device
        atomic_fetch_add_f64_device atomic_fetch_sub_f64_device atomic_fetch_and_f64_device atomic_fetch_or_f64_device atomic_fetch_xor_f64_device;
    BlockAtomicF32, f32, 4, block, "a block": atomic_load_32_block atomic_store_32_block
        atomic_fetch_add_f32_block atomic_fetch_sub_f32_block atomic_fetch_and_f32_block atomic_fetch_or_f32_block atomic_fetch_xor_f32_block;
    BlockAtomicF64, f64, 8, block, "a block": atomic_load_64_block atomic_store_64_block
        atomic_fetch_add_f64_block atomic_fetch_sub_f64_block atomic_fetch_and_f64_block atomic_fetch_or_f64_block atomic_fetch_xor_f64_block;
    SystemAtomicF32, f32, 4, safe, "all devices and of the host": atomic_load_32_system atomic_store_32_system
        atomic_fetch_add_f32_system atomic_fetch_sub_f32_system atomic_fetch_and_f32_system atomic_fetch_or_f32_system atomic_fetch_xor_f32_system;
    SystemAtomicF64, f64, 8, safe, "all devices and of the host": atomic_load_64_system atomic_store_64_system
        atomic_fetch_add_f64_system atomic_fetch_sub_f64_system atomic_fetch_and_f64_system atomic_fetch_or_f64_system atomic_fetch_xor_f64_system;
}
