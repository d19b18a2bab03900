//! The states of the library's own statistics: the list of them, from which dispatch chooses.

use gridstride_runtime::device::Element;
use time_series_kernels::{MOMENTS, SUMMARIES, StatesOf, Statistics};

pub use time_series_kernels::{Moments, Summary};

use super::custom::Custom;
use crate::MODULE;

/// Evaluates an expression with a name for the smallest state that has all statistics of a
/// [`State`](time_series_kernels::State).
macro_rules! with_smallest_state {
    ($state:expr, $name:ident => $result:expr) => {
        match $state {
            time_series_kernels::State::Sums => {
                type $name = time_series_kernels::Sums;
                $result
            }
            time_series_kernels::State::Summary => {
                type $name = time_series_kernels::Summary;
                $result
            }
            time_series_kernels::State::Moments => {
                type $name = time_series_kernels::Moments;
                $result
            }
        }
    };
}
pub(super) use with_smallest_state;

/// As [`with_smallest_state`], among the states that are [`BucketState`]s.
macro_rules! with_smallest_bucket_state {
    ($state:expr, $name:ident => $result:expr) => {
        match $state {
            time_series_kernels::State::Sums | time_series_kernels::State::Summary => {
                type $name = time_series_kernels::Summary;
                $result
            }
            time_series_kernels::State::Moments => {
                type $name = time_series_kernels::Moments;
                $result
            }
        }
    };
}
pub(super) use with_smallest_bucket_state;

/// What [`Summaries`](super::Summaries) keep of each bucket: a state from which statistics are
/// computed, and which merges with the states of other buckets. [`Summary`] has all statistics but
/// skewness and kurtosis, which the larger [`Moments`] has too.
///
/// ```
/// use gridstride::Device;
/// use gridstride::time_series::{Method, Moments, TimeBuckets};
/// use ndarray::array;
///
/// let (timestamps, values) = (array![0, 1, 9, 14], array![1.0, 2.0, 2.0, 3.0]);
/// let fine = TimeBuckets::every(5)
///     .summaries_of::<Moments, _>(&Device::auto(), &[0, 4], timestamps.view(), values.view())?;
/// let coarse = fine.resample(20)?.columns(&[Method::SKEW, Method::KURT], 1)?;
/// assert_eq!(coarse.columns(), [array![0.0], array![1.5]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub trait BucketState: Statistics + Element + PartialEq {
    /// Returns the aggregate whose results are the states, as a user would define it.
    #[doc(hidden)]
    fn aggregate() -> Custom<StatesOf<Self>>;

    /// The words of a state that are two numbers of 32 bits.
    #[doc(hidden)]
    const PAIRS: &[usize];

    /// Returns whether the words of a state, as on little-endian machines, have its scales: those of
    /// a file may not.
    #[doc(hidden)]
    fn has_scales(words: &[u64]) -> bool;
}

// Behind each state, the halves of its words that are scales, with their largest values. Such a word
// holds two 32-bit numbers.
macro_rules! bucket_states {
    ($($state:ident = $kernels:ident, $($place:literal $most:literal)*;)*) => {$(
        impl BucketState for $state {
            fn aggregate() -> Custom<StatesOf<$state>> {
                Custom::with_kernels(StatesOf::NEW, &MODULE, &$kernels)
            }

            const PAIRS: &[usize] = &[$($place / 2),*];

            fn has_scales(words: &[u64]) -> bool {
                let half = |place: usize| (words[place / 2] >> (32 * (place % 2))) as u32;
                [$(($place, $most)),*].iter().all(|&(place, most)| half(place) <= most)
            }
        }
    )*};
}
bucket_states! {
    Summary = SUMMARIES, 19 2;
    Moments = MOMENTS, 19 2 28 6;
}
