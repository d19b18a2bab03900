//! The types of a sketch's entries.

use super::dispatch::Dispatch;
use crate::Real;

/// `f32` or `f64`: the type of a sketch's entries, and of their sums. Sealed.
pub trait Entry: Real + Dispatch {}

impl Entry for f32 {}
impl Entry for f64 {}
