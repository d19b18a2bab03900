//! Sequences that are too short for a sketch.

use serde::Serialize;

use crate::text::shortened;

/// Characters of a name that a message has.
pub const SHOWN_NAME: usize = 60;

/// Names that are kept.
const NAMES: usize = 20;

/// Names that a sentence has.
const SHOWN: usize = 3;

/// The least that a sequence needs for a sketch.
#[derive(Clone, Copy, Debug)]
pub enum Needed {
    /// A tuple of this number of letters. Without, the sketch is zero.
    Tuple(usize),
    /// A window of so many letters, or else there is no sketch.
    Window(usize),
}

/// The sequences without a tuple or a window: their number, and the names of the first.
///
/// ```
/// use files::sequences::{Needed, Short};
///
/// let short = Short::of([4, 1, 0], 2, |index| format!("sequence {index}"));
/// assert_eq!(
///     short.sentence(Needed::Tuple(2), 3).unwrap(),
///     "2 of 3 sequences are shorter than a tuple of 2 letters, and their sketches are zero: \
///      sequence 1, sequence 2"
/// );
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct Short {
    #[serde(rename = "short_sequences")]
    count: u64,
    #[serde(rename = "first_short_sequences")]
    names: Vec<String>,
}

impl Short {
    /// Returns the sequences of some lengths that have fewer letters than `least`, each with the name
    /// that its index has.
    pub fn of(
        lengths: impl IntoIterator<Item = usize>,
        least: usize,
        name: impl Fn(usize) -> String,
    ) -> Short {
        let mut short = Short::default();
        for (index, length) in lengths.into_iter().enumerate() {
            if length < least {
                short.add(|| name(index));
            }
        }
        short
    }

    /// Adds a sequence, whose name is kept if few are before it.
    pub fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.names.len() < NAMES {
            self.names.push(name());
        }
    }

    /// Returns what a warning says, with the number of all `sequences`; `None` if none is short.
    pub fn sentence(&self, needed: Needed, sequences: u64) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        let names = self.names.iter().take(SHOWN);
        let mut names: Vec<_> = names.map(|name| shortened(name, SHOWN_NAME)).collect();
        if let more @ 1.. = self.count - names.len() as u64 {
            names.push(format!("{more} more"));
        }
        let (count, names) = (self.count, names.join(", "));
        let what = match needed {
            Needed::Tuple(letters) => {
                format!("a tuple of {letters} letters, and their sketches are zero")
            }
            Needed::Window(letters) => format!("a window of {letters} letters and have no sketch"),
        };
        Some(format!(
            "{count} of {sequences} sequences are shorter than {what}: {names}"
        ))
    }
}
