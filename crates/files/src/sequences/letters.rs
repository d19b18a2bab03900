//! The bytes that are letters, and what they become.

use gridstride::sequences::{Alphabet, Unknown};

/// The value of a byte that is not a letter. The codes of alphabets of up to 255 letters are below.
const NONE: u8 = 0xff;

/// The conversion of a sequence's bytes: to codes of an alphabet, or to text.
///
/// White space, `>` and `;` are never letters: they are signs of the format.
#[derive(Clone, Debug)]
pub struct Letters {
    /// The value of each letter, and [`NONE`] for all other bytes.
    values: [u8; 256],
    /// The letter whose value is [`NONE`], of an alphabet of 256 letters.
    last: Option<u8>,
    /// The entries of `values` by the upper four bits of the byte, without those that have no letter.
    rows: Vec<Row>,
    skips: bool,
    remedy: &'static str,
}

/// The values of 16 neighbouring bytes.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The upper four bits of the bytes.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    upper: u8,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    values: [u8; 16],
}

/// The meaning of a byte that is not a letter.
pub(super) enum Sign {
    LineFeed,
    Blank,
    /// A sign of the format, which is an error within a line.
    Greater,
    Semicolon,
    /// A byte that is left out.
    Skipped,
    /// A byte that is refused.
    Unknown,
}

impl Letters {
    /// Turns letters into the codes of `alphabet`. Bytes that are not in the alphabet are left out and
    /// counted, or refused with an error that ends with `remedy`.
    ///
    /// ```
    /// use files::sequences::Letters;
    /// use gridstride::sequences::{Alphabet, Unknown};
    ///
    /// let letters = Letters::codes(&Alphabet::dna(), Unknown::Error, "--unknown skip skips them");
    /// assert_eq!(letters.value(b'g'), Some(2));
    /// assert_eq!(letters.value(b'N'), None);
    /// ```
    pub fn codes(alphabet: &Alphabet, unknown: Unknown, remedy: &'static str) -> Letters {
        let skips = unknown == Unknown::Skip;
        Letters::new(|byte| alphabet.code(byte), skips, remedy)
    }

    /// Keeps the text: letters in their case, and the signs `*`, `-`, `.`, `?` and `~` for stops, gaps
    /// and unknown residues. Other bytes, as in comments and in files of qualities, are refused.
    ///
    /// ```
    /// use files::sequences::Letters;
    ///
    /// assert_eq!(Letters::text().value(b'n'), Some(b'n'));
    /// assert_eq!(Letters::text().value(b'4'), None);
    /// ```
    pub fn text() -> Letters {
        let is_letter = |byte: u8| byte.is_ascii_alphabetic() || b"*-.?~".contains(&byte);
        Letters::new(|byte| is_letter(byte).then_some(byte), false, "")
    }

    fn new(value: impl Fn(u8) -> Option<u8>, skips: bool, remedy: &'static str) -> Letters {
        let (mut values, mut last) = ([NONE; 256], None);
        for byte in 0..=255 {
            if is_sign(byte) {
                continue;
            }
            if let Some(value) = value(byte) {
                values[usize::from(byte)] = value;
                last = last.or((value == NONE).then_some(byte));
            }
        }
        let (rows, _) = values.as_chunks::<16>();
        let rows = (0..)
            .zip(rows)
            .map(|(upper, &values)| Row { upper, values });
        Letters {
            values,
            last,
            rows: rows.filter(|row| row.values != [NONE; 16]).collect(),
            skips,
            remedy,
        }
    }

    /// Returns what a byte becomes, or `None` if it is not a letter.
    pub fn value(&self, byte: u8) -> Option<u8> {
        let value = self.values[usize::from(byte)];
        (value != NONE || self.last == Some(byte)).then_some(value)
    }

    pub(super) fn remedy(&self) -> &'static str {
        self.remedy
    }

    /// Returns what a byte means that is not a letter.
    pub(super) fn sign(&self, byte: u8) -> Sign {
        match byte {
            b'\n' => Sign::LineFeed,
            b'>' => Sign::Greater,
            b';' => Sign::Semicolon,
            _ if is_blank(byte) => Sign::Blank,
            _ if self.skips => Sign::Skipped,
            _ => Sign::Unknown,
        }
    }

    /// Writes the values of the letters at the start of `text` to `values`, which is as long, and
    /// returns how many letters there are before the first other byte. What `values` has behind them
    /// is overwritten by anything.
    pub(super) fn convert(&self, text: &[u8], values: &mut [u8]) -> usize {
        let values = &mut values[..text.len()];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.convert_by_vectors(text, values) };
        }
        self.convert_bytes(text, values)
    }

    fn convert_bytes(&self, text: &[u8], values: &mut [u8]) -> usize {
        for (count, (&byte, value)) in text.iter().zip(values).enumerate() {
            *value = self.values[usize::from(byte)];
            if *value == NONE && self.last != Some(byte) {
                return count;
            }
        }
        text.len()
    }

    /// As [`convert_bytes`](Self::convert_bytes), 32 bytes at a time: for each row, the lower four bits
    /// of a byte choose a value, which counts where the upper four bits are those of the row.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn convert_by_vectors(&self, text: &[u8], values: &mut [u8]) -> usize {
        use std::arch::x86_64::*;

        let (blocks, rest) = text.as_chunks::<32>();
        let none = _mm256_set1_epi8(-1);
        let low = _mm256_set1_epi8(0x0f);
        let mut done = 0;
        for (block, values) in blocks.iter().zip(values.as_chunks_mut::<32>().0) {
            // SAFETY: a block has 32 bytes, and this load has no alignment.
            let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let lower = _mm256_and_si256(bytes, low);
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
            let mut found = none;
            for row in &self.rows {
                // SAFETY: a row has 16 bytes, and this load has no alignment.
                let table = unsafe { _mm_loadu_si128(row.values.as_ptr().cast()) };
                let chosen = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), lower);
                let is_row = _mm256_cmpeq_epi8(upper, _mm256_set1_epi8(row.upper as i8));
                found = _mm256_blendv_epi8(found, chosen, is_row);
            }
            // SAFETY: `values` has 32 bytes, and this store has no alignment.
            unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), found) };
            let others = _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, none)) as u32;
            if others != 0 {
                let count = others.trailing_zeros() as usize;
                match self.last {
                    // The byte may be the letter of that value.
                    Some(_) => break,
                    None => return done + count,
                }
            }
            done += 32;
        }
        let rest = match self.last {
            Some(_) => &text[done..],
            None => rest,
        };
        done + self.convert_bytes(rest, &mut values[done..])
    }
}

/// Whether a byte has a meaning of its own in FASTA, whatever the alphabet is.
fn is_sign(byte: u8) -> bool {
    matches!(byte, b'\n' | b'>' | b';') || is_blank(byte)
}

/// Whether a byte is white space within a line.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors, and what is left behind them, have the values of single bytes, wherever a byte that is
    /// not a letter stands.
    #[test]
    fn vectors_and_bytes_agree() {
        let all: Vec<u8> = (0..=255).collect();
        let alphabets = [
            Letters::codes(&Alphabet::dna(), Unknown::Skip, ""),
            Letters::codes(&Alphabet::protein(), Unknown::Error, ""),
            Letters::codes(&Alphabet::new(&all).unwrap(), Unknown::Error, ""),
            Letters::text(),
        ];
        for letters in alphabets {
            let known: Vec<u8> = (all.iter().copied())
                .filter(|byte| letters.value(*byte).is_some())
                .collect();
            for length in [0, 1, 31, 32, 33, 64, 100] {
                let text: Vec<u8> = known.iter().copied().cycle().take(length).collect();
                let expected: Vec<u8> = text.iter().filter_map(|b| letters.value(*b)).collect();
                let mut values = vec![7; length];
                assert_eq!(letters.convert(&text, &mut values), length);
                assert_eq!(values, expected);
                for place in 0..length {
                    let mut other = text.clone();
                    other[place] = b'\n';
                    assert_eq!(letters.convert(&other, &mut values), place);
                    assert_eq!(values[..place], expected[..place]);
                }
            }
        }
    }

    #[test]
    fn signs_are_never_letters() {
        let all: Vec<u8> = (0..=255).collect();
        let letters = Letters::codes(&Alphabet::new(&all).unwrap(), Unknown::Error, "");
        let others: Vec<u8> = (all.iter().copied())
            .filter(|byte| letters.value(*byte).is_none())
            .collect();
        assert_eq!(others, b"\t\n\x0b\x0c\r ;>");
        assert_eq!(letters.value(255), Some(255));
    }
}
