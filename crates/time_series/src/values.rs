//! Values on the host, as `f32` or `f64`.

use std::borrow::Cow;
use std::ops::Range;

use gridstride_runtime::device::Element;

/// The values of points on the host. An enum, not a parameter, so that only loops over values are
/// compiled for each type.
#[derive(Clone)]
pub enum Values<'a> {
    F32(Cow<'a, [f32]>),
    F64(Cow<'a, [f64]>),
    /// The call takes timestamps alone.
    None,
}

/// Evaluates an expression that is compiled for each type of values, with a name for the values.
macro_rules! with_values {
    ($values:expr, $name:ident => $result:expr) => {
        match $values {
            $crate::values::Values::F32($name) => $result,
            $crate::values::Values::F64($name) => $result,
            $crate::values::Values::None => unreachable!("a call that reads values has them"),
        }
    };
}
pub(crate) use with_values;

/// A type of values on the host.
pub trait HostValue: Element {
    /// Wraps values of this type.
    fn values(values: Cow<'_, [Self]>) -> Values<'_>;
}

impl HostValue for f32 {
    fn values(values: Cow<'_, [f32]>) -> Values<'_> {
        Values::F32(values)
    }
}

impl HostValue for f64 {
    fn values(values: Cow<'_, [f64]>) -> Values<'_> {
        Values::F64(values)
    }
}

impl Values<'_> {
    /// Returns the values of a range of points.
    pub fn range(&self, points: Range<usize>) -> Values<'_> {
        match self {
            Values::F32(values) => Values::F32(Cow::Borrowed(&values[points])),
            Values::F64(values) => Values::F64(Cow::Borrowed(&values[points])),
            Values::None => Values::None,
        }
    }

    pub fn is_nan(&self, index: usize) -> bool {
        with_values!(self, values => values[index].is_nan())
    }
}
