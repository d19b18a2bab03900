//! The types of coordinates.

use super::dispatch::Dispatch;
use crate::Number;

/// A type of coordinates of boxes: `f32`, `f64` or `i32`. Sealed.
pub trait Coordinate: Number + Dispatch {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}
impl Coordinate for i32 {}
