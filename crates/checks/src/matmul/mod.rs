//! Random matrices, and rows of their products against the plain version.

mod check;
mod number;
mod random;

pub use check::{Check, Checked};
pub use number::Real;
pub use random::matrix;
