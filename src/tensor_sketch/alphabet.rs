//! From text to codes.

use super::invalid_input;
use crate::Result;

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
    code_of_byte: [Option<u8>; 256],
    size: usize,
}

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
        alphabet.code_of_byte[usize::from(b'U')] = Some(3);
        alphabet.code_of_byte[usize::from(b'u')] = Some(3);
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
            return Err(invalid_input(OPERATION, "there are no letters".into()));
        }
        let mut code_of_byte = [None; 256];
        for (position, &letter) in letters.iter().enumerate() {
            let code = &mut code_of_byte[usize::from(letter)];
            if let Some(first) = code {
                let message = format!(
                    "{} stands at position {first} and again at {position}",
                    name(letter)
                );
                return Err(invalid_input(OPERATION, message));
            }
            // 256 different bytes are all there are, so that the position fits.
            *code = Some(position as u8);
        }
        Ok(Alphabet {
            code_of_byte,
            size: letters.len(),
        })
    }

    fn ignoring_case(letters: &[u8]) -> Alphabet {
        let mut code_of_byte = [None; 256];
        for (code, letter) in (0..).zip(letters) {
            code_of_byte[usize::from(letter.to_ascii_uppercase())] = Some(code);
            code_of_byte[usize::from(letter.to_ascii_lowercase())] = Some(code);
        }
        Alphabet {
            code_of_byte,
            size: letters.len(),
        }
    }

    /// The number of codes, A.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Turns `text` into codes.
    ///
    /// # Errors
    ///
    /// With [`Unknown::Error`], [`Error::InvalidInput`](crate::Error::InvalidInput) at the first
    /// byte that is not a letter, with its position (from 0) and value.
    pub fn encode(&self, text: &[u8], unknown: Unknown) -> Result<Encoded> {
        let mut codes = Vec::with_capacity(text.len());
        for (position, &byte) in text.iter().enumerate() {
            match (self.code_of_byte[usize::from(byte)], unknown) {
                (Some(code), _) => codes.push(code),
                (None, Unknown::Skip) => {}
                (None, Unknown::Error) => {
                    let message = format!("{} at position {position} is not a letter", name(byte));
                    return Err(invalid_input("Alphabet::encode", message));
                }
            }
        }
        let skipped = text.len() - codes.len();
        Ok(Encoded { codes, skipped })
    }
}

/// A byte for an error message: `'N' (byte 78)`.
fn name(byte: u8) -> String {
    format!("'{}' (byte {byte})", byte.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::{Alphabet, Unknown};

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
}
