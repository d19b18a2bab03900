//! The types of values.

use super::dispatch::Dispatch;
use crate::Real;

/// A type of values: `f64` or `f32`. Everything is computed in `f64`.
pub trait Value: Real + Dispatch {}

impl Value for f64 {}
impl Value for f32 {}
