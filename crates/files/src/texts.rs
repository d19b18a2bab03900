//! Many short texts in one piece of memory.

use std::collections::TryReserveError;

/// Texts by their indices, one after the other in memory.
///
/// # Examples
/// ```
/// use files::Texts;
///
/// let mut names = Texts::default();
/// names.add(b"kitchen")?;
/// names.add(b"")?;
/// assert_eq!((names.len(), names.get(0), names.get(1)), (2, &b"kitchen"[..], &b""[..]));
/// # Ok::<(), std::collections::TryReserveError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    /// The end of each text.
    ends: Vec<usize>,
}

impl Texts {
    /// Returns the number of texts.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text with this index.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Adds a text.
    ///
    /// # Errors
    /// If the memory does not suffice. The texts are then as they were.
    pub fn add(&mut self, text: &[u8]) -> Result<(), TryReserveError> {
        self.bytes.try_reserve(text.len())?;
        self.ends.try_reserve(1)?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Adds all texts of `other`.
    ///
    /// # Errors
    /// As of [`add`](Self::add).
    pub fn append(&mut self, other: &Texts) -> Result<(), TryReserveError> {
        self.bytes.try_reserve(other.bytes.len())?;
        self.ends.try_reserve(other.ends.len())?;
        let behind = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| behind + end));
        Ok(())
    }
}
