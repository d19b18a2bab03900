//! Sequences in the host's memory.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use gridstride_runtime::device::{copied, reserve, zeroed_lazily};
use gridstride_runtime::error::During;
use gridstride_runtime::short::Short;
use gridstride_runtime::{Result, offsets, parallel};
use ndarray::{ArrayBase, ArrayView1, Data, Ix1};

use super::view::SequencesView;

/// The most bytes that a task copies.
const CHUNK: usize = 1 << 20;

/// Sequences of codes, concatenated, and the offset of each sequence.
///
/// ```
/// use gridstride::sequences::Sequences;
/// use ndarray::{array, s};
///
/// let mut sequences = Sequences::new();
/// sequences.push(&[0, 1, 2])?;
/// sequences.push(array![0, 1, 2].slice(s![..;-1]))?; // any strides
/// assert_eq!(sequences.codes(), [0, 1, 2, 2, 1, 0]);
/// assert_eq!(sequences.offsets(), [0, 3, 6]);
///
/// let collected: Sequences = vec![vec![0, 1, 2], vec![2, 1, 0]].into_iter().collect();
/// assert_eq!(collected, sequences);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Unchecked")
)]
pub struct Sequences {
    codes: Vec<u8>,
    offsets: Vec<usize>,
}

/// [`Sequences`] that were read.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Unchecked {
    codes: Vec<u8>,
    offsets: Vec<usize>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for Sequences {
    type Error = gridstride_runtime::Error;

    fn try_from(read: Unchecked) -> Result<Sequences> {
        Sequences::from_concatenated(read.codes, read.offsets)
    }
}

impl Default for Sequences {
    fn default() -> Self {
        Self::new()
    }
}

impl Sequences {
    /// Returns an empty set of sequences.
    pub fn new() -> Sequences {
        Sequences {
            codes: Vec::new(),
            offsets: vec![0],
        }
    }

    /// Takes sequences that are already concatenated: sequence `i` is
    /// `codes[offsets[i]..offsets[i + 1]]`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) with the index of the offset unless
    /// `offsets` begins with 0, never decreases, and ends with the number of codes.
    ///
    /// ```
    /// use gridstride::sequences::Sequences;
    ///
    /// let sequences = Sequences::from_concatenated(vec![0, 1, 2, 3], vec![0, 3, 4])?;
    /// assert_eq!(sequences, Sequences::from(vec![vec![0, 1, 2], vec![3]]));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn from_concatenated(codes: Vec<u8>, offsets: Vec<usize>) -> Result<Sequences> {
        let operation = "Sequences::from_concatenated";
        offsets::check(operation, &offsets, codes.len(), "codes")?;
        Ok(Sequences { codes, offsets })
    }

    /// Adds a sequence at the end.
    ///
    /// # Errors
    /// [`Error::Allocation`](gridstride_runtime::Error::Allocation) if memory runs out. Then nothing was added.
    pub fn push(&mut self, codes: impl Codes) -> Result<()> {
        self.add(codes.codes()).during("Sequences::push")
    }

    /// As [`extend`](Extend::extend), but returns an error if memory runs out.
    ///
    /// # Errors
    /// As [`push`](Self::push). The sequences before the error were added.
    ///
    /// ```
    /// use gridstride::sequences::Sequences;
    ///
    /// let mut sequences = Sequences::new();
    /// sequences.try_extend([vec![0, 1, 2], vec![3]])?;
    /// assert_eq!(sequences.len(), 2);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn try_extend<S: Codes>(&mut self, items: impl IntoIterator<Item = S>) -> Result<()> {
        self.add_all(items).during("Sequences::try_extend")
    }

    /// As [`from_iter`](FromIterator::from_iter), but returns an error if memory runs out.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    ///
    /// ```
    /// use gridstride::sequences::Sequences;
    ///
    /// let owned: Vec<Vec<u8>> = vec![vec![0, 1, 2], vec![3]];
    /// let sequences = Sequences::try_from_iter(&owned)?;
    /// assert_eq!(sequences, owned.into_iter().collect());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn try_from_iter<S: Codes>(items: impl IntoIterator<Item = S>) -> Result<Sequences> {
        let mut sequences = Sequences::new();
        let added = sequences.add_all(items);
        added.during("Sequences::try_from_iter").map(|()| sequences)
    }

    /// Copies slices of codes, one for each sequence, by all threads.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    ///
    /// ```
    /// use gridstride::sequences::Sequences;
    ///
    /// let sequences = Sequences::try_from_slices(&[&[0, 1, 2], &[], &[3]])?;
    /// assert_eq!(sequences.offsets(), [0, 3, 3, 4]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn try_from_slices(slices: &[&[u8]]) -> Result<Sequences> {
        let copy = || {
            let mut offsets = Vec::new();
            reserve(&mut offsets, slices.len() + 1)?;
            offsets.push(0);
            let mut total = 0;
            for slice in slices {
                total += slice.len();
                offsets.push(total);
            }
            let mut codes = zeroed_lazily(total)?;
            let mut rest = &mut codes[..];
            let mut chunks = Vec::new();
            let counts = slices.iter().map(|slice| slice.len().div_ceil(CHUNK));
            reserve(&mut chunks, counts.sum())?;
            for slice in slices {
                let (place, others) = rest.split_at_mut(slice.len());
                chunks.extend(place.chunks_mut(CHUNK).zip(slice.chunks(CHUNK)));
                rest = others;
            }
            parallel::try_each(chunks, |(place, chunk)| {
                place.copy_from_slice(chunk);
                Ok(())
            })?;
            Ok(Sequences { codes, offsets })
        };
        let copied: Result<Sequences> = copy();
        copied.during("Sequences::try_from_slices")
    }

    fn add_all<S: Codes>(&mut self, items: impl IntoIterator<Item = S>) -> Result<()> {
        (items.into_iter()).try_for_each(|item| self.add(item.codes()))
    }

    fn add(&mut self, codes: ArrayView1<u8>) -> Result<()> {
        reserve(&mut self.offsets, 1)?;
        reserve(&mut self.codes, codes.len())?;
        match codes.as_slice() {
            Some(slice) => self.codes.extend_from_slice(slice),
            None => self.codes.extend(codes),
        }
        self.offsets.push(self.codes.len());
        Ok(())
    }

    /// Clones the sequences, or returns an error if memory runs out.
    #[doc(hidden)]
    pub fn try_clone(&self) -> Result<Sequences> {
        Ok(Sequences {
            codes: copied(&self.codes)?,
            offsets: copied(&self.offsets)?,
        })
    }

    /// Returns the number of sequences, N.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the codes of sequence `index`, or `None` if `index` is not below N.
    pub fn get(&self, index: usize) -> Option<ArrayView1<'_, u8>> {
        let ends = self.offsets.windows(2).nth(index)?;
        Some(ArrayView1::from(&self.codes[ends[0]..ends[1]]))
    }

    /// Returns the codes of all sequences, concatenated.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Returns the start of each sequence in [`codes`](Self::codes), and last the number of codes:
    /// N + 1 numbers.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the number of codes of each sequence.
    ///
    /// ```
    /// use gridstride::sequences::Sequences;
    ///
    /// let sequences = Sequences::from(vec![vec![0, 1, 2], vec![], vec![3]]);
    /// assert!(sequences.lengths().eq([3, 0, 1]));
    /// ```
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        self.slices().map(<[u8]>::len)
    }

    /// Returns the length of the longest sequence; 0 if there are no sequences.
    pub fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// Returns the number of codes of all sequences together.
    pub fn total_length(&self) -> usize {
        self.codes.len()
    }

    #[doc(hidden)]
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.view().slices()
    }

    #[doc(hidden)]
    pub fn view(&self) -> SequencesView<'_> {
        SequencesView {
            codes: &self.codes,
            offsets: &self.offsets,
        }
    }
}

/// Formats only the first of many codes and offsets.
impl fmt::Debug for Sequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequences")
            .field("codes", &Short(&self.codes))
            .field("offsets", &Short(&self.offsets))
            .finish()
    }
}

/// The codes of one sequence: a slice, an array, a vector, or a one-dimensional array or view of
/// `ndarray` with any strides, owned or borrowed.
///
/// Text has no codes: an [`Alphabet`](super::Alphabet) turns letters into codes.
pub trait Codes {
    /// Returns a view of the codes.
    fn codes(&self) -> ArrayView1<'_, u8>;
}

impl<C: Codes + ?Sized> Codes for &C {
    fn codes(&self) -> ArrayView1<'_, u8> {
        (**self).codes()
    }
}

macro_rules! slices {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Codes for $type {
            fn codes(&self) -> ArrayView1<'_, u8> {
                ArrayView1::from(&self[..])
            }
        }
    )*};
}

slices! {
    [] [u8];
    [const N: usize] [u8; N];
    [] Vec<u8>;
    [] Box<[u8]>;
    [] Arc<[u8]>;
    [] Cow<'_, [u8]>;
}

impl<S: Data<Elem = u8>> Codes for ArrayBase<S, Ix1> {
    fn codes(&self) -> ArrayView1<'_, u8> {
        self.view()
    }
}

/// Panics if memory runs out; [`Sequences::try_from_iter`] returns an error.
impl<S: Codes> FromIterator<S> for Sequences {
    fn from_iter<I: IntoIterator<Item = S>>(items: I) -> Self {
        let mut sequences = Sequences::new();
        sequences.extend(items);
        sequences
    }
}

/// Panics if memory runs out; [`Sequences::try_from_iter`] returns an error.
impl<S: Codes> From<Vec<S>> for Sequences {
    fn from(items: Vec<S>) -> Self {
        items.into_iter().collect()
    }
}

/// Panics if memory runs out; [`Sequences::try_extend`] returns an error.
impl<S: Codes> Extend<S> for Sequences {
    fn extend<I: IntoIterator<Item = S>>(&mut self, items: I) {
        if let Err(error) = self.add_all(items).during("collecting Sequences") {
            panic!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, ArrayView1, array, s};

    use super::{CHUNK, Sequences};

    #[test]
    fn views_with_any_strides() {
        let codes = Array1::from_iter(0..10u8);
        let mut sequences = Sequences::new();
        sequences.push(codes.slice(s![1..;3])).unwrap();
        sequences.push(codes.slice(s![..;-4])).unwrap();
        sequences.push(codes.slice(s![..0])).unwrap();
        sequences.push(&codes).unwrap();
        sequences.push(array![[1, 2], [3, 4]].column(1)).unwrap();
        assert_eq!(sequences.len(), 5);
        assert_eq!(sequences.get(0).unwrap(), array![1, 4, 7]);
        assert_eq!(sequences.get(1).unwrap(), array![9, 5, 1]);
        assert_eq!(sequences.get(2).unwrap().len(), 0);
        assert_eq!(sequences.get(3).unwrap(), codes);
        assert_eq!(sequences.get(4).unwrap(), array![2, 4]);
        assert_eq!(sequences.get(5), None);
        assert_eq!((sequences.longest(), sequences.total_length()), (10, 18));
    }

    /// Around the chunks that threads copy.
    #[test]
    fn slices_are_copied_whole() {
        let lengths = [0, 1, CHUNK - 1, CHUNK, 0, 2 * CHUNK + 3];
        let text = |length: usize| {
            (0..length)
                .map(|i| (i * 7 % 251) as u8)
                .collect::<Vec<u8>>()
        };
        let texts = lengths.map(text);
        let slices = texts.each_ref().map(|text| &text[..]);
        let found = Sequences::try_from_slices(&slices).unwrap();
        assert_eq!(found, texts.iter().collect());
    }

    #[test]
    fn debug_is_short() {
        let few = Sequences::from(vec![vec![0, 1], vec![2]]);
        let text = "Sequences { codes: [0, 1, 2], offsets: [0, 2, 3] }";
        assert_eq!(format!("{few:?}"), text);
        let many = Sequences::from(vec![vec![3; 10]; 100_000]);
        let text = format!("{many:?}");
        assert!(
            text.len() < 300 && text.contains("1000000 in all"),
            "{text}"
        );
    }

    #[test]
    fn no_sequences() {
        let none = Sequences::default();
        assert!(none.is_empty());
        assert_eq!((none.len(), none.longest(), none.total_length()), (0, 0, 0));
        assert_eq!(Sequences::from_concatenated(vec![], vec![0]).unwrap(), none);
        assert_eq!(Vec::<&[u8]>::new().into_iter().collect::<Sequences>(), none);
    }

    #[test]
    fn whatever_has_codes_is_collected() {
        let vectors = vec![vec![0u8, 1, 2], vec![], vec![3]];
        let expected = Sequences::from_concatenated(vec![0, 1, 2, 3], vec![0, 3, 3, 4]).unwrap();
        let slices = vectors.iter().map(|codes| &codes[..]);
        let boxes = vectors.iter().map(|codes| codes.clone().into_boxed_slice());
        let arrays = vectors.iter().map(|codes| Array1::from(codes.clone()));
        let views = vectors.iter().map(ArrayView1::from);
        assert_eq!(vectors.iter().collect::<Sequences>(), expected);
        assert_eq!(slices.clone().collect::<Sequences>(), expected);
        assert_eq!(boxes.collect::<Sequences>(), expected);
        assert_eq!(arrays.collect::<Sequences>(), expected);
        assert_eq!(views.collect::<Sequences>(), expected);
        assert_eq!(Sequences::from(vectors.clone()), expected);
        assert_eq!(Sequences::try_from_iter(slices).unwrap(), expected);
        assert_eq!(vectors.into_iter().collect::<Sequences>(), expected);

        let mut extended: Sequences = [[0u8, 1, 2]].into_iter().collect();
        extended.extend([Vec::new()]);
        extended.try_extend(&[vec![3]]).unwrap();
        assert_eq!(extended, expected);
    }

    #[test]
    fn concatenated() {
        let given = Sequences::from_concatenated(vec![5, 6, 7], vec![0, 0, 2, 3, 3]).unwrap();
        let pushed: Sequences = [vec![], vec![5, 6], vec![7], vec![]].iter().collect();
        assert_eq!(given, pushed);
        for (offsets, expected) in [
            (vec![], "there are no offsets"),
            (
                vec![1, 3],
                "the offsets go from 1 to 3, and have to go from 0",
            ),
            (
                vec![0, 2, 1, 3],
                "offset 1 at index 2 is below the one before it, 2",
            ),
            (
                vec![0, 2],
                "from 0 to 2, and have to go from 0 to the number of codes, 3",
            ),
            (vec![0, usize::MAX], "from 0 to 18446744073709551615"),
        ] {
            let refused = Sequences::from_concatenated(vec![5, 6, 7], offsets);
            let message = refused.unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
