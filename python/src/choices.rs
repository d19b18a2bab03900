//! The options with named values.

use gridstride::Choice;
use gridstride::box_overlap::Algorithm;
use gridstride::distances::Metric;
use gridstride::matmul::Precision;
use gridstride::sequences::{NamedAlphabet, Unknown};
use gridstride::tensor_sketch::Form;
use gridstride::time_series::{Duplicates, Nan, Singletons};
use pyo3::prelude::*;

use crate::tensor_sketch::Dtype;

/// Returns the options with the names of their values: the annotations of the package's Python
/// files repeat these, and a test compares them.
#[pyfunction]
pub fn choices() -> Vec<(&'static str, Vec<&'static str>)> {
    fn names<C: Choice>() -> (&'static str, Vec<&'static str>) {
        let names = C::ALL.iter().map(|value| value.name());
        (C::OPTION, names.collect())
    }
    vec![
        names::<Algorithm>(),
        names::<Dtype>(),
        names::<Duplicates>(),
        names::<Form>(),
        names::<Metric>(),
        names::<Nan>(),
        names::<NamedAlphabet>(),
        names::<Precision>(),
        names::<Singletons>(),
        names::<Unknown>(),
    ]
}
