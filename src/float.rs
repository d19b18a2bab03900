//! The trait for code that is generic over all kernels.

use crate::Real;

/// `f32` or `f64`, for functions that are generic over the type of all kernels' numbers: a `Float` is
/// an element of matrices, sketches and rows, a coordinate of boxes and a value of time series.
///
/// For each kernel that is compiled, the trait implies the kernel's own:
/// [`matmul::Sum`](crate::matmul::Sum) and [`matmul::Scalar`](crate::matmul::Scalar),
/// [`distances::Component`](crate::distances::Component),
/// [`box_overlap::Coordinate`](crate::box_overlap::Coordinate),
/// [`time_series::Value`](crate::time_series::Value) and
/// [`tensor_sketch::Entry`](crate::tensor_sketch::Entry). Sealed.
///
/// ```
/// # #[cfg(all(feature = "matmul", feature = "distances"))] {
/// use gridstride::{Device, Float, Result, distances::pairwise, matmul::matmul};
/// use ndarray::{Array2, ArrayView2, array};
///
/// /// Returns the distances of rows after a projection: N×D · D×K, then N×N.
/// fn projected<T: Float>(
///     device: &Device,
///     rows: ArrayView2<T>,
///     projection: ArrayView2<T>,
/// ) -> Result<Array2<f64>> {
///     let projected = matmul(device, rows, projection)?;
///     pairwise(device, projected.view())
/// }
///
/// let (rows, projection) = (array![[1.0, 9.0], [4.0, 7.0]], array![[1.0], [0.0]]);
/// let device = Device::auto();
/// let distances = projected(&device, rows.view(), projection.view())?;
/// assert_eq!(distances, array![[0.0, 3.0], [3.0, 0.0]]);
/// let (rows, projection) = (rows.mapv(|x| x as f32), projection.mapv(|x| x as f32));
/// assert_eq!(projected(&device, rows.view(), projection.view())?, distances);
/// # }
/// # Ok::<(), gridstride::Error>(())
/// ```
pub trait Float:
    Real
    + kernels::BoxOverlap
    + kernels::Distances
    + kernels::MatMul
    + kernels::TensorSketch
    + kernels::TimeSeries
{
}

impl Float for f32 {}
impl Float for f64 {}

/// The traits that [`Float`] implies for each kernel: the kernel's trait, or nothing in builds without it.
mod kernels {
    macro_rules! implied {
        ($($feature:literal $kernel:ident: $bound:path;)*) => {$(
            #[cfg(feature = $feature)]
            pub trait $kernel: $bound {}
            #[cfg(feature = $feature)]
            impl<T: $bound> $kernel for T {}
            #[cfg(not(feature = $feature))]
            pub trait $kernel {}
            #[cfg(not(feature = $feature))]
            impl<T> $kernel for T {}
        )*};
    }
    implied! {
        "box-overlap" BoxOverlap: crate::box_overlap::Coordinate;
        "distances" Distances: crate::distances::Component;
        "matmul" MatMul: crate::matmul::Sum;
        "tensor-sketch" TensorSketch: crate::tensor_sketch::Entry;
        "time-series" TimeSeries: crate::time_series::Value;
    }
}
