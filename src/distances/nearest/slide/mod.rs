//! The nearest sequences for each query, by their slide distances.

mod calls;
pub mod cpu;
pub mod gpu;
mod tuning;

pub use calls::slide_nearest;
