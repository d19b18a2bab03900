//! From text to codes.

use crate::device::reserve;
use crate::error::During;
use crate::{Error, Result};

/// Which bytes of a text are letters, and the code of each.
///
/// # Examples
///
/// ```
/// use gridstride::tensor_sketch::{Alphabet, Unknown};
///
/// let encoded = Alphabet::dna().encode(b"ACgtN", Unknown::Skip)?;
/// assert_eq!(encoded.codes, [0, 1, 2, 3]);
/// assert_eq!(encoded.skipped, 1);
/// assert!(Alphabet::dna().encode(b"ACgtN", Unknown::Error).is_err());
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    /// The code of each byte that is a letter, [`UNKNOWN`] for the others.
    entry_of_byte: [u16; 256],
    size: usize,
}

/// A bit that no code has.
const UNKNOWN: u16 = 0x100;

/// Bytes that are turned into codes in one go.
const BLOCK: usize = 1024;

/// What to do with a byte that is not in the alphabet, such as `N`, another IUPAC code, or a blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Leave it out and count it; its neighbours become adjacent.
    Skip,
    /// Fail.
    Error,
}

/// A text in codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// One code a letter, each below the size of the alphabet.
    pub codes: Vec<u8>,
    /// The number of bytes that were left out.
    pub skipped: usize,
}

impl Alphabet {
    /// The four nucleotides A, C, G, T (codes 0 to 3), in upper or lower case.
    ///
    /// RNA's U has the code of T, so that an RNA and the DNA it is copied from agree.
    pub fn dna() -> Alphabet {
        let mut alphabet = Alphabet::ignoring_case(b"ACGT");
        alphabet.entry_of_byte[usize::from(b'U')] = 3;
        alphabet.entry_of_byte[usize::from(b'u')] = 3;
        alphabet
    }

    /// The 20 amino acids in alphabetical order of their letters, `ACDEFGHIKLMNPQRSTVWY` (codes 0
    /// to 19), in upper or lower case.
    pub fn protein() -> Alphabet {
        Alphabet::ignoring_case(b"ACDEFGHIKLMNPQRSTVWY")
    }

    /// The bytes in `letters`, with codes in their order; upper and lower case are different.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) when `letters` is empty or has a byte
    /// twice.
    pub fn new(letters: &[u8]) -> Result<Alphabet> {
        const OPERATION: &str = "Alphabet::new";
        if letters.is_empty() {
            return Err(Error::input(OPERATION, "there are no letters"));
        }
        let mut entry_of_byte = [UNKNOWN; 256];
        for (position, &letter) in letters.iter().enumerate() {
            let entry = &mut entry_of_byte[usize::from(letter)];
            if *entry != UNKNOWN {
                let first = *entry;
                let message = format!(
                    "{} stands at position {first} and again at {position}",
                    name(letter)
                );
                return Err(Error::input_at(OPERATION, position, message));
            }
            // 256 different bytes are all there are, so that the position fits.
            *entry = position as u16;
        }
        Ok(Alphabet {
            entry_of_byte,
            size: letters.len(),
        })
    }

    fn ignoring_case(letters: &[u8]) -> Alphabet {
        let mut entry_of_byte = [UNKNOWN; 256];
        for (code, letter) in (0..).zip(letters) {
            entry_of_byte[usize::from(letter.to_ascii_uppercase())] = code;
            entry_of_byte[usize::from(letter.to_ascii_lowercase())] = code;
        }
        Alphabet {
            entry_of_byte,
            size: letters.len(),
        }
    }

    /// The number of codes, A.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The code of a byte; `None` if it is not a letter.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::tensor_sketch::Alphabet;
    ///
    /// assert_eq!(Alphabet::dna().code(b'g'), Some(2));
    /// assert_eq!(Alphabet::dna().code(b'N'), None);
    /// ```
    pub fn code(&self, byte: u8) -> Option<u8> {
        u8::try_from(self.entry_of_byte[usize::from(byte)]).ok()
    }

    /// Turns `text` into codes.
    ///
    /// # Errors
    ///
    /// With [`Unknown::Error`], [`Error::InvalidInput`](crate::Error::InvalidInput) at the first
    /// byte that is not a letter, with its position (from 0) and value. [`Error::Allocation`](crate::Error::Allocation)
    /// if there is no memory for the codes.
    pub fn encode(&self, text: &[u8], unknown: Unknown) -> Result<Encoded> {
        let mut codes = Vec::new();
        let skipped = self.append("Alphabet::encode", text, unknown, &mut codes)?;
        Ok(Encoded { codes, skipped })
    }

    /// Adds the codes of `text` at the end of `codes`, and returns the number of bytes that were
    /// left out: [`encode`](Self::encode) without new memory for each text.
    ///
    /// # Errors
    ///
    /// Those of [`encode`](Self::encode), with the position in `text`; `codes` is then as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::tensor_sketch::{Alphabet, Unknown};
    ///
    /// let mut codes = Vec::new();
    /// for line in ["ACGT", "NNTT"] {
    ///     Alphabet::dna().encode_into(line.as_bytes(), Unknown::Skip, &mut codes)?;
    /// }
    /// assert_eq!(codes, [0, 1, 2, 3, 3, 3]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn encode_into(&self, text: &[u8], unknown: Unknown, codes: &mut Vec<u8>) -> Result<usize> {
        self.append("Alphabet::encode_into", text, unknown, codes)
    }

    fn append(
        &self,
        operation: &'static str,
        text: &[u8],
        unknown: Unknown,
        codes: &mut Vec<u8>,
    ) -> Result<usize> {
        let before = codes.len();
        reserve(codes, text.len()).during(operation)?;
        for (number, block) in text.chunks(BLOCK).enumerate() {
            let start = codes.len();
            codes.resize(start + block.len(), 0);
            if self.encode_letters(block, &mut codes[start..]) {
                continue;
            }
            match unknown {
                Unknown::Skip => {
                    let letters = self.encode_and_skip(block, &mut codes[start..]);
                    codes.truncate(start + letters);
                }
                Unknown::Error => {
                    codes.truncate(before);
                    return Err(self.not_a_letter(operation, text, number * BLOCK));
                }
            }
        }
        Ok(text.len() - (codes.len() - before))
    }

    /// Writes the codes of bytes that are letters, and returns whether they all were. Most blocks are
    /// so throughout, and without a branch a byte takes about a cycle.
    fn encode_letters(&self, block: &[u8], codes: &mut [u8]) -> bool {
        let mut seen = 0;
        for (code, &byte) in codes.iter_mut().zip(block) {
            let entry = self.entry_of_byte[usize::from(byte)];
            seen |= entry;
            *code = entry as u8;
        }
        seen & UNKNOWN == 0
    }

    /// Writes the codes of those bytes that are letters, and returns how many are.
    fn encode_and_skip(&self, block: &[u8], codes: &mut [u8]) -> usize {
        let mut letters = 0;
        for &byte in block {
            let entry = self.entry_of_byte[usize::from(byte)];
            // The next letter goes to the same place, unless this is one.
            codes[letters] = entry as u8;
            letters += usize::from(entry & UNKNOWN == 0);
        }
        letters
    }

    /// The error for the first byte from `start` on that is not a letter; there is one.
    #[cold]
    fn not_a_letter(&self, operation: &'static str, text: &[u8], start: usize) -> Error {
        let letters = text[start..]
            .iter()
            .take_while(|byte| self.code(**byte).is_some());
        let position = start + letters.count();
        let message = format!(
            "{} at position {position} is not a letter",
            name(text[position])
        );
        Error::input_at(operation, position, message)
    }
}

/// A byte for an error message: `'N' (byte 78)`.
fn name(byte: u8) -> String {
    format!("'{}' (byte {byte})", byte.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::{Alphabet, BLOCK, Unknown};

    fn codes(alphabet: &Alphabet, text: &[u8]) -> Vec<u8> {
        alphabet.encode(text, Unknown::Error).unwrap().codes
    }

    #[test]
    fn dna_in_both_cases_and_rna() {
        let dna = Alphabet::dna();
        assert_eq!(dna.size(), 4);
        assert_eq!(codes(&dna, b"ACGTacgt"), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(codes(&dna, b"Uu"), [3, 3]);
    }

    #[test]
    fn every_byte_of_protein() {
        let protein = Alphabet::protein();
        let all: Vec<u8> = (0..=255).collect();
        let encoded = protein.encode(&all, Unknown::Skip).unwrap();
        assert_eq!(encoded.skipped, 256 - 40);
        assert_eq!(encoded.codes[..20], (0..20).collect::<Vec<u8>>());
        assert_eq!(encoded.codes[20..], (0..20).collect::<Vec<u8>>());
    }

    #[test]
    fn letters_of_ones_own() {
        let binary = Alphabet::new(b"10").unwrap();
        assert_eq!(codes(&binary, b"1101"), [0, 0, 1, 0]);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(codes(&Alphabet::new(&all).unwrap(), &all), all);
        assert!(Alphabet::new(b"").is_err());
        let message = Alphabet::new(b"ABCA").unwrap_err().to_string();
        assert!(
            message.contains("'A' (byte 65) stands at position 0 and again at 3"),
            "{message}"
        );
        let twice = [&all[..], &all[..]].concat();
        assert!(Alphabet::new(&twice).is_err());
    }

    #[test]
    fn unknown_bytes() {
        let dna = Alphabet::dna();
        let encoded = dna.encode(b"NA-C\n", Unknown::Skip).unwrap();
        assert_eq!((encoded.codes, encoded.skipped), (vec![0, 1], 3));
        let message = dna
            .encode(b"AC\x00T", Unknown::Error)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("'\\x00' (byte 0) at position 2"),
            "{message}"
        );
        assert_eq!(codes(&dna, b""), []);
    }

    /// The first unknown byte at every place around the ends of blocks.
    #[test]
    fn unknown_bytes_anywhere() {
        let dna = Alphabet::dna();
        let text = b"GATTACAT".repeat(3 * BLOCK / 8 + 1);
        let clean = codes(&dna, &text);
        for place in (0..text.len()).filter(|i| (i + 2) % BLOCK < 4 || i % 97 == 0) {
            let mut damaged = text.clone();
            damaged[place] = b'N';
            let mut expected = clean.clone();
            expected.remove(place);
            // A second one changes neither the position nor what is left out before it.
            if place + 1 < text.len() {
                damaged[text.len() - 1] = b'-';
                expected.pop();
            }
            let mut appended = vec![9];
            let skipped = dna
                .encode_into(&damaged, Unknown::Skip, &mut appended)
                .unwrap();
            assert_eq!(skipped, text.len() - expected.len());
            assert_eq!((appended[0], &appended[1..]), (9, &expected[..]));

            let error = dna
                .encode_into(&damaged, Unknown::Error, &mut appended)
                .unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(&format!("at position {place} is not")),
                "{message}"
            );
            assert_eq!(appended[1..], expected, "codes changed by a failure");
        }
    }
}
