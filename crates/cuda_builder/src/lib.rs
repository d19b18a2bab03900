//! Compiles a Rust kernel crate to PTX
