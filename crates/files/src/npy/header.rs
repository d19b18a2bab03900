//! Headers of NumPy's files: a magic string, a version, a length, and a dictionary as Python writes it.
//!
//! The format is that of `numpy.lib.format`, versions 1 to 3. The dictionary has three keys, and only a structured
//! type holds brackets within brackets, so that no parser of Python is needed.

use std::io::Read;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};

use super::{SHOWN, fill};
use crate::text::shortened;

/// The longest header that is read, in bytes: the longest of version 1 of the format.
const LONGEST: usize = (1 << 16) - 1;

/// The first bytes of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The header of an array.
#[derive(Debug, PartialEq)]
pub struct Header {
    /// The type of the numbers, as the file writes it: a string with its quotes, or the fields of a structured type.
    pub descr: String,
    /// Whether the first axis changes fastest.
    pub is_fortran: bool,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads the header, to the first byte of the numbers.
    pub fn read(file: &mut impl Read) -> Result<Header> {
        let mut start = [0; 8];
        let got = fill(file, &mut start)?;
        if !MAGIC.starts_with(&start[..got.min(MAGIC.len())]) {
            return Err(no_npy(file, start[..got].to_vec()));
        }
        ensure!(got == start.len(), cut_off());
        let [.., major, minor] = start;
        let length = match major {
            1 => usize::from(u16::from_le_bytes(exactly(file)?)),
            2 | 3 => u32::from_le_bytes(exactly(file)?) as usize,
            _ => bail!("it is an NPY file of version {major}.{minor}, not of 1, 2 or 3"),
        };
        ensure!(
            length <= LONGEST,
            "its header has {length} bytes, more than {LONGEST}: write the matrix with \
             numpy.save, as numbers of one type"
        );
        let mut text = vec![0; length];
        ensure!(fill(file, &mut text)? == length, cut_off());
        let text =
            std::str::from_utf8(&text).context("it is not an NPY file: its header is no text")?;
        parse(text).context("it is not an NPY file")
    }

    /// Returns the type of the numbers, unless it is a structured one.
    pub fn type_name(&self) -> Option<&str> {
        quoted(&self.descr)
            .filter(|(_, rest)| rest.is_empty())
            .map(|(name, _)| name)
    }
}

/// Reads `N` bytes.
fn exactly<const N: usize>(file: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    ensure!(fill(file, &mut bytes)? == N, cut_off());
    Ok(bytes)
}

fn cut_off() -> Error {
    anyhow!("the file ends within its header: copy or download it again")
}

/// Returns the error of a file that begins with other bytes, of which `start` has been read.
#[cold]
fn no_npy(file: &mut impl Read, mut start: Vec<u8>) -> Error {
    // An error of reading is not what is wrong.
    let _ = file.take(SHOWN as u64).read_to_end(&mut start);
    let text = String::from_utf8_lossy(&start);
    let line = text.lines().next().unwrap_or_default();
    let is_text = |c: char| c != char::REPLACEMENT_CHARACTER && (!c.is_control() || c == '\t');
    match line.chars().all(is_text) {
        true => anyhow!(
            "it is not an NPY file: it is a text that begins with '{}', such as CSV; numpy.save writes NPY, for \
             instance numpy.save('a.npy', numpy.loadtxt('a.csv', delimiter=','))",
            shortened(line, SHOWN)
        ),
        false => {
            anyhow!("it is not an NPY file, as numpy.save writes it: it begins with other bytes")
        }
    }
}

/// Parses the dictionary. Python takes spaces between all parts, and a comma behind the last value.
fn parse(text: &str) -> Result<Header> {
    let (mut descr, mut is_fortran, mut shape) = (None, None, None);
    let mut rest = text.trim().strip_prefix('{').with_context(no_dictionary)?;
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            ensure!(after.is_empty(), no_dictionary());
            break;
        }
        let (key, after) = quoted(rest).with_context(no_dictionary)?;
        let after = after
            .trim_start()
            .strip_prefix(':')
            .with_context(no_dictionary)?;
        let (value, after) = value(after.trim_start()).with_context(no_dictionary)?;
        let shown = || format!("its {key} is {}", shortened(value, SHOWN));
        match key {
            "descr" => descr = Some(value.to_owned()),
            "fortran_order" => {
                is_fortran = Some(match value {
                    "True" => true,
                    "False" => false,
                    _ => bail!("{}, not True or False", shown()),
                });
            }
            "shape" => {
                let lengths = self::shape(value);
                shape =
                    Some(lengths.with_context(|| format!("{}, not a tuple of lengths", shown()))?);
            }
            _ => bail!("its header has the key '{}'", shortened(key, SHOWN)),
        }
        rest = after.strip_prefix(',').unwrap_or(after);
        ensure!(after.starts_with([',', '}']), no_dictionary());
    }
    let missing = |key| move || format!("its header has no {key}");
    Ok(Header {
        descr: descr.with_context(missing("descr"))?,
        is_fortran: is_fortran.with_context(missing("fortran_order"))?,
        shape: shape.with_context(missing("shape"))?,
    })
}

fn no_dictionary() -> Error {
    anyhow!("the header is not a dictionary as Python writes it")
}

/// Splits a string in quotes from what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    text[1..].split_once(quote)
}

/// Splits a value from the comma or brace that ends it. Brackets and strings hold commas of their own.
fn value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (0_usize, None);
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = quote.filter(|_| c != open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ',' | '}') if depth == 0 => {
                return Some((text[..place].trim_end(), &text[place..]));
            }
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Parses a tuple of lengths, to which Python 2 appends an L.
fn shape(text: &str) -> Option<Vec<usize>> {
    let lengths = text.strip_prefix('(')?.strip_suffix(')')?.trim();
    if lengths.is_empty() {
        return Some(Vec::new());
    }
    let one = lengths.strip_suffix(',');
    if one.is_none() && !lengths.contains(',') {
        return None;
    }
    let lengths = one.unwrap_or(lengths).split(',');
    let length = |text: &str| text.trim().trim_end_matches('L').parse().ok();
    lengths.map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_writers() {
        let of = |descr: &str, is_fortran, shape: &[usize]| Header {
            descr: descr.to_owned(),
            is_fortran,
            shape: shape.to_vec(),
        };
        for (text, expected) in [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n",
                of("'<f4'", false, &[3, 4]),
            ),
            (
                "{\"shape\":(3,),\"descr\":\"<f8\",\"fortran_order\":True}",
                of("\"<f8\"", true, &[3]),
            ),
            (
                "{'descr': '<f2', 'fortran_order': False, 'shape': (3L, 18446744073709551615L)}",
                of("'<f2'", false, &[3, usize::MAX]),
            ),
            (
                "{'descr': '|V2', 'fortran_order': False, 'shape': (), }\n",
                of("'|V2'", false, &[]),
            ),
            (
                "{'descr': [('a, }', '<f4', (2, 3)), ('b', '<i8')], 'fortran_order': False, 'shape': (1, 2, 3), }",
                of("[('a, }', '<f4', (2, 3)), ('b', '<i8')]", false, &[1, 2, 3]),
            ),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        assert_eq!(of("'<f4'", false, &[]).type_name(), Some("<f4"));
        assert_eq!(of("[('a', '<f4')]", false, &[]).type_name(), None);
    }

    #[test]
    fn other_texts_are_refused() {
        let whole = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_err(), "{}", &whole[..end]);
        }
        for (from, to) in [
            ("}", "} }"),
            ("}", "'a': 1, }"),
            ("'shape'", "shape"),
            ("'shape'", "'shape"),
            ("(3, 4)", "(3)"),
            ("(3, 4)", "[3, 4]"),
            ("(3, 4)", "(-3, 4)"),
            ("(3, 4)", "(3, 18446744073709551616)"),
            ("(3, 4)", "(3,, 4)"),
            ("(3, 4)", "(,)"),
            ("(3, 4)", "((3, 4))"),
            ("False", "0"),
            (", 'shape'", " 'shape'"),
            ("'descr': '<f4', ", ""),
            ("'fortran_order': False, ", ""),
            ("'shape': (3, 4), ", ""),
        ] {
            assert!(whole.contains(from));
            let text = whole.replacen(from, to, 1);
            assert!(parse(&text).is_err(), "{text}");
        }
    }
}
