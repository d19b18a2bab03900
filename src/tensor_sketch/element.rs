//! The types of numbers that a sketch can have.

use super::dispatch::Dispatch;
use crate::Real;

/// `f32` or `f64`: the type of a sketch's entries, and of the sums that lead to them. Sealed.
pub trait Entry: Real + Dispatch {}

impl Entry for f32 {}
impl Entry for f64 {}
