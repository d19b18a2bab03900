//! Atomic operations on memory in a given order, for threads of a block, a device or all devices:
//! Rust-CUDA's module of this name.
//!
//! Every operation returns the value before. The order is best a constant, so that the call is one
//! instruction, after a fence for [`SeqCst`](Ordering::SeqCst). Float sums depend on the order in
//! which threads arrive: they are not the same from run to run.
//!
//! # Safety
//! Contract of all functions here: the address is valid and aligned, and while threads use it atomically, no
//! thread accesses it otherwise. Functions that end in `_block` require that all threads that use the
//! address concurrently belong to one block; those that end in `_device`, to one device.

#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic;
use core::sync::atomic::Ordering;

/// A number as the word that atomic instructions take.
trait Word: Copy {
    type Word;
    fn into_word(self) -> Self::Word;
    fn from_word(word: Self::Word) -> Self;
    /// Returns the number whose addition subtracts `self`.
    fn negated(self) -> Self;
    #[cfg(not(target_arch = "nvptx64"))]
    fn sum(self, other: Self) -> Self;
}

macro_rules! words {
    ($($type:ident $word:ident, $into:expr, $from:expr, $negated:expr, $sum:expr;)*) => {$(
        impl Word for $type {
            type Word = $word;
            #[inline(always)]
            fn into_word(self) -> $word {
                $into(self)
            }
            #[inline(always)]
            fn from_word(word: $word) -> Self {
                $from(word)
            }
            #[inline(always)]
            fn negated(self) -> Self {
                $negated(self)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            fn sum(self, other: Self) -> Self {
                $sum(self, other)
            }
        }
    )*};
}

words! {
    u32 u32, |value| value, |word| word, u32::wrapping_neg, u32::wrapping_add;
    u64 u64, |value| value, |word| word, u64::wrapping_neg, u64::wrapping_add;
    i32 u32, |value| value as u32, |word| word as i32, i32::wrapping_neg, i32::wrapping_add;
    i64 u64, |value| value as u64, |word| word as i64, i64::wrapping_neg, i64::wrapping_add;
    f32 u32, f32::to_bits, f32::from_bits, |value: f32| -value, |a, b| a + b;
    f64 u64, f64::to_bits, f64::from_bits, |value: f64| -value, |a, b| a + b;
}

#[cold]
fn no_such_order() -> ! {
    panic!("a load cannot release, and a store cannot acquire")
}

/// Returns the order of a failed compare-and-swap on the host.
#[cfg(not(target_arch = "nvptx64"))]
fn failed(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        order => order,
    }
}

/// An instruction on memory in the given order.
#[cfg(target_arch = "nvptx64")]
macro_rules! ordered {
    ($ordering:ident, $scope:literal, $instruction:literal, $rest:expr,
        [$($order:pat => $name:literal),*], $operands:tt) => {{
        if matches!($ordering, Ordering::SeqCst) {
            core::arch::asm!(concat!("fence.sc.", $scope, ";"));
        }
        match $ordering {
            $($order => with_operands!(
                concat!($instruction, ".", $name, ".", $scope, $rest), $operands
            ),)*
            _ => no_such_order(),
        }
    }};
}

#[cfg(target_arch = "nvptx64")]
macro_rules! with_operands {
    ($text:expr, [$($operands:tt)*]) => { core::arch::asm!($text, $($operands)*) };
}

/// An `atom` instruction in the given order.
#[cfg(target_arch = "nvptx64")]
macro_rules! atom {
    ($ordering:ident, $scope:literal, $rest:expr, $operands:tt) => {
        ordered!(
            $ordering, $scope, "atom", $rest,
            [
                Ordering::Relaxed => "relaxed", Ordering::Acquire => "acquire",
                Ordering::Release => "release", Ordering::AcqRel | Ordering::SeqCst => "acq_rel"
            ],
            $operands
        )
    };
}

/// Expands `$macro!(@one, a scope, its description, …)` for each of three names.
macro_rules! in_scopes {
    ($macro:ident, $block:ident $device:ident $system:ident, $arguments:tt) => {
        $macro!(@one "cta", "a block", $block, $arguments);
        $macro!(@one "gpu", "a device", $device, $arguments);
        $macro!(@one "sys", "all devices and of the host", $system, $arguments);
    };
}

macro_rules! fences {
    (@one $scope:literal, $of:literal, $name:ident, ()) => {
        #[doc = concat!("Orders memory accesses of this thread, for threads of ", $of, ".")]
        #[inline(always)]
        pub fn $name(ordering: Ordering) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: a fence has no preconditions.
            unsafe {
                match ordering {
                    Ordering::Relaxed => {}
                    Ordering::SeqCst => core::arch::asm!(concat!("fence.sc.", $scope, ";")),
                    _ => core::arch::asm!(concat!("fence.acq_rel.", $scope, ";")),
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            if ordering != Ordering::Relaxed {
                atomic::fence(ordering);
            }
        }
    };
}
in_scopes!(fences, block_thread_fence device_thread_fence system_thread_fence, ());

macro_rules! loads {
    ($($word:ident $host:ident $register:ident $rest:literal: $block:ident $device:ident $system:ident;)*) => {$(
        in_scopes!(loads, $block $device $system, ($word $host $register $rest));
    )*};
    (@one $scope:literal, $of:literal, $name:ident, ($word:ident $host:ident $register:ident $rest:literal)) => {
        #[doc = concat!("Returns what is there, written by threads of ", $of, ".")]
        ///
        /// # Panics
        /// If the order has a release.
        ///
        /// # Safety
        /// The contract of the [module](self).
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $word, ordering: Ordering) -> $word {
            #[cfg(target_arch = "nvptx64")]
            {
                let value: $word;
                // SAFETY: by the contract of the module, the address is valid and aligned.
                unsafe {
                    ordered!(
                        ordering, $scope, "ld", $rest,
                        [Ordering::Relaxed => "relaxed", Ordering::Acquire | Ordering::SeqCst => "acquire"],
                        [value = out($register) value, address = in(reg64) ptr]
                    );
                }
                value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                if matches!(ordering, Ordering::Release | Ordering::AcqRel) {
                    no_such_order();
                }
                // SAFETY: by the contract of the module, the address is valid and aligned.
                unsafe { atomic::$host::from_ptr(ptr) }.load(ordering)
            }
        }
    };
}

loads! {
    u32 AtomicU32 reg32 ".b32 {value}, [{address}];": atomic_load_32_block atomic_load_32_device atomic_load_32_system;
    u64 AtomicU64 reg64 ".b64 {value}, [{address}];": atomic_load_64_block atomic_load_64_device atomic_load_64_system;
}

macro_rules! stores {
    ($($word:ident $host:ident $register:ident $rest:literal: $block:ident $device:ident $system:ident;)*) => {$(
        in_scopes!(stores, $block $device $system, ($word $host $register $rest));
    )*};
    (@one $scope:literal, $of:literal, $name:ident, ($word:ident $host:ident $register:ident $rest:literal)) => {
        #[doc = concat!("Writes `val`, for threads of ", $of, ".")]
        ///
        /// # Panics
        /// If the order has an acquire.
        ///
        /// # Safety
        /// The contract of the [module](self).
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $word, ordering: Ordering, val: $word) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: by the contract of the module, the address is valid and aligned.
            unsafe {
                ordered!(
                    ordering, $scope, "st", $rest,
                    [Ordering::Relaxed => "relaxed", Ordering::Release | Ordering::SeqCst => "release"],
                    [address = in(reg64) ptr, val = in($register) val]
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                if matches!(ordering, Ordering::Acquire | Ordering::AcqRel) {
                    no_such_order();
                }
                // SAFETY: by the contract of the module, the address is valid and aligned.
                unsafe { atomic::$host::from_ptr(ptr) }.store(val, ordering);
            }
        }
    };
}

stores! {
    u32 AtomicU32 reg32 ".b32 [{address}], {val};": atomic_store_32_block atomic_store_32_device atomic_store_32_system;
    u64 AtomicU64 reg64 ".b64 [{address}], {val};": atomic_store_64_block atomic_store_64_device atomic_store_64_system;
}

macro_rules! fetches {
    ($($doc:literal, $operation:expr, $argument:expr; {$($type:ident $word:ident $host:ident $register:ident $rest:literal:
        $block:ident $device:ident $system:ident;)*})*) => {$($(
        in_scopes!(
            fetches, $block $device $system,
            ($doc, $operation, $argument; $type $word $host $register $rest)
        );
    )*)*};
    (@one $scope:literal, $of:literal, $name:ident,
        ($doc:literal, $operation:expr, $argument:expr; $type:ident $word:ident $host:ident $register:ident $rest:literal)) => {
        #[doc = concat!($doc, " Among threads of ", $of, ".")]
        ///
        /// # Safety
        /// The contract of the [module](self).
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
            #[cfg(target_arch = "nvptx64")]
            {
                let argument: fn($type) -> $type = $argument;
                let before: $word;
                // SAFETY: by the contract of the module, the address is valid and aligned.
                unsafe {
                    atom!(
                        ordering, $scope, concat!($rest, " {before}, [{address}], {val};"),
                        [
                            before = out($register) before, address = in(reg64) ptr,
                            val = in($register) argument(val).into_word(),
                        ]
                    );
                }
                <$type>::from_word(before)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let operation: fn($type, $type) -> $type = $operation;
                // SAFETY: by the contract of the module, the address is valid and aligned.
                let cell = unsafe { atomic::$host::from_ptr(ptr.cast()) };
                let changed = |before| Some(operation(<$type>::from_word(before), val).into_word());
                let before = cell.try_update(ordering, failed(ordering), changed);
                <$type>::from_word(before.unwrap_or_else(|before| before))
            }
        }
    };
}

fetches! {
    "Computes the bitwise AND with `val`.", |a, b| Word::from_word(a.into_word() & b.into_word()), |val| val; {
        u32 u32 AtomicU32 reg32 ".and.b32":
            atomic_fetch_and_u32_block atomic_fetch_and_u32_device atomic_fetch_and_u32_system;
        u64 u64 AtomicU64 reg64 ".and.b64":
            atomic_fetch_and_u64_block atomic_fetch_and_u64_device atomic_fetch_and_u64_system;
        i32 u32 AtomicU32 reg32 ".and.b32":
            atomic_fetch_and_i32_block atomic_fetch_and_i32_device atomic_fetch_and_i32_system;
        i64 u64 AtomicU64 reg64 ".and.b64":
            atomic_fetch_and_i64_block atomic_fetch_and_i64_device atomic_fetch_and_i64_system;
        f32 u32 AtomicU32 reg32 ".and.b32":
            atomic_fetch_and_f32_block atomic_fetch_and_f32_device atomic_fetch_and_f32_system;
        f64 u64 AtomicU64 reg64 ".and.b64":
            atomic_fetch_and_f64_block atomic_fetch_and_f64_device atomic_fetch_and_f64_system;
    }
    "Computes the bitwise OR with `val`.", |a, b| Word::from_word(a.into_word() | b.into_word()), |val| val; {
        u32 u32 AtomicU32 reg32 ".or.b32":
            atomic_fetch_or_u32_block atomic_fetch_or_u32_device atomic_fetch_or_u32_system;
        u64 u64 AtomicU64 reg64 ".or.b64":
            atomic_fetch_or_u64_block atomic_fetch_or_u64_device atomic_fetch_or_u64_system;
        i32 u32 AtomicU32 reg32 ".or.b32":
            atomic_fetch_or_i32_block atomic_fetch_or_i32_device atomic_fetch_or_i32_system;
        i64 u64 AtomicU64 reg64 ".or.b64":
            atomic_fetch_or_i64_block atomic_fetch_or_i64_device atomic_fetch_or_i64_system;
        f32 u32 AtomicU32 reg32 ".or.b32":
            atomic_fetch_or_f32_block atomic_fetch_or_f32_device atomic_fetch_or_f32_system;
        f64 u64 AtomicU64 reg64 ".or.b64":
            atomic_fetch_or_f64_block atomic_fetch_or_f64_device atomic_fetch_or_f64_system;
    }
    "Computes the bitwise XOR with `val`.", |a, b| Word::from_word(a.into_word() ^ b.into_word()), |val| val; {
        u32 u32 AtomicU32 reg32 ".xor.b32":
            atomic_fetch_xor_u32_block atomic_fetch_xor_u32_device atomic_fetch_xor_u32_system;
        u64 u64 AtomicU64 reg64 ".xor.b64":
            atomic_fetch_xor_u64_block atomic_fetch_xor_u64_device atomic_fetch_xor_u64_system;
        i32 u32 AtomicU32 reg32 ".xor.b32":
            atomic_fetch_xor_i32_block atomic_fetch_xor_i32_device atomic_fetch_xor_i32_system;
        i64 u64 AtomicU64 reg64 ".xor.b64":
            atomic_fetch_xor_i64_block atomic_fetch_xor_i64_device atomic_fetch_xor_i64_system;
        f32 u32 AtomicU32 reg32 ".xor.b32":
            atomic_fetch_xor_f32_block atomic_fetch_xor_f32_device atomic_fetch_xor_f32_system;
        f64 u64 AtomicU64 reg64 ".xor.b64":
            atomic_fetch_xor_f64_block atomic_fetch_xor_f64_device atomic_fetch_xor_f64_system;
    }
    "Adds `val`; integers wrap.", |a, b| a.sum(b), |val| val; {
        u32 u32 AtomicU32 reg32 ".add.u32":
            atomic_fetch_add_u32_block atomic_fetch_add_u32_device atomic_fetch_add_u32_system;
        u64 u64 AtomicU64 reg64 ".add.u64":
            atomic_fetch_add_u64_block atomic_fetch_add_u64_device atomic_fetch_add_u64_system;
        i32 u32 AtomicU32 reg32 ".add.s32":
            atomic_fetch_add_i32_block atomic_fetch_add_i32_device atomic_fetch_add_i32_system;
        i64 u64 AtomicU64 reg64 ".add.u64":
            atomic_fetch_add_i64_block atomic_fetch_add_i64_device atomic_fetch_add_i64_system;
        f32 u32 AtomicU32 reg32 ".add.f32":
            atomic_fetch_add_f32_block atomic_fetch_add_f32_device atomic_fetch_add_f32_system;
        f64 u64 AtomicU64 reg64 ".add.f64":
            atomic_fetch_add_f64_block atomic_fetch_add_f64_device atomic_fetch_add_f64_system;
    }
    "Subtracts `val`; integers wrap.", |a, b| a.sum(b.negated()), Word::negated; {
        u32 u32 AtomicU32 reg32 ".add.u32":
            atomic_fetch_sub_u32_block atomic_fetch_sub_u32_device atomic_fetch_sub_u32_system;
        u64 u64 AtomicU64 reg64 ".add.u64":
            atomic_fetch_sub_u64_block atomic_fetch_sub_u64_device atomic_fetch_sub_u64_system;
        i32 u32 AtomicU32 reg32 ".add.s32":
            atomic_fetch_sub_i32_block atomic_fetch_sub_i32_device atomic_fetch_sub_i32_system;
        i64 u64 AtomicU64 reg64 ".add.u64":
            atomic_fetch_sub_i64_block atomic_fetch_sub_i64_device atomic_fetch_sub_i64_system;
        f32 u32 AtomicU32 reg32 ".add.f32":
            atomic_fetch_sub_f32_block atomic_fetch_sub_f32_device atomic_fetch_sub_f32_system;
        f64 u64 AtomicU64 reg64 ".add.f64":
            atomic_fetch_sub_f64_block atomic_fetch_sub_f64_device atomic_fetch_sub_f64_system;
    }
    "Computes the minimum of both.", |a, b| a.min(b), |val| val; {
        u32 u32 AtomicU32 reg32 ".min.u32":
            atomic_fetch_min_u32_block atomic_fetch_min_u32_device atomic_fetch_min_u32_system;
        u64 u64 AtomicU64 reg64 ".min.u64":
            atomic_fetch_min_u64_block atomic_fetch_min_u64_device atomic_fetch_min_u64_system;
        i32 u32 AtomicU32 reg32 ".min.s32":
            atomic_fetch_min_i32_block atomic_fetch_min_i32_device atomic_fetch_min_i32_system;
        i64 u64 AtomicU64 reg64 ".min.s64":
            atomic_fetch_min_i64_block atomic_fetch_min_i64_device atomic_fetch_min_i64_system;
    }
    "Computes the maximum of both.", |a, b| a.max(b), |val| val; {
        u32 u32 AtomicU32 reg32 ".max.u32":
            atomic_fetch_max_u32_block atomic_fetch_max_u32_device atomic_fetch_max_u32_system;
        u64 u64 AtomicU64 reg64 ".max.u64":
            atomic_fetch_max_u64_block atomic_fetch_max_u64_device atomic_fetch_max_u64_system;
        i32 u32 AtomicU32 reg32 ".max.s32":
            atomic_fetch_max_i32_block atomic_fetch_max_i32_device atomic_fetch_max_i32_system;
        i64 u64 AtomicU64 reg64 ".max.s64":
            atomic_fetch_max_i64_block atomic_fetch_max_i64_device atomic_fetch_max_i64_system;
    }
    "Writes `val`.", |_, b| b, |val| val; {
        u32 u32 AtomicU32 reg32 ".exch.b32":
            atomic_fetch_exch_u32_block atomic_fetch_exch_u32_device atomic_fetch_exch_u32_system;
        u64 u64 AtomicU64 reg64 ".exch.b64":
            atomic_fetch_exch_u64_block atomic_fetch_exch_u64_device atomic_fetch_exch_u64_system;
        i32 u32 AtomicU32 reg32 ".exch.b32":
            atomic_fetch_exch_i32_block atomic_fetch_exch_i32_device atomic_fetch_exch_i32_system;
        i64 u64 AtomicU64 reg64 ".exch.b64":
            atomic_fetch_exch_i64_block atomic_fetch_exch_i64_device atomic_fetch_exch_i64_system;
        f32 u32 AtomicU32 reg32 ".exch.b32":
            atomic_fetch_exch_f32_block atomic_fetch_exch_f32_device atomic_fetch_exch_f32_system;
        f64 u64 AtomicU64 reg64 ".exch.b64":
            atomic_fetch_exch_f64_block atomic_fetch_exch_f64_device atomic_fetch_exch_f64_system;
    }
}

macro_rules! swaps {
    ($($type:ident $word:ident $host:ident $register:ident $rest:literal: $block:ident $device:ident $system:ident;)*) => {$(
        in_scopes!(swaps, $block $device $system, ($type $word $host $register $rest));
    )*};
    (@one $scope:literal, $of:literal, $name:ident,
        ($type:ident $word:ident $host:ident $register:ident $rest:literal)) => {
        #[doc = concat!("Writes `new` if the bits of `current` are there. Among threads of ", $of, ".")]
        ///
        /// # Safety
        /// The contract of the [module](self).
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $type, current: $type, new: $type, ordering: Ordering) -> $type {
            #[cfg(target_arch = "nvptx64")]
            {
                let before: $word;
                // SAFETY: by the contract of the module, the address is valid and aligned.
                unsafe {
                    atom!(
                        ordering, $scope, concat!($rest, " {before}, [{address}], {current}, {new};"),
                        [
                            before = out($register) before, address = in(reg64) ptr,
                            current = in($register) current.into_word(), new = in($register) new.into_word(),
                        ]
                    );
                }
                <$type>::from_word(before)
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                // SAFETY: by the contract of the module, the address is valid and aligned.
                let cell = unsafe { atomic::$host::from_ptr(ptr.cast()) };
                let (current, new) = (current.into_word(), new.into_word());
                let before = cell.compare_exchange(current, new, ordering, failed(ordering));
                <$type>::from_word(before.unwrap_or_else(|before| before))
            }
        }
    };
}

swaps! {
    u32 u32 AtomicU32 reg32 ".cas.b32":
        atomic_compare_and_swap_u32_block atomic_compare_and_swap_u32_device atomic_compare_and_swap_u32_system;
    u64 u64 AtomicU64 reg64 ".cas.b64":
        atomic_compare_and_swap_u64_block atomic_compare_and_swap_u64_device atomic_compare_and_swap_u64_system;
    i32 u32 AtomicU32 reg32 ".cas.b32":
        atomic_compare_and_swap_i32_block atomic_compare_and_swap_i32_device atomic_compare_and_swap_i32_system;
    i64 u64 AtomicU64 reg64 ".cas.b64":
        atomic_compare_and_swap_i64_block atomic_compare_and_swap_i64_device atomic_compare_and_swap_i64_system;
    f32 u32 AtomicU32 reg32 ".cas.b32":
        atomic_compare_and_swap_f32_block atomic_compare_and_swap_f32_device atomic_compare_and_swap_f32_system;
    f64 u64 AtomicU64 reg64 ".cas.b64":
        atomic_compare_and_swap_f64_block atomic_compare_and_swap_f64_device atomic_compare_and_swap_f64_system;
}
