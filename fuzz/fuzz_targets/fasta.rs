//! FASTA and FASTQ in chunks that end anywhere: FASTA against lines of the whole text, and both against
//! the whole text as one chunk.

#![no_main]

use std::io::Cursor;

use arbitrary::Arbitrary;
use files::sequences::{Error, Letters, Reader};
use gridstride::sequences::{Alphabet, Unknown};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    is_protein: bool,
    skips: bool,
    /// The length of chunks, less 1.
    chunk: u8,
    text: &'a [u8],
}

/// Name, letters, characters that were left out, and codes.
type Record = (String, u64, u64, Vec<u8>);

impl Input<'_> {
    fn alphabet(&self) -> Alphabet {
        match self.is_protein {
            true => Alphabet::protein(),
            false => Alphabet::dna(),
        }
    }

    fn unknown(&self) -> Unknown {
        match self.skips {
            true => Unknown::Skip,
            false => Unknown::Error,
        }
    }

    /// Reads chunks of this length.
    fn read(&self, chunk: usize) -> Result<Vec<Record>, String> {
        let letters = Letters::codes(&self.alphabet(), self.unknown(), "leave it out");
        let text = Box::new(Cursor::new(self.text.to_vec()));
        let mut reader = Reader::here(letters, text, Some(chunk));
        let (mut records, mut open) = (Vec::new(), Vec::new());
        loop {
            let next = reader.next(|piece| {
                open.extend_from_slice(piece.letters);
                if piece.is_last {
                    let (record, codes) = (piece.record, std::mem::take(&mut open));
                    let name = record.name().into_owned();
                    records.push((name, record.length(), record.skipped(), codes));
                }
                Ok::<_, Error>(())
            });
            match next {
                Ok(true) => {}
                Ok(false) => return Ok(records),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// The records of FASTA by lines of the whole text, or `None` if the text is refused.
    fn expected(&self) -> Option<Vec<Record>> {
        let mut records: Vec<Record> = Vec::new();
        let text = self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.text);
        for line in text.split(|&byte| byte == b'\n') {
            if let Some(header) = line.strip_prefix(b">") {
                let header = header.strip_suffix(b"\r").unwrap_or(header);
                if header.contains(&b'\r') {
                    return None;
                }
                let header = String::from_utf8_lossy(header.trim_ascii());
                let name = header.split(|c: char| c.is_ascii_whitespace()).next();
                records.push((name.unwrap_or_default().into(), 0, 0, Vec::new()));
                continue;
            }
            if line.starts_with(b"@") {
                return None;
            }
            for &letter in line {
                if letter == 0x0b || letter.is_ascii_whitespace() {
                    continue;
                }
                let (_, length, skipped, codes) = records.last_mut()?;
                match self.alphabet().code(letter) {
                    _ if matches!(letter, b'>' | b';') => return None,
                    Some(code) => codes.push(code),
                    None if self.skips => *skipped += 1,
                    None => return None,
                }
                *length = codes.len() as u64;
            }
        }
        (!records.is_empty()).then_some(records)
    }
}

fuzz_target!(|input: Input| {
    let whole = input.read(usize::from(u16::MAX));
    let is_blank = |byte: &&u8| **byte == 0x0b || byte.is_ascii_whitespace();
    let text = input
        .text
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(input.text);
    let first = text.iter().find(|byte| !is_blank(byte));
    let is_utf16 = matches!(
        input.text,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] | [0, ..]
    );
    if first == Some(&b'>') && !is_utf16 {
        assert_eq!(whole.as_ref().ok(), input.expected().as_ref());
    }
    assert_eq!(input.read(1 + usize::from(input.chunk)), whole);
});
