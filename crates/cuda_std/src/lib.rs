//! What a GPU kernel written in Rust may call: threads, warps, shared memory, atomics, float functions
