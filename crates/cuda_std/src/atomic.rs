//! Atomic operations on global or shared memory, of device scope and relaxed order.
//!
//! They take raw pointers, as other threads hold the same address. Each returns the value that
//! stood there before. Float addition gives results that depend on the order in which threads
//! arrive: it is not the same from run to run.

mod floats;
pub mod mid;

pub use floats::*;

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Integers with atomic operations in GPU hardware: 32 and 64 bits, signed and unsigned.
pub trait AtomicInteger: Copy {
    /// See [`add`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_add(address: *mut Self, value: Self) -> Self;
    /// See [`min`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_min(address: *mut Self, value: Self) -> Self;
    /// See [`max`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_max(address: *mut Self, value: Self) -> Self;
    /// See [`and`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_and(address: *mut Self, value: Self) -> Self;
    /// See [`or`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_or(address: *mut Self, value: Self) -> Self;
    /// See [`xor`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn fetch_xor(address: *mut Self, value: Self) -> Self;
    /// See [`load`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn load(address: *mut Self) -> Self;
    /// See [`store`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn store(address: *mut Self, value: Self);
    /// See [`exchange`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn swap(address: *mut Self, value: Self) -> Self;
    /// See [`compare_exchange`].
    ///
    /// # Safety
    /// As of [`add`].
    unsafe fn compare_exchange(address: *mut Self, expected: Self, value: Self) -> Self;
}

macro_rules! integer {
    ($($type:ty, $atomic:ty;)*) => {$(
        impl AtomicInteger for $type {
            integer!(@methods $type, $atomic, fetch_add, fetch_and, fetch_or, fetch_xor, swap);
            integer!(@bounds $type, $atomic, fetch_min = min, fetch_max = max);
            #[inline(always)]
            unsafe fn load(address: *mut Self) -> Self {
                // SAFETY: valid, aligned and only accessed atomically by the caller's promise.
                unsafe { <$atomic>::from_ptr(address) }.load(Relaxed)
            }
            #[inline(always)]
            unsafe fn store(address: *mut Self, value: Self) {
                // SAFETY: valid, aligned and only accessed atomically by the caller's promise.
                unsafe { <$atomic>::from_ptr(address) }.store(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn compare_exchange(address: *mut Self, expected: Self, value: Self) -> Self {
                // SAFETY: valid, aligned and only accessed atomically by the caller's promise.
                match unsafe { <$atomic>::from_ptr(address) }.compare_exchange(expected, value, Relaxed, Relaxed) {
                    Ok(before) | Err(before) => before,
                }
            }
        }
    )*};
    (@methods $type:ty, $atomic:ty, $($method:ident),*) => {$(
        #[inline(always)]
        unsafe fn $method(address: *mut Self, value: Self) -> Self {
            // SAFETY: valid, aligned and only accessed atomically by the caller's promise.
            unsafe { <$atomic>::from_ptr(address) }.$method(value, Relaxed)
        }
    )*};
    (@bounds $type:ty, $atomic:ty, $($method:ident = $bound:ident),*) => {$(
        #[inline(always)]
        unsafe fn $method(address: *mut Self, value: Self) -> Self {
            // SAFETY: valid, aligned and only accessed atomically by the caller's promise.
            let cell = unsafe { <$atomic>::from_ptr(address) };
            if cfg!(feature = "race-detector") {
                // LLVM's pass does not see atomic minima and maxima.
                let bound = |before: Self| Some(before.$bound(value));
                let before = cell.try_update(Relaxed, Relaxed, bound);
                before.unwrap_or_else(|before| before)
            } else {
                cell.$method(value, Relaxed)
            }
        }
    )*};
}

integer! {
    u32, AtomicU32;
    i32, AtomicI32;
    u64, AtomicU64;
    i64, AtomicI64;
}

macro_rules! operation {
    ($($(#[$doc:meta])* $name:ident = $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// `address` must be valid, aligned and initialised; while threads use it atomically, no
        /// thread may access it otherwise.
        #[inline(always)]
        pub unsafe fn $name<T: AtomicInteger>(address: *mut T, value: T) -> T {
            // SAFETY: by the contract of this function, `address` must be valid, aligned and
            // initialised; while threads use it atomically, no thread may access it otherwise.
            unsafe { T::$method(address, value) }
        }
    )*};
}

operation! {
    /// Adds `value`, wrapping.
    add = fetch_add;
    /// Keeps the smaller of what stands there and `value`.
    min = fetch_min;
    /// Keeps the larger of what stands there and `value`.
    max = fetch_max;
    /// Bitwise and with `value`.
    and = fetch_and;
    /// Bitwise or with `value`.
    or = fetch_or;
    /// Bitwise exclusive or with `value`.
    xor = fetch_xor;
    /// Writes `value`.
    exchange = swap;
}

/// Returns the present value, also if another thread wrote it a moment ago.
///
/// # Safety
/// As of [`add`].
#[inline(always)]
pub unsafe fn load<T: AtomicInteger>(address: *mut T) -> T {
    // SAFETY: by the contract of this function, `address` is valid, aligned and only accessed
    // atomically.
    unsafe { T::load(address) }
}

/// Writes `value`.
///
/// # Safety
/// As of [`add`].
#[inline(always)]
pub unsafe fn store<T: AtomicInteger>(address: *mut T, value: T) {
    // SAFETY: by the contract of this function, `address` is valid, aligned and only accessed
    // atomically.
    unsafe { T::store(address, value) }
}

/// Writes `value` if `expected` stands there; returns what stood there, which equals `expected`
/// when the write was done.
///
/// # Safety
/// As of [`add`].
#[inline(always)]
pub unsafe fn compare_exchange<T: AtomicInteger>(address: *mut T, expected: T, value: T) -> T {
    // SAFETY: by the contract of this function, `address` is valid, aligned and only accessed
    // atomically.
    unsafe { T::compare_exchange(address, expected, value) }
}

macro_rules! float_add {
    ($($(#[$doc:meta])* $name:ident, $type:ty, $atomic:ty, $instruction:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As of [`add`].
        #[inline(always)]
        pub unsafe fn $name(address: *mut $type, value: $type) -> $type {
            #[cfg(target_arch = "nvptx64")]
            {
                unsafe extern "C" {
                    // Rust has no atomic floats: cuda_builder makes an instruction of the call.
                    #[link_name = $instruction]
                    fn add(address: *mut $type, value: $type) -> $type;
                }
                // SAFETY: valid and aligned by the caller's promise.
                unsafe { add(address, value) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                // SAFETY: valid, aligned and only accessed atomically by the caller's promise; the
                // atomic type has the float's size and alignment.
                let cell = unsafe { <$atomic>::from_ptr(address.cast()) };
                let sum = |bits| Some((<$type>::from_bits(bits) + value).to_bits());
                match cell.try_update(Relaxed, Relaxed, sum) {
                    Ok(before) | Err(before) => <$type>::from_bits(before),
                }
            }
        }
    )*};
}

float_add! {
    /// Adds `value` to an `f32`.
    ///
    /// In global memory GPUs take subnormal numbers for zeros here, those that they add and those
    /// that come out; in shared memory, and in the simulator, they are what they are.
    add_f32, f32, AtomicU32, "__atomic_add_f32";
    /// Adds `value` to an `f64`.
    add_f64, f64, AtomicU64, "__atomic_add_f64";
}
