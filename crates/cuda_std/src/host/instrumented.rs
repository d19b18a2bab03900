//! The functions that LLVM's ThreadSanitizer pass calls for each access to memory. Crates that are
//! compiled with that pass hand their accesses to the current lane. Outside of kernels the atomic
//! operations are performed, and nothing else happens.

use super::access::{Access, AccessKind, AccessSite, Ordered};
use super::lane::{Lane, current};
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_int;
use core::sync::atomic::{
    self, AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::alloc::System;

static IS_LINKED: AtomicBool = AtomicBool::new(false);

/// Whether the program has a crate that was compiled with the pass.
pub fn is_instrumented() -> bool {
    IS_LINKED.load(Relaxed)
}

/// Called once for each instrumented crate, before `main`.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    IS_LINKED.store(true, Relaxed);
}

/// Defines functions that go on in others with the caller's address as the sixth argument.
macro_rules! with_caller {
    ($($name:ident => $target:expr;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("mov r9, [rsp]", "jmp {}", sym $target);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("mov x5, x30", "b {}", sym $target);
        }
    )*};
}

/// An argument whose register the caller has not set.
type Unset = usize;

with_caller! {
    __tsan_read1 => access::<1, false, 1>;
    __tsan_read2 => access::<2, false, 2>;
    __tsan_read4 => access::<4, false, 4>;
    __tsan_read8 => access::<8, false, 8>;
    __tsan_read16 => access::<16, false, 8>;
    __tsan_write1 => access::<1, true, 1>;
    __tsan_write2 => access::<2, true, 2>;
    __tsan_write4 => access::<4, true, 4>;
    __tsan_write8 => access::<8, true, 8>;
    __tsan_write16 => access::<16, true, 8>;
    __tsan_unaligned_read2 => access::<2, false, 1>;
    __tsan_unaligned_read4 => access::<4, false, 1>;
    __tsan_unaligned_read8 => access::<8, false, 1>;
    __tsan_unaligned_read16 => access::<16, false, 1>;
    __tsan_unaligned_write2 => access::<2, true, 1>;
    __tsan_unaligned_write4 => access::<4, true, 1>;
    __tsan_unaligned_write8 => access::<8, true, 1>;
    __tsan_unaligned_write16 => access::<16, true, 1>;
    __tsan_memcpy => copy;
    __tsan_memmove => copy;
    __tsan_memset => fill;
}

/// The pass takes accesses of 16 bytes that are aligned to 8 as aligned.
extern "C" fn access<const BYTES: usize, const WRITES: bool, const ALIGNMENT: usize>(
    address: usize,
    _: Unset,
    _: Unset,
    _: Unset,
    _: Unset,
    caller: usize,
) {
    if let Some(lane) = current() {
        let kind = if WRITES {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        tell(lane, address, BYTES, ALIGNMENT, kind, caller);
    }
}

fn tell(
    lane: &dyn Lane,
    address: usize,
    bytes: usize,
    alignment: usize,
    kind: AccessKind,
    caller: usize,
) {
    let site = AccessSite::Code(caller);
    lane.access(Access {
        address,
        bytes,
        kind,
        alignment,
        site,
    });
}

unsafe extern "C" fn copy(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    _: Unset,
    _: Unset,
    caller: usize,
) -> *mut u8 {
    if let Some(lane) = current() {
        tell(lane, from as usize, bytes, 1, AccessKind::Read, caller);
        tell(lane, to as usize, bytes, 1, AccessKind::Write, caller);
    }
    // SAFETY: the pass calls this in the place of a copy with these arguments.
    unsafe { to.copy_from(from, bytes) };
    to
}

unsafe extern "C" fn fill(
    to: *mut u8,
    byte: c_int,
    bytes: usize,
    _: Unset,
    _: Unset,
    caller: usize,
) -> *mut u8 {
    if let Some(lane) = current() {
        tell(lane, to as usize, bytes, 1, AccessKind::Write, caller);
    }
    // SAFETY: the pass calls this in the place of a fill with these arguments.
    unsafe { to.write_bytes(byte as u8, bytes) };
    to
}

/// The system's allocator, which tells lanes of what they get: threads of a kernel may get the same
/// memory one after the other.
struct Told;

#[global_allocator]
static ALLOCATOR: Told = Told;

// SAFETY: the allocator is the system's.
unsafe impl GlobalAlloc for Told {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: `System` asks for a layout whose size is not 0, as `GlobalAlloc::alloc` asks the
        // caller of this function.
        let start = unsafe { System.alloc(layout) };
        if !start.is_null()
            && let Some(lane) = current()
        {
            lane.order(Ordered::Allocate {
                address: start as usize,
                bytes: layout.size(),
            });
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: by the contract of `GlobalAlloc::dealloc`, `alloc` has returned `start` for this
        // layout, so the memory is from `System`.
        unsafe { System.dealloc(start, layout) };
    }
}

/// C's numbers of orders.
fn acquires(order: c_int) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

fn releases(order: c_int) -> bool {
    order >= 3
}

/// An atomic operation: the access, and what it orders.
#[derive(Clone, Copy)]
enum Atomic {
    Load,
    Store,
    Update,
}

fn atomic(address: usize, bytes: usize, operation: Atomic, order: c_int, caller: usize) {
    let Some(lane) = current() else { return };
    let kind = match operation {
        Atomic::Load => AccessKind::AtomicRead,
        Atomic::Store | Atomic::Update => AccessKind::AtomicWrite,
    };
    tell(lane, address, bytes, bytes, kind, caller);
    if !matches!(operation, Atomic::Store) {
        lane.order(Ordered::Acquire {
            address,
            is_relaxed: !acquires(order),
        });
    }
    if !matches!(operation, Atomic::Load) {
        lane.order(Ordered::Release {
            address,
            is_relaxed: !releases(order),
            keeps: matches!(operation, Atomic::Update),
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(_order: c_int) {
    atomic::fence(SeqCst);
    if let Some(lane) = current() {
        lane.order(Ordered::Fence);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {
    atomic::compiler_fence(SeqCst);
}

/// The operations on one type. The strongest order stands for all others.
macro_rules! atomics {
    ($($module:ident, $type:ty, $atomic:ty, $load:ident $store:ident $exchange:ident
        $compare:ident $($fetch:ident = $method:ident)*;)*) => {$(
        mod $module {
            use super::*;

            with_caller! {
                $load => load;
                $store => store;
                $exchange => swap;
                $compare => compare;
                $($fetch => $method;)*
            }

            unsafe extern "C" fn load(
                address: *mut $type, order: c_int, _: Unset, _: Unset, _: Unset, caller: usize,
            ) -> $type {
                atomic(address as usize, size_of::<$type>(), Atomic::Load, order, caller);
                // SAFETY: the pass calls this in the place of the operation at this address.
                unsafe { <$atomic>::from_ptr(address) }.load(SeqCst)
            }

            unsafe extern "C" fn store(
                address: *mut $type, value: $type, order: c_int, _: Unset, _: Unset, caller: usize,
            ) {
                atomic(address as usize, size_of::<$type>(), Atomic::Store, order, caller);
                // SAFETY: as for `load`.
                unsafe { <$atomic>::from_ptr(address) }.store(value, SeqCst);
            }

            unsafe extern "C" fn compare(
                address: *mut $type, expected: $type, value: $type, order: c_int, failed: c_int,
                caller: usize,
            ) -> $type {
                // SAFETY: as for `load`.
                let cell = unsafe { <$atomic>::from_ptr(address) };
                let result = cell.compare_exchange(expected, value, SeqCst, SeqCst);
                let (operation, order) = match result {
                    Ok(_) => (Atomic::Update, order),
                    Err(_) => (Atomic::Load, failed),
                };
                atomic(address as usize, size_of::<$type>(), operation, order, caller);
                result.unwrap_or_else(|before| before)
            }

            atomics!(@updates $type, $atomic, swap $($method)*);
        }
    )*};
    (@updates $type:ty, $atomic:ty, $($method:ident)*) => {$(
        unsafe extern "C" fn $method(
            address: *mut $type, value: $type, order: c_int, _: Unset, _: Unset, caller: usize,
        ) -> $type {
            atomic(address as usize, size_of::<$type>(), Atomic::Update, order, caller);
            // SAFETY: as for `load`.
            unsafe { <$atomic>::from_ptr(address) }.$method(value, SeqCst)
        }
    )*};
}

atomics! {
    bits8, u8, AtomicU8, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_compare_exchange_val
        __tsan_atomic8_fetch_add = fetch_add __tsan_atomic8_fetch_sub = fetch_sub
        __tsan_atomic8_fetch_and = fetch_and __tsan_atomic8_fetch_or = fetch_or
        __tsan_atomic8_fetch_xor = fetch_xor __tsan_atomic8_fetch_nand = fetch_nand;
    bits16, u16, AtomicU16, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_compare_exchange_val
        __tsan_atomic16_fetch_add = fetch_add __tsan_atomic16_fetch_sub = fetch_sub
        __tsan_atomic16_fetch_and = fetch_and __tsan_atomic16_fetch_or = fetch_or
        __tsan_atomic16_fetch_xor = fetch_xor __tsan_atomic16_fetch_nand = fetch_nand;
    bits32, u32, AtomicU32, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_compare_exchange_val
        __tsan_atomic32_fetch_add = fetch_add __tsan_atomic32_fetch_sub = fetch_sub
        __tsan_atomic32_fetch_and = fetch_and __tsan_atomic32_fetch_or = fetch_or
        __tsan_atomic32_fetch_xor = fetch_xor __tsan_atomic32_fetch_nand = fetch_nand;
    bits64, u64, AtomicU64, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_compare_exchange_val
        __tsan_atomic64_fetch_add = fetch_add __tsan_atomic64_fetch_sub = fetch_sub
        __tsan_atomic64_fetch_and = fetch_and __tsan_atomic64_fetch_or = fetch_or
        __tsan_atomic64_fetch_xor = fetch_xor __tsan_atomic64_fetch_nand = fetch_nand;
}
