//! FASTA in blocks that end anywhere, against lines of the whole text.

#![no_main]

use std::path::Path;

use arbitrary::Arbitrary;
use gridstride::sequences::{Alphabet, Unknown};
use gridstride_fuzz::tensor_sketch::fasta::{Parser, Sequence};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    is_protein: bool,
    skips: bool,
    per_file: bool,
    /// Lengths of blocks, again and again.
    lengths: [u8; 3],
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

    /// Parses blocks of these lengths.
    fn parsed(&self, lengths: &[usize]) -> Result<Vec<Record>, String> {
        let path = Path::new("file");
        let mut parser = Parser::new(self.alphabet(), self.unknown(), self.per_file);
        let (mut records, mut open) = (Vec::new(), Vec::new());
        let mut take = |parser: &mut Parser| {
            let visit = |codes: &[u8], sequence: Sequence| {
                open.extend_from_slice(codes);
                if let Sequence::Ended(record) = sequence {
                    let codes = std::mem::take(&mut open);
                    records.push((record.name, record.length, record.skipped, codes));
                }
                Ok::<_, String>(())
            };
            parser.take(visit)
        };
        let (mut text, mut lengths) = (self.text, lengths.iter().cycle());
        while !text.is_empty() {
            let length = *lengths.next().expect("a cycle does not end");
            let (block, rest) = text.split_at(length.clamp(1, text.len()));
            let parsed = parser.text(path, block);
            parsed.map_err(|error| format!("{error:#}"))?;
            take(&mut parser)?;
            text = rest;
        }
        let ended = parser.end_file(Ok(()));
        ended.map_err(|error| format!("{error:#}"))?;
        take(&mut parser)?;
        Ok(records)
    }

    /// The records by lines of the whole text, or `None` if the text is refused.
    fn expected(&self) -> Option<Vec<Record>> {
        if self.text.first() != Some(&b'>') {
            return None;
        }
        let mut records: Vec<Record> = Vec::new();
        for line in self.text.split(|&byte| byte == b'\n') {
            if let Some(header) = line.strip_prefix(b">") {
                let header = header.strip_suffix(b"\r").unwrap_or(header);
                if header.contains(&b'\r') {
                    return None;
                }
                let header = String::from_utf8_lossy(header);
                let name = header.split_whitespace().next().unwrap_or_default();
                match self.per_file {
                    true if records.is_empty() => records.push(("file".into(), 0, 0, Vec::new())),
                    true => {}
                    false => records.push((name.into(), 0, 0, Vec::new())),
                }
                continue;
            }
            let letters = line.strip_suffix(b"\r").unwrap_or(line);
            let (_, length, skipped, codes) = records.last_mut()?;
            for &letter in letters {
                match self.alphabet().code(letter) {
                    Some(code) => codes.push(code),
                    None if self.skips => *skipped += 1,
                    None => return None,
                }
            }
            *length = codes.len() as u64;
        }
        Some(records)
    }
}

fuzz_target!(|input: Input| {
    let whole = input.parsed(&[usize::MAX]);
    assert_eq!(whole.as_ref().ok(), input.expected().as_ref());
    assert_eq!(input.parsed(&input.lengths.map(usize::from)), whole);
});
