//! Alphabets, which turn text into codes.

use std::fmt;

use gridstride_runtime::device::reserve;
use gridstride_runtime::error::During;
use gridstride_runtime::short::Short;
use gridstride_runtime::{Error, Result};

/// An alphabet: the bytes that are letters, and the code of each letter.
///
/// ```
/// use gridstride::sequences::{Alphabet, Unknown};
///
/// let encoded = Alphabet::dna().encode(b"ACgtN", Unknown::Skip)?;
/// assert_eq!(encoded.codes, [0, 1, 2, 3]);
/// assert_eq!(encoded.skipped, 1);
/// assert!(Alphabet::dna().encode(b"ACgtN", Unknown::Error).is_err());
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "Letters", try_from = "Letters")
)]
pub struct Alphabet {
    /// The code of each letter, [`UNKNOWN`] for all other bytes.
    entry_of_byte: [u16; 256],
    size: usize,
}

/// An [`Alphabet`] as it is written: the bytes of each code.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Letters {
    letters: Vec<Vec<u8>>,
}

#[cfg(feature = "serde")]
impl From<Alphabet> for Letters {
    fn from(alphabet: Alphabet) -> Letters {
        let mut letters = vec![Vec::new(); alphabet.size];
        for byte in 0..=255 {
            if let Some(code) = alphabet.code(byte) {
                letters[usize::from(code)].push(byte);
            }
        }
        Letters { letters }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Letters> for Alphabet {
    type Error = Error;

    fn try_from(Letters { letters }: Letters) -> Result<Alphabet> {
        const OPERATION: &str = "Alphabet";
        if let Some(code) = letters.iter().position(Vec::is_empty) {
            let message = format!("code {code} has no letter");
            return Err(Error::input_at(OPERATION, "codes", code, message));
        }
        let firsts: Vec<u8> = letters.iter().map(|bytes| bytes[0]).collect();
        let mut alphabet = Alphabet::new(&firsts)?;
        for (code, bytes) in letters.iter().enumerate() {
            for &byte in &bytes[1..] {
                if let Some(other) = alphabet.code(byte) {
                    let byte = name(byte);
                    let message = format!("{byte} has the codes {other} and {code}");
                    return Err(Error::input_at(OPERATION, "codes", code, message));
                }
                // Below 256, since there are no more different bytes.
                alphabet.entry_of_byte[usize::from(byte)] = code as u16;
            }
        }
        Ok(alphabet)
    }
}

/// A bit that no code has set.
const UNKNOWN: u16 = 0x100;

/// Bytes that are encoded as one unit.
const BLOCK: usize = 1024;

/// The most letters of an alphabet that an error message lists.
const LETTERS_SHOWN: usize = 32;

gridstride_runtime::choice! {
    /// How to treat a byte that is not in the alphabet, such as `N`, another IUPAC code, or a blank.
    pub enum Unknown("unknown") {
        /// Leaves the byte out and counts it. Its neighbours become adjacent.
        Skip("skip"),
        /// Returns an error.
        Error("error"),
    }
}

gridstride_runtime::choice! {
    /// The alphabets that have a name.
    ///
    /// ```
    /// use gridstride::sequences::{Alphabet, NamedAlphabet};
    ///
    /// assert_eq!(Alphabet::from("protein".parse::<NamedAlphabet>()?), Alphabet::protein());
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub enum NamedAlphabet("alphabet"), default Dna {
        /// The nucleotides A, C, G and T, where U counts as T. See [`Alphabet::dna`].
        Dna("dna"),
        /// The 20 amino acids. See [`Alphabet::protein`].
        Protein("protein"),
    }
}

impl From<NamedAlphabet> for Alphabet {
    fn from(name: NamedAlphabet) -> Alphabet {
        match name {
            NamedAlphabet::Dna => Alphabet::dna(),
            NamedAlphabet::Protein => Alphabet::protein(),
        }
    }
}

/// An encoded text.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Encoded {
    /// The code of each letter, below the size of the alphabet.
    pub codes: Vec<u8>,
    /// The number of bytes that were left out.
    pub skipped: usize,
}

/// Formats the letters.
impl fmt::Debug for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Alphabet({})", self.letters())
    }
}

/// Formats only the first of many codes.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("codes", &Short(&self.codes))
            .field("skipped", &self.skipped)
            .finish()
    }
}

impl Alphabet {
    /// Returns the four nucleotides A, C, G, T (codes 0 to 3), in upper or lower case.
    ///
    /// RNA's U has the code of T, so that RNA has the codes of the DNA it is copied from.
    pub fn dna() -> Alphabet {
        let mut alphabet = Alphabet::ignoring_case(b"ACGT");
        alphabet.entry_of_byte[usize::from(b'U')] = 3;
        alphabet.entry_of_byte[usize::from(b'u')] = 3;
        alphabet
    }

    /// Returns the 20 amino acids in alphabetical order of their letters, `ACDEFGHIKLMNPQRSTVWY`
    /// (codes 0 to 19), in upper or lower case.
    pub fn protein() -> Alphabet {
        Alphabet::ignoring_case(b"ACDEFGHIKLMNPQRSTVWY")
    }

    /// Returns a custom alphabet: the bytes in `letters`, with codes in this order. Upper and lower
    /// case are different.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `letters` is empty or has a byte twice.
    pub fn new(letters: &[u8]) -> Result<Alphabet> {
        const OPERATION: &str = "Alphabet::new";
        if letters.is_empty() {
            return Err(Error::input(OPERATION, "there are no letters"));
        }
        let mut entry_of_byte = [UNKNOWN; 256];
        for (position, &letter) in letters.iter().enumerate() {
            let entry = &mut entry_of_byte[usize::from(letter)];
            if *entry != UNKNOWN {
                let (letter, first) = (name(letter), *entry);
                let message =
                    format!("{letter} stands at position {first} and again at {position}");
                return Err(Error::input_at(OPERATION, "letters", position, message));
            }
            // Below 256, since there are no more different bytes.
            *entry = position as u16;
        }
        Ok(Alphabet {
            entry_of_byte,
            size: letters.len(),
        })
    }

    fn ignoring_case(letters: &[u8]) -> Alphabet {
        let mut alphabet = Alphabet::new(letters).expect("different letters");
        for (code, letter) in (0..).zip(letters) {
            alphabet.entry_of_byte[usize::from(letter.to_ascii_lowercase())] = code;
        }
        alphabet
    }

    /// Returns the number of codes, A.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the code of a byte, or `None` if the byte is not a letter.
    ///
    /// ```
    /// use gridstride::sequences::Alphabet;
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
    /// - [`Error::InvalidInput`] with [`Unknown::Error`] for a byte that is not a letter: the first
    ///   such byte with its position, from 0.
    /// - [`Error::Allocation`] if there is no memory for the codes.
    pub fn encode(&self, text: &[u8], unknown: Unknown) -> Result<Encoded> {
        let mut codes = Vec::new();
        let skipped = self.append("Alphabet::encode", text, unknown, &mut codes)?;
        Ok(Encoded { codes, skipped })
    }

    /// As [`encode`](Self::encode), but appends to `codes`, and returns the number of bytes that
    /// were left out.
    ///
    /// # Errors
    /// As [`encode`](Self::encode), with the position in `text`. Then `codes` is unchanged.
    ///
    /// ```
    /// use gridstride::sequences::{Alphabet, Unknown};
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
            if unknown == Unknown::Error {
                codes.truncate(before);
                return Err(self.not_a_letter(operation, text, number * BLOCK));
            }
            let letters = self.encode_and_skip(block, &mut codes[start..]);
            codes.truncate(start + letters);
        }
        Ok(text.len() - (codes.len() - before))
    }

    /// Encodes a block of letters, and returns whether all bytes were letters, as in most blocks.
    /// Without a branch a byte takes about a cycle.
    fn encode_letters(&self, block: &[u8], codes: &mut [u8]) -> bool {
        let mut seen = 0;
        for (code, &byte) in codes.iter_mut().zip(block) {
            let entry = self.entry_of_byte[usize::from(byte)];
            seen |= entry;
            *code = entry as u8;
        }
        seen & UNKNOWN == 0
    }

    /// Writes the codes of the letters of a block, and returns their number.
    fn encode_and_skip(&self, block: &[u8], codes: &mut [u8]) -> usize {
        let mut letters = 0;
        for &byte in block {
            let entry = self.entry_of_byte[usize::from(byte)];
            // If this byte is not a letter, the next one overwrites the code.
            codes[letters] = entry as u8;
            letters += usize::from(entry & UNKNOWN == 0);
        }
        letters
    }

    /// Returns the error for the first byte from `start` on that is not a letter.
    #[cold]
    fn not_a_letter(&self, operation: &'static str, text: &[u8], start: usize) -> Error {
        let letters = (text[start..].iter()).take_while(|byte| self.code(**byte).is_some());
        let position = start + letters.count();
        let byte = name(text[position]);
        let letters = self.letters();
        let message = format!(
            "{byte} at position {position} is not a letter of the alphabet {letters}: \
             Unknown::Skip leaves such bytes out"
        );
        Error::input_at(operation, "letters", position, message)
    }

    /// Returns the first letters in the order of their codes, for an error message, without
    /// lower-case letters whose upper case has the same code.
    fn letters(&self) -> String {
        let is_repeated = |byte: &u8| {
            byte.is_ascii_lowercase() && self.code(*byte) == self.code(byte.to_ascii_uppercase())
        };
        let known = (0..=255).filter(|byte| self.code(*byte).is_some() && !is_repeated(byte));
        let mut letters: Vec<u8> = known.collect();
        letters.sort_by_key(|&byte| self.code(byte));
        let shown = letters[..letters.len().min(LETTERS_SHOWN)].escape_ascii();
        match letters.len() {
            ..=LETTERS_SHOWN => shown.to_string(),
            _ => format!("{shown}…"),
        }
    }
}

/// Formats a byte for an error message: `'N' (byte 78)`.
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
    fn custom_letters() {
        let binary = Alphabet::new(b"10").unwrap();
        assert_eq!(codes(&binary, b"1101"), [0, 0, 1, 0]);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(codes(&Alphabet::new(&all).unwrap(), &all), all);
        assert!(Alphabet::new(b"").is_err());
        let message = Alphabet::new(b"ABCA").unwrap_err().to_string();
        let expected = "'A' (byte 65) stands at position 0 and again at 3";
        assert!(message.contains(expected), "{message}");
        let twice = [&all[..], &all[..]].concat();
        assert!(Alphabet::new(&twice).is_err());
    }

    #[test]
    fn unknown_bytes() {
        let dna = Alphabet::dna();
        let encoded = dna.encode(b"NA-C\n", Unknown::Skip).unwrap();
        assert_eq!((encoded.codes, encoded.skipped), (vec![0, 1], 3));
        let error = dna.encode(b"AC\x00T", Unknown::Error).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Alphabet::encode: '\\x00' (byte 0) at position 2 is not a letter of the alphabet \
             ACGTU: Unknown::Skip leaves such bytes out"
        );
        let most: Vec<u8> = (b'0'..b'z').collect();
        for (alphabet, letters) in [
            (Alphabet::protein(), "alphabet ACDEFGHIKLMNPQRSTVWY: "),
            (Alphabet::new(b"ba\n").unwrap(), "alphabet ba\\n: "),
            (
                Alphabet::new(&most).unwrap(),
                "alphabet 0123456789:;<=>?@ABCDEFGHIJKLMNO…: ",
            ),
        ] {
            let error = alphabet.encode(b" ", Unknown::Error).unwrap_err();
            assert!(error.to_string().contains(letters), "{error}");
        }
        assert_eq!(codes(&dna, b""), []);
    }

    /// The first unknown byte at all places around the ends of blocks.
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
            // A second unknown byte does not change the result for the bytes before it.
            if place + 1 < text.len() {
                damaged[text.len() - 1] = b'-';
                expected.pop();
            }
            let mut appended = vec![9];
            let skipped = dna.encode_into(&damaged, Unknown::Skip, &mut appended);
            assert_eq!(skipped.unwrap(), text.len() - expected.len());
            assert_eq!((appended[0], &appended[1..]), (9, &expected[..]));

            let refused = dna.encode_into(&damaged, Unknown::Error, &mut appended);
            let message = refused.unwrap_err().to_string();
            let expected_message = format!("at position {place} is not");
            assert!(message.contains(&expected_message), "{message}");
            assert_eq!(appended[1..], expected, "codes changed by a failure");
        }
    }
}
