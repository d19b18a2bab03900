//! Parses a chunk.

use std::io;
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::chunks::{Chunk, End};
use super::fastq::{self, Plain};
use super::format::RecordFormat;
use super::letters::{Letters, Sign};
use super::problem::{LONGEST_HEADER, Problem};

/// The contents of a chunk. All counts begin at its start.
#[derive(Default)]
pub(super) struct Parsed {
    /// The values of letters, of which those of the chunk are the first.
    pub letters: Vec<u8>,
    /// The number of letters, and of skipped characters.
    pub counts: Counts,
    /// The headers of all records, one after the other.
    pub headers: Vec<u8>,
    /// The records that begin in the chunk.
    pub starts: Vec<Start>,
    /// Ends of lines.
    pub lines: u64,
    /// The number of skipped characters by their bytes, if there are any.
    pub skipped: Option<Box<[u64; 256]>>,
    /// A problem, in the line that follows `lines` ends, and within the last record if the parser has
    /// begun one.
    pub problem: Option<Problem>,
    /// Whether the text ends with the chunk.
    pub is_last: bool,
    /// Why reading failed.
    pub failed: Option<io::Error>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub letters: usize,
    pub skipped: u64,
}

/// The start of a record.
pub(super) struct Start {
    /// The end of its header in all headers.
    pub header_end: usize,
    /// Counts of the records before.
    pub before: Counts,
}

impl Parsed {
    /// Parses a chunk, and reuses the memory of `self`. Returns the text's buffer. Chunks are usually
    /// about `block` bytes long.
    pub(super) fn parse(&mut self, chunk: Chunk, letters: &Letters, block: usize) -> Vec<u8> {
        self.clear();
        let text = &chunk.text[chunk.range];
        // Each byte of a text becomes one letter at most. Memory for a long record is not kept.
        let kept = text.len()..=text.len().max(4 * block);
        if !kept.contains(&self.letters.len()) {
            // Of memory that is zero already, only what becomes letters is touched.
            self.letters = vec![0; text.len()];
        }
        let mut parser = Parser {
            letters,
            parsed: self,
        };
        let is_end = matches!(chunk.end, End::Text);
        let parsed = match chunk.format {
            Some(RecordFormat::Fastq) => {
                let parsed = parser.fastq(text, &chunk.records, &chunk.end);
                parsed.map_err(Problem::in_fastq)
            }
            _ => parser.fasta(text, chunk.starts_line),
        };
        // A refused text has to be an error, also if the parser finds other records.
        self.problem = parsed.err().or(chunk.is_refused.then_some(Problem::NoPlus));
        self.is_last = is_end;
        if let End::Failed(error) = chunk.end {
            self.failed = Some(error);
        }
        chunk.text
    }

    fn clear(&mut self) {
        self.headers.clear();
        self.starts.clear();
        *self = Parsed {
            letters: std::mem::take(&mut self.letters),
            headers: std::mem::take(&mut self.headers),
            starts: std::mem::take(&mut self.starts),
            ..Parsed::default()
        };
    }

    /// Returns the header of a record that begins in the chunk.
    pub(super) fn header(&self, index: usize) -> &[u8] {
        let start = match index {
            0 => 0,
            _ => self.starts[index - 1].header_end,
        };
        &self.headers[start..self.starts[index].header_end]
    }
}

struct Parser<'a> {
    letters: &'a Letters,
    parsed: &'a mut Parsed,
}

impl Parser<'_> {
    fn fasta(&mut self, text: &[u8], starts_line: bool) -> Result<(), Problem> {
        let (mut at, mut starts_line) = (0, starts_line);
        while at < text.len() {
            if starts_line && text[at] == b'>' {
                let start = at + 1;
                let line_end = memchr(b'\n', &text[start..]).map(|length| start + length);
                self.begin_record(&text[start..line_end.unwrap_or(text.len())])?;
                self.parsed.lines += u64::from(line_end.is_some());
                at = line_end.map_or(text.len(), |end| end + 1);
            } else {
                at += self.line(&text[at..], starts_line)?;
                starts_line = true;
            }
        }
        Ok(())
    }

    /// `plain` has some of the records.
    fn fastq(&mut self, text: &[u8], plain: &[Plain], end: &End) -> Result<(), Problem> {
        let mut at = 0;
        let is_end = matches!(end, End::Text);
        let mut plain = plain.iter().peekable();
        loop {
            if let Some(record) = plain.next_if(|record| record.start == at)
                && record.has_qualities(text)
            {
                self.begin_record(record.header(text))?;
                self.parsed.lines += 1;
                // With the text behind the line, which ends at its line feed.
                self.line(&text[record.letters..], false)?;
                self.parsed.lines += 2;
                at = record.end;
                continue;
            }
            let rest = &text[at..];
            let lines = self.parsed.lines;
            let record = match fastq::first_record(rest, is_end) {
                Ok(Some(record)) => record,
                // Blanks within letters or qualities have hidden where the record before ends.
                Ok(None) if matches!(end, End::More) && !rest.trim_ascii().is_empty() => {
                    return Err(Problem::NoPlus);
                }
                // Only white space follows, or the part of a record that was read before an error.
                Ok(None) => {
                    self.parsed.lines += memchr_iter(b'\n', rest).count() as u64;
                    return Ok(());
                }
                Err(failure) => {
                    if let Some(header) = failure.header {
                        // The header itself may be refused.
                        let before = memchr_iter(b'\n', &rest[..header.start]).count();
                        self.parsed.lines = lines + before as u64;
                        self.begin_record(&rest[header])?;
                    }
                    self.parsed.lines = lines + failure.lines;
                    return Err(failure.problem);
                }
            };
            self.parsed.lines = lines + record.lines_before;
            self.begin_record(&rest[record.header])?;
            self.parsed.lines += 1;
            self.sequence(rest, record.sequence)?;
            self.parsed.lines = lines + record.lines;
            at += record.end;
        }
    }

    /// Converts the lines of a sequence.
    fn sequence(&mut self, text: &[u8], mut sequence: Range<usize>) -> Result<(), Problem> {
        while !sequence.is_empty() {
            // With the text behind the line, which ends at its line feed.
            sequence.start += self.line(&text[sequence.start..], false)?;
        }
        Ok(())
    }

    fn begin_record(&mut self, header: &[u8]) -> Result<(), Problem> {
        let header = header.strip_suffix(b"\r").unwrap_or(header);
        // All text behind it would be taken for a part of the header.
        if memchr(b'\r', header).is_some() {
            return Err(Problem::ReturnInHeader);
        }
        if header.len() > LONGEST_HEADER {
            return Err(Problem::LongHeader);
        }
        let parsed = &mut *self.parsed;
        parsed.headers.extend_from_slice(header);
        parsed.starts.push(Start {
            header_end: parsed.headers.len(),
            before: parsed.counts,
        });
        Ok(())
    }

    /// Converts a line of letters, or the rest of one, and returns its bytes with the line end.
    fn line(&mut self, text: &[u8], starts_line: bool) -> Result<usize, Problem> {
        let mut at = 0;
        loop {
            let parsed = &mut *self.parsed;
            let count = &mut parsed.counts.letters;
            let letters = self
                .letters
                .convert(&text[at..], &mut parsed.letters[*count..]);
            *count += letters;
            at += letters;
            let Some(&byte) = text.get(at) else {
                return Ok(at);
            };
            at += 1;
            match self.letters.sign(byte) {
                Sign::LineFeed => {
                    parsed.lines += 1;
                    return Ok(at);
                }
                Sign::Blank => {}
                Sign::Greater => return Err(Problem::HeaderWithinLine),
                Sign::Semicolon => return Err(Problem::Comment),
                _ if byte == b'@' && starts_line && at == 1 => return Err(Problem::FastqInFasta),
                Sign::Skipped => {
                    let is_same = |other: &&u8| **other == byte;
                    let count = 1 + text[at..].iter().take_while(is_same).count();
                    at += count - 1;
                    parsed.counts.skipped += count as u64;
                    let skipped = parsed.skipped.get_or_insert_with(|| Box::new([0; 256]));
                    skipped[usize::from(byte)] += count as u64;
                }
                Sign::Unknown => {
                    return Err(Problem::NotALetter {
                        byte,
                        // Within the chunk. `Records` adds what comes before.
                        place: parsed.counts.letters as u64 + 1,
                        remedy: self.letters.remedy(),
                    });
                }
            }
        }
    }
}
