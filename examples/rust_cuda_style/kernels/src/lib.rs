//! Kernels in the style of Rust-CUDA: slices as parameters, results through a pointer, and a crate
//! that knows nothing of GPUs.

use cuda_std::prelude::*;
use sha2::{Digest, Sha256};

/// Adds two vectors of the same length.
///
/// # Safety
/// `c` has at least `a.len()` elements.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let idx = thread::index_1d() as usize;
    if idx < a.len() {
        // SAFETY: the launch gives `c` an element for each of `a`, and each thread has its own.
        let elem = unsafe { &mut *c.add(idx) };
        *elem = a[idx] + b[idx];
    }
}

/// Hashes messages of `length` bytes each, which lie one behind the other; `length` is positive.
///
/// # Safety
/// `digests` has room for one digest per message.
#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn sha256(messages: &[u8], length: usize, digests: *mut [u8; 32]) {
    let idx = thread::index_1d() as usize;
    if idx < messages.len() / length {
        let message = &messages[idx * length..][..length];
        // SAFETY: the launch gives `digests` an element for each message, and each thread has its
        // own.
        let digest = unsafe { &mut *digests.add(idx) };
        digest.copy_from_slice(&Sha256::digest(message));
    }
}
