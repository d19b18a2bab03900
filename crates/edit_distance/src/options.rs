//! The options of edit distances.

/// The result for a pair whose distance is above the [limit](EditDistance::with_limit).
///
/// No distance has this value, since sequences have at most `u32::MAX` − 1 letters.
pub const ABOVE_LIMIT: u32 = u32::MAX;

/// Configurable edit distances. [`edit_distances`](super::edit_distances()) uses the defaults.
///
/// Each call takes sequences of the host, with a new result or
/// [into](Self::edit_distances_into) an existing one, or sequences in a device's memory, with a
/// [new](Self::edit_distances_device) result or [into](Self::edit_distances_device_into) an existing
/// one.
///
/// ```
/// use gridstride::Device;
/// use gridstride::edit_distance::{ABOVE_LIMIT, EditDistance};
/// use gridstride::sequences::Sequences;
/// use ndarray::array;
///
/// let a: Sequences = [b"kitten", b"GATTAC"].iter().collect();
/// let b: Sequences = [b"sittin", b"CCCCCC"].iter().collect();
/// let similar = EditDistance::new().with_limit(4);
/// assert_eq!(similar.edit_distances(&Device::auto(), &a, &b)?, array![2, ABOVE_LIMIT]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct EditDistance {
    /// `u32::MAX` if there is no limit: no distance is larger.
    pub(super) limit: u32,
}

impl Default for EditDistance {
    fn default() -> EditDistance {
        EditDistance { limit: u32::MAX }
    }
}

impl EditDistance {
    /// Returns the defaults.
    pub fn new() -> EditDistance {
        EditDistance::default()
    }

    /// Sets the largest distance of interest: the result is [`ABOVE_LIMIT`] for a pair whose
    /// distance is larger. By default there is no limit.
    ///
    /// Only entries of D near the diagonal are then computed, about `limit` of each row. On the CPU
    /// there are up to 512 more, the rows of a strip, and narrower bands are computed first. On GPUs
    /// there are up to 4352 more, the rows of a strip and two chunks of 128 columns, and pairs whose
    /// shorter sequence has at most 4096 letters are computed as a whole.
    pub fn with_limit(self, limit: u32) -> EditDistance {
        EditDistance { limit }
    }
}
