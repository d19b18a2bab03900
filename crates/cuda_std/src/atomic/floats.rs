//! Atomic floats, for a block, a device or all of them.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// An instruction on memory in the given order.
#[cfg(target_arch = "nvptx64")]
macro_rules! ordered {
    ($ordering:ident, $scope:literal, $instruction:literal, $rest:literal,
        [$($order:pat => $name:literal),*], $operands:tt) => {{
        if matches!($ordering, Ordering::SeqCst) {
            core::arch::asm!(concat!("fence.sc.", $scope, ";"));
        }
        match $ordering {
            $($order => with_operands!(
                concat!($instruction, ".", $name, ".", $scope, $rest), $operands
            ),)*
        }
    }};
}

#[cfg(target_arch = "nvptx64")]
macro_rules! with_operands {
    ($text:expr, [$($operands:tt)*]) => { core::arch::asm!($text, $($operands)*) };
}

/// What a failed compare-and-swap on the host does in the place of `order`.
#[cfg(not(target_arch = "nvptx64"))]
fn failed(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        order => order,
    }
}

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident, $float:ident, $bits:ident, $register:ident, $scope:literal, $rest:literal,
        $argument:expr, $host:expr, $unsafety:ident) => {
        unsafety! { $unsafety
        $(#[$doc])*
        #[inline(always)]
        fn $name(&self, val: $float, order: Ordering) -> $float {
            #[cfg(target_arch = "nvptx64")]
            {
                let val: $float = $argument(val);
                let before: $bits;
                // SAFETY: the address of a float that is accessed atomically only.
                unsafe {
                    ordered!(
                        order, $scope, "atom", $rest,
                        [
                            Ordering::Relaxed => "relaxed", Ordering::Acquire => "acquire",
                            Ordering::Release => "release", _ => "acq_rel"
                        ],
                        [
                            before = out($register) before, address = in(reg64) self.0.get(),
                            val = in($register) val.to_bits(),
                        ]
                    );
                }
                <$float>::from_bits(before)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let val: $float = $argument(val);
                let host: fn($float, $float) -> $float = $host;
                let changed = |before| Some(host(<$float>::from_bits(before), val).to_bits());
                let before = self.host().fetch_update(order, failed(order), changed);
                <$float>::from_bits(before.unwrap_or_else(|before| before))
            }
        }
        }
    };
}

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

macro_rules! atomic_float {
    ($($name:ident, $float:ident, $bits:ident, $host:ident, $align:literal, $register:ident, $scope:literal, $of:literal,
        $add:literal, $and:literal, $or:literal, $xor:literal, $load:literal, $store:literal, $unsafety:ident;)*) => {$(
        #[doc = concat!("A float that threads of ", $of, " share.")]
        ///
        /// Sums depend on the order in which threads arrive: they are not the same from run to run.
        #[repr(C, align($align))]
        #[derive(Debug)]
        pub struct $name(UnsafeCell<$float>);

        // SAFETY: all accesses are atomic.
        unsafe impl Sync for $name {}

        impl $name {
            /// A float with this value.
            pub const fn new(value: $float) -> Self {
                Self(UnsafeCell::new(value))
            }

            /// The value.
            pub fn into_inner(self) -> $float {
                self.0.into_inner()
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn host(&self) -> &core::sync::atomic::$host {
                // SAFETY: the same size, aligned, and only accessed atomically.
                unsafe { core::sync::atomic::$host::from_ptr(self.0.get().cast()) }
            }

            operation! {
                /// Adds `val`, and returns the value before.
                fetch_add, $float, $bits, $register, $scope, $add, |val| val, |a, b| a + b, $unsafety
            }
            operation! {
                /// Subtracts `val`, and returns the value before.
                fetch_sub, $float, $bits, $register, $scope, $add, |val: $float| -val, |a, b| a + b, $unsafety
            }
            operation! {
                /// Keeps the bits that `val` has too, and returns the value before.
                fetch_and, $float, $bits, $register, $scope, $and, |val| val,
                |a, b| <$float>::from_bits(a.to_bits() & b.to_bits()), $unsafety
            }
            operation! {
                /// Sets the bits of `val`, and returns the value before.
                fetch_or, $float, $bits, $register, $scope, $or, |val| val,
                |a, b| <$float>::from_bits(a.to_bits() | b.to_bits()), $unsafety
            }
            operation! {
                /// Flips the bits of `val`, and returns the value before.
                fetch_xor, $float, $bits, $register, $scope, $xor, |val| val,
                |a, b| <$float>::from_bits(a.to_bits() ^ b.to_bits()), $unsafety
            }

            unsafety! { $unsafety
            /// Returns the value.
            #[inline(always)]
            fn load(&self, order: Ordering) -> $float {
                #[cfg(target_arch = "nvptx64")]
                {
                    let bits: $bits;
                    // SAFETY: the address of a float that is accessed atomically only.
                    unsafe {
                        ordered!(
                            order, $scope, "ld", $load, [Ordering::Relaxed => "relaxed", _ => "acquire"],
                            [bits = out($register) bits, address = in(reg64) self.0.get()]
                        );
                    }
                    <$float>::from_bits(bits)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    <$float>::from_bits(self.host().load(order))
                }
            }
            }

            unsafety! { $unsafety
            /// Writes the value.
            #[inline(always)]
            fn store(&self, val: $float, order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the address of a float that is accessed atomically only.
                unsafe {
                    ordered!(
                        order, $scope, "st", $store, [Ordering::Relaxed => "relaxed", _ => "release"],
                        [address = in(reg64) self.0.get(), bits = in($register) val.to_bits()]
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.host().store(val.to_bits(), order);
            }
            }
        }
    )*};
}

macro_rules! atomic_floats {
    ($($scope:literal $of:literal $unsafety:ident: $f32:ident $f64:ident;)*) => {
        atomic_float! {$(
            $f32, f32, u32, AtomicU32, 4, reg32, $scope, $of,
            ".add.f32 {before}, [{address}], {val};", ".and.b32 {before}, [{address}], {val};",
            ".or.b32 {before}, [{address}], {val};", ".xor.b32 {before}, [{address}], {val};",
            ".b32 {bits}, [{address}];", ".b32 [{address}], {bits};", $unsafety;
            $f64, f64, u64, AtomicU64, 8, reg64, $scope, $of,
            ".add.f64 {before}, [{address}], {val};", ".and.b64 {before}, [{address}], {val};",
            ".or.b64 {before}, [{address}], {val};", ".xor.b64 {before}, [{address}], {val};",
            ".b64 {bits}, [{address}];", ".b64 [{address}], {bits};", $unsafety;
        )*}
    };
}

atomic_floats! {
    "gpu" "a device" safe: AtomicF32 AtomicF64;
    "cta" "a block" block: BlockAtomicF32 BlockAtomicF64;
    "sys" "all devices and of the host" safe: SystemAtomicF32 SystemAtomicF64;
}
