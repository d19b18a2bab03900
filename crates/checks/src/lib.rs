//! Random inputs, and checks of results that are too large to be computed twice. The programs
//! and the benchmarks share them.

pub mod matmul;
pub mod random;
