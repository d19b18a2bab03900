//! GPU kernels written in Rust over ndarray views.
