//! The options of a search.

gridstride_runtime::choice! {
    /// The algorithm of a search. All algorithms find the same pairs.
    pub enum Algorithm("algorithm"), default Auto {
        /// The algorithm that is expected to be faster. On GPUs `Auto` searches among up to about 2¹⁸
        /// pairs of at most 1024 boxes in each set by one kernel, which tests every pair. Otherwise
        /// `Auto` tests every pair if one set is small, and else tries the index and switches to brute
        /// force if a sample predicts many pairs, or long paths through the tree. `Auto` takes at most
        /// about twice as long as the faster algorithm. The CPU chooses by the numbers of boxes.
        Auto("auto"),
        /// Tests every pair. This is best on the CPU for small sets, on a GPU if one set is small, and
        /// on both if many pairs overlap, a few percent on a GPU. On GPUs it takes one bit of memory
        /// for each 65 536 pairs of boxes, and some words for each box.
        BruteForce("brute_force" | "brute-force" | "brute"),
        /// Sorts the boxes along Hilbert's curve, builds a packed tree of bounding boxes over the
        /// second set, and searches the tree for each box of the first set. The source is I. Kamel,
        /// C. Faloutsos, 'On Packing R-trees' (1993). On GPUs the search takes about 100 bytes of
        /// memory for each box of the first set and 70 for each box of the second.
        Indexed("indexed"),
    }
}

/// A configurable search for overlapping boxes. [`overlaps`](super::overlaps()) and
/// [`self_overlaps`](super::self_overlaps()) use the defaults.
///
/// ```
/// use gridstride::{Device, box_overlap::{Algorithm, BoxOverlap}};
/// use ndarray::array;
///
/// let boxes = array![[0, 0, 2, 2], [1, 1, 3, 3], [3, 3, 4, 4]];
/// let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
/// let found = search.self_overlaps(&Device::auto(), boxes.view())?;
/// assert_eq!(found.pairs()?, array![[0, 1], [1, 2]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct BoxOverlap {
    pub(super) algorithm: Algorithm,
}

impl BoxOverlap {
    /// Returns a search with the defaults.
    pub fn new() -> BoxOverlap {
        BoxOverlap::default()
    }

    /// Sets the algorithm. The default is [`Algorithm::Auto`].
    pub fn algorithm(self, algorithm: Algorithm) -> BoxOverlap {
        BoxOverlap { algorithm }
    }
}
