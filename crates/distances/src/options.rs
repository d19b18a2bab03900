//! The options of distances.

gridstride_runtime::choice! {
    /// How to measure the distance of two rows.
    pub enum Metric("metric"), default L2 {
        /// √Σ (a − b)², the Euclidean distance.
        L2("euclidean" | "l2"),
        /// Σ (a − b)², the square of the Euclidean distance.
        SquaredL2("sqeuclidean" | "squared-l2"),
    }
}

/// Configurable distances. [`distances`](super::distances) and [`pairwise`](super::pairwise) use
/// the defaults.
///
/// Each call takes host arrays, with a new result or [into](Self::distances_into) an existing one,
/// or arrays in a device's memory, with a [new](Self::distances_device) result or
/// [into](Self::distances_device_into) an existing one.
///
/// ```
/// use gridstride::Device;
/// use gridstride::distances::{Distances, Metric};
/// use ndarray::array;
///
/// let squared = Distances::new().metric(Metric::SquaredL2);
/// let rows = array![[0.0f32, 0.0], [3.0, 4.0]];
/// assert_eq!(squared.pairwise(&Device::auto(), rows.view())?, array![[0.0, 25.0], [25.0, 0.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Distances {
    pub(super) metric: Metric,
}

impl Distances {
    /// Returns the defaults.
    pub fn new() -> Distances {
        Distances::default()
    }

    /// Sets how to measure distances; by default [`Metric::L2`].
    pub fn metric(self, metric: Metric) -> Distances {
        Distances { metric }
    }
}
