//! From FASTA text, which comes in blocks cut anywhere, to codes.

use std::mem;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use files::text::visible;
use gridstride::tensor_sketch::{Alphabet, Unknown};
use memchr::memchr;

/// The longest header that is read, in bytes. A longer one belongs to a file without line feeds.
const LONGEST_HEADER: usize = 1 << 20;

/// A sequence as the summary names it.
pub struct Record {
    /// The header up to the first blank, or the file.
    pub name: String,
    /// Letters in the sequence, so far.
    pub length: u64,
    /// Characters that were left out, so far.
    pub skipped: u64,
}

/// What letters belong to.
pub enum Sequence<'a> {
    /// A sequence of which they are the last ones.
    Ended(Record),
    /// A sequence that goes on.
    Open(&'a Record),
}

impl Sequence<'_> {
    pub fn record(&self) -> &Record {
        match self {
            Sequence::Ended(record) => record,
            Sequence::Open(record) => record,
        }
    }
}

impl Record {
    fn new(name: String) -> Record {
        Record {
            name,
            length: 0,
            skipped: 0,
        }
    }
}

/// Reads FASTA. What it has read is to be taken from `codes` and `ended` after each call.
pub struct Parser {
    lines: Lines,
    encoder: Encoder,
}

impl Parser {
    /// For an alphabet; `per_file` makes the records of a file one sequence.
    pub fn new(alphabet: Alphabet, unknown: Unknown, per_file: bool) -> Parser {
        Parser {
            lines: Lines::default(),
            encoder: Encoder {
                alphabet,
                unknown,
                per_file,
                codes: Vec::new(),
                ended: Vec::new(),
                sequence: None,
                place: Place::default(),
                characters: 0,
                amino_acids: 0,
            },
        }
    }

    /// Reads the next text of the file at `path`, at least a byte. Errors name the record.
    pub fn text(&mut self, path: &Path, text: &[u8]) -> Result<()> {
        if self.encoder.place.record == 0 && !self.lines.in_header() {
            if text[0] != b'>' {
                let first = text[0].escape_ascii();
                bail!("it is not FASTA: it begins with '{first}', not with '>'");
            }
            if self.encoder.per_file {
                self.encoder.sequence = Some(Record::new(path.display().to_string()));
            }
        }
        let result = self.lines.split(text, |part| self.encoder.part(part));
        match self.encoder.place.record {
            // There is no record yet, and an error of the first header names it.
            0 => result,
            _ => result.with_context(|| self.encoder.place.to_string()),
        }
    }

    /// Ends the file, which may have ended with an error. Errors name the record.
    pub fn end_file(&mut self, outcome: Result<()>) -> Result<()> {
        self.lines.end(|part| self.encoder.part(part))?;
        let place = mem::take(&mut self.encoder.place);
        if place.record == 0 {
            outcome?;
            bail!("the file is empty");
        }
        self.encoder.end_sequence();
        outcome.with_context(|| format!("reading stopped in {place}"))
    }

    /// Whether the text, read as DNA, looks like proteins: more than a tenth of the characters that
    /// were read are letters that no code for nucleotides has.
    pub fn looks_like_proteins(&self) -> bool {
        self.encoder.amino_acids > self.encoder.characters / 10
    }

    /// Calls `visit` with the letters that were read since the last time, sequence after sequence.
    pub fn take<E>(
        &mut self,
        mut visit: impl FnMut(&[u8], Sequence) -> Result<(), E>,
    ) -> Result<(), E> {
        let Encoder {
            codes,
            ended,
            sequence,
            ..
        } = &mut self.encoder;
        let mut start = 0;
        for (end, record) in ended.drain(..) {
            visit(&codes[start..end], Sequence::Ended(record))?;
            start = end;
        }
        if let Some(record) = sequence {
            visit(&codes[start..], Sequence::Open(record))?;
        }
        codes.clear();
        Ok(())
    }
}

/// Divides text into headers and lines of letters. Blocks may end anywhere, with the same result.
///
/// Libraries either hold a record as a whole or, as noodles' sequence reader does, take a `>` for a
/// header wherever a block happens to begin with it.
#[derive(Default)]
struct Lines {
    state: State,
    /// The part of a header that has come.
    header: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    LineStart,
    Header,
    Letters,
    /// After a carriage return at the end of a block: a line end if a line feed follows.
    Return,
}

enum Part<'a> {
    /// A line that begins with `>`, without it.
    Header(&'a [u8]),
    /// A line, or a part of one.
    Letters(&'a [u8]),
}

impl Lines {
    fn in_header(&self) -> bool {
        self.state == State::Header
    }

    fn split(&mut self, mut text: &[u8], mut visit: impl FnMut(Part) -> Result<()>) -> Result<()> {
        while let Some(&first) = text.first() {
            match self.state {
                State::LineStart if first == b'>' => {
                    self.header.clear();
                    self.state = State::Header;
                    text = &text[1..];
                }
                State::Return if first != b'\n' => {
                    visit(Part::Letters(b"\r"))?;
                    self.state = State::Letters;
                }
                State::Header => {
                    let (line, is_whole) = next_line(&mut text);
                    self.header.extend_from_slice(line);
                    // One byte may be a carriage return. `visit` refuses more.
                    if is_whole || self.header.len() > LONGEST_HEADER + 1 {
                        visit(Part::Header(&self.header))?;
                        self.state = State::LineStart;
                    }
                }
                State::LineStart | State::Letters | State::Return => {
                    let (line, is_whole) = next_line(&mut text);
                    let letters = line.strip_suffix(b"\r").unwrap_or(line);
                    if !letters.is_empty() {
                        visit(Part::Letters(letters))?;
                    }
                    self.state = match is_whole {
                        true => State::LineStart,
                        false if letters.len() < line.len() => State::Return,
                        false => State::Letters,
                    };
                }
            }
        }
        Ok(())
    }

    /// Ends the text: a header may lack its line end.
    fn end(&mut self, mut visit: impl FnMut(Part) -> Result<()>) -> Result<()> {
        match mem::take(&mut self.state) {
            State::Header => visit(Part::Header(&self.header)),
            _ => Ok(()),
        }
    }
}

/// Takes a line off the text, and tells whether it ends there.
fn next_line<'a>(text: &mut &'a [u8]) -> (&'a [u8], bool) {
    let end = memchr(b'\n', text);
    let line = &text[..end.unwrap_or(text.len())];
    *text = &text[end.map_or(text.len(), |end| end + 1)..];
    (line, end.is_some())
}

struct Encoder {
    alphabet: Alphabet,
    unknown: Unknown,
    per_file: bool,
    codes: Vec<u8>,
    /// Sequences that ended, each with the number of `codes` at that time.
    ended: Vec<(usize, Record)>,
    /// The sequence that has not ended.
    sequence: Option<Record>,
    place: Place,
    /// Characters of all sequences, and those of them that were skipped and stand for amino acids.
    characters: u64,
    amino_acids: u64,
}

impl Encoder {
    fn part(&mut self, part: Part) -> Result<()> {
        match part {
            Part::Header(header) => self.begin_record(header),
            Part::Letters(text) => self.letters(text),
        }
    }

    fn begin_record(&mut self, header: &[u8]) -> Result<()> {
        let header = header.strip_suffix(b"\r").unwrap_or(header);
        if header.contains(&b'\r') {
            // All text behind it would be taken for a part of the header.
            bail!(
                "the header of record {} has a carriage return in it: lines have to end with a line \
                 feed, as of `tr '\\r' '\\n'`",
                self.place.record + 1
            );
        }
        ensure!(
            header.len() <= LONGEST_HEADER,
            "the header of record {} has more than {LONGEST_HEADER} bytes: shorten it, or end it with \
             a line feed if that is missing",
            self.place.record + 1
        );
        let header = String::from_utf8_lossy(header);
        let name = header.split_whitespace().next().unwrap_or_default();
        self.place.record += 1;
        self.place.name.clear();
        self.place.name.push_str(name);
        self.place.position = 0;
        if !self.per_file {
            self.end_sequence();
            self.sequence = Some(Record::new(name.into()));
        }
        Ok(())
    }

    fn letters(&mut self, text: &[u8]) -> Result<()> {
        let before = self.codes.len();
        let skipped = self
            .alphabet
            .encode_into(text, self.unknown, &mut self.codes)
            .map_err(|error| self.not_a_letter(text).unwrap_or(error.into()))?;
        self.place.position += text.len() as u64;
        self.characters += text.len() as u64;
        if skipped > 0 {
            let of_protein = |byte: &&u8| b"EFILPQ".contains(&byte.to_ascii_uppercase());
            self.amino_acids += text.iter().filter(of_protein).count() as u64;
        }
        if let Some(record) = &mut self.sequence {
            record.length += (self.codes.len() - before) as u64;
            record.skipped += skipped as u64;
        }
        Ok(())
    }

    /// The error that `encode_into` has found, with its place in the record instead of the line.
    fn not_a_letter(&self, text: &[u8]) -> Option<Error> {
        let is_unknown = |byte: &u8| self.alphabet.code(*byte).is_none();
        let here = text.iter().position(is_unknown)?;
        let (shown, byte) = (text[here].escape_ascii(), text[here]);
        let number = self.place.position + here as u64 + 1;
        Some(Error::msg(format!(
            "letter {number} is '{shown}' (byte {byte}), which is not in the alphabet: --unknown skip \
             leaves such bytes out"
        )))
    }

    fn end_sequence(&mut self) {
        let record = self.sequence.take();
        self.ended
            .extend(record.map(|record| (self.codes.len(), record)));
    }
}

/// Where in a file something is wrong.
#[derive(Default)]
struct Place {
    /// The number of the record, from 1.
    record: usize,
    name: String,
    /// Characters of the record before it.
    position: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "record {} ({})", self.record, visible(&self.name))
    }
}
