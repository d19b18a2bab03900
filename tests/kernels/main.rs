//! What all kernels have in common: the forms of calls, determinism, and the traits of public types.
//! The tests of each kernel are in its crate.

mod calls;
mod traits;
