//! The boundaries of FASTQ records.
//!
//! A quality may begin with `@`, so that no line tells by itself what it is. Records are therefore
//! found one after the other, from the first one on.

use std::ops::Range;

use memchr::memchr;

use super::letters::is_blank;
use super::problem::{LONGEST_HEADER, LONGEST_RECORD, Problem};
use crate::text::shortened;

/// Characters of a name that a message has.
const SHOWN_NAME: usize = 60;

/// A record within a text.
pub(super) struct Record {
    /// Without `@` and line end.
    pub header: Range<usize>,
    /// The lines of letters, with the line ends between them.
    pub sequence: Range<usize>,
    /// Start of the next record.
    pub end: usize,
    /// Line ends from the start of the text on up to that of the header, and of the record.
    pub lines_before: u64,
    pub lines: u64,
}

/// A fault of a record.
pub(super) struct Failure {
    pub problem: Problem,
    /// The header, if it is whole.
    pub header: Option<Range<usize>>,
    /// Line ends between the start of the text and the place.
    pub lines: u64,
}

/// Finds the first record of `text`, before which there may be blank lines. Returns `None` if the text
/// ends before the record does and goes on, or, at the end, if there are only blank lines.
pub(super) fn first_record(text: &[u8], is_end: bool) -> Result<Option<Record>, Failure> {
    let mut lines = Lines {
        text,
        at: 0,
        count: 0,
        is_end,
    };
    match lines.find(is_end) {
        Ok(record) => Ok(record),
        Err((Some(problem), header)) => Err(Failure {
            problem,
            header,
            lines: lines.count,
        }),
        Err((None, _)) => Ok(None),
    }
}

/// The place of a record whose letters have one line, as nearly all records have.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub start: usize,
    pub letters: usize,
    pub letters_end: usize,
    /// Start of the next record.
    pub end: usize,
}

impl Plain {
    /// Finds a whole record at `start` without reading its qualities: their end follows from the
    /// length of the letters. Returns `None` if only [`first_record`] may tell.
    ///
    /// Another record has to follow. If a line feed stands within the qualities, [`first_record`] refuses
    /// the record, or the text behind it: the end is wrong only if letters with blanks among them have as
    /// many fewer qualities as there are bytes of a line behind these.
    pub(super) fn at(text: &[u8], start: usize) -> Option<Plain> {
        let line = |start: usize| Some(start..start + memchr(b'\n', text.get(start..)?)?);
        let header = line(start)?;
        let mut letters = line(header.end + 1)?;
        let plus = letters.end + 1;
        let plus_end = match text.get(plus..plus + 2)? {
            b"+\n" => plus + 1,
            _ => line(plus)?.end,
        };
        let mut end = plus_end + 1 + letters.len();
        if text[letters.end - 1] == b'\r' {
            letters.end -= 1;
            end -= 1;
        }
        let written = &text[letters.clone()];
        let is_record = text[start] == b'@'
            && header.len() <= LONGEST_HEADER
            && written.first().is_some_and(|first| !b"+@".contains(first))
            && written.last().is_some_and(|last| !is_blank(*last))
            && text[plus] == b'+'
            && (plus_end == plus + 1
                || names_record(&text[plus..plus_end], &text[start..header.end]))
            && end - start <= LONGEST_RECORD;
        let line_end = match text.get(end)? {
            b'\r' => 2,
            _ => 1,
        };
        let end = end + line_end;
        let is_whole = is_record && text.get(end - 1..=end) == Some(b"\n@");
        is_whole.then_some(Plain {
            start,
            letters: letters.start,
            letters_end: letters.end,
            end,
        })
    }

    /// Returns the header without the blanks at its end.
    pub(super) fn header<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let header = &text[self.start + 1..self.letters - 1];
        let last = header.iter().rposition(|byte| !is_blank(*byte));
        &header[..last.map_or(0, |last| last + 1)]
    }

    /// Whether there is a quality for each letter, in one line.
    pub(super) fn has_qualities(&self, text: &[u8]) -> bool {
        let line_end = match text[self.end - 2] {
            b'\r' => 2,
            _ => 1,
        };
        let end = self.end - line_end;
        let start = end - (self.letters_end - self.letters);
        memchr(b'\n', &text[start..end]).is_none() && !is_blank(text[end - 1])
    }
}

/// A problem, or none if the text goes on.
type Stop = (Option<Problem>, Option<Range<usize>>);

struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    /// Line ends before `at`.
    count: u64,
    is_end: bool,
}

impl Lines<'_> {
    fn find(&mut self, is_end: bool) -> Result<Option<Record>, Stop> {
        while let Some(&byte) = self.text.get(self.at).filter(|byte| is_space(**byte)) {
            self.at += 1;
            self.count += u64::from(byte == b'\n');
        }
        match self.text.get(self.at) {
            None if is_end => return Ok(None),
            None => return Err((None, None)),
            Some(b'@') => self.at += 1,
            Some(&other) => return Err((Some(Problem::NotARecord(other)), None)),
        }
        let lines_before = self.count;
        let rest = self.text.len() - self.at;
        let line = self.line();
        // A byte may be a carriage return.
        if line.as_ref().map_or(rest, ExactSizeIterator::len) > LONGEST_HEADER + 1 {
            self.count = lines_before;
            return Err((Some(Problem::LongHeader), None));
        }
        let Some(header) = line else {
            return Err(self.cut_short("sequence", None));
        };
        let stop = |problem| (Some(problem), Some(header.clone()));
        let sequence_start = self.at;
        let (mut letters, mut sequence_lines, mut sequence_end) = (0, 0, self.at);
        loop {
            match self.text.get(self.at) {
                Some(b'+') => break,
                // A line of letters never begins so.
                Some(b'@') => return Err(stop(Problem::NoPlus)),
                _ => {}
            }
            let Some(line) = self.line() else {
                let lacks = match sequence_lines {
                    0 => "sequence",
                    _ => "qualities",
                };
                return Err(self.cut_short(lacks, Some(header)));
            };
            letters += line.len();
            sequence_lines += 1;
            sequence_end = line.end;
        }
        // The line of the plus sign may have the header again.
        let (count, rest) = (self.count, self.text.len() - self.at);
        let line = self.line();
        if line.as_ref().map_or(rest, ExactSizeIterator::len) > LONGEST_HEADER + 2 {
            self.count = count;
            return Err(stop(Problem::LongPlus));
        }
        let Some(plus) = line else {
            return Err(self.cut_short("qualities", Some(header)));
        };
        let (plus, called) = (&self.text[plus], &self.text[header.start - 1..header.end]);
        if plus.len() > 1 && !names_record(plus, called) {
            self.count = count;
            let name = String::from_utf8_lossy(first_word(plus));
            return Err(stop(Problem::OtherName(shortened(&name, SHOWN_NAME))));
        }
        let sequence = sequence_start..sequence_end;
        if self.at + letters - header.start > LONGEST_RECORD {
            return Err(stop(Problem::LongRecord));
        }
        if letters > 0 {
            match sequence_lines {
                1 => self.quality_line(letters, &sequence, &header)?,
                _ => self.quality_lines(&sequence, &header)?,
            }
        }
        Ok(Some(Record {
            header,
            sequence,
            end: self.at,
            lines_before,
            lines: self.count,
        }))
    }

    /// Takes the line of qualities of a sequence of one line.
    fn quality_line(
        &mut self,
        length: usize,
        sequence: &Range<usize>,
        header: &Range<usize>,
    ) -> Result<(), Stop> {
        let count = self.count;
        let Some(line) = self.line() else {
            let letters = || count_text(&self.text[sequence.clone()]);
            self.require_few(letters, 0, header)?;
            return Err(self.cut_short("qualities", Some(header.clone())));
        };
        if line.len() == length {
            return Ok(());
        }
        let after = std::mem::replace(&mut self.count, count);
        let letters = count_text(&self.text[sequence.clone()]);
        self.require_equal(letters, count_text(&self.text[line]), header)?;
        self.count = after;
        Ok(())
    }

    /// Takes lines of qualities until there are as many as letters.
    fn quality_lines(
        &mut self,
        sequence: &Range<usize>,
        header: &Range<usize>,
    ) -> Result<(), Stop> {
        let letters = count_text(&self.text[sequence.clone()]);
        let mut qualities = 0;
        while qualities < letters {
            let Some(line) = self.line() else {
                self.require_few(|| letters, qualities, header)?;
                return Err(self.cut_short("end of the qualities", Some(header.clone())));
            };
            qualities += count_text(&self.text[line]);
        }
        self.require_equal(letters, qualities, header)
    }

    /// Refuses a line of qualities that is longer than a header beyond the letters, before it ends: it may
    /// be all the text.
    fn require_few(
        &self,
        letters: impl FnOnce() -> usize,
        before: usize,
        header: &Range<usize>,
    ) -> Result<(), Stop> {
        let rest = &self.text[self.at..];
        if rest.len() <= LONGEST_HEADER {
            return Ok(());
        }
        let (letters, qualities) = (letters(), before + count_text(rest));
        match qualities > letters + LONGEST_HEADER {
            true => self.require_equal(letters, qualities, header),
            false => Ok(()),
        }
    }

    fn require_equal(
        &self,
        letters: usize,
        qualities: usize,
        header: &Range<usize>,
    ) -> Result<(), Stop> {
        let problem = match qualities {
            _ if letters == qualities => return Ok(()),
            // There may be more.
            _ if qualities > letters + LONGEST_HEADER => Problem::EndlessQuality(letters),
            _ => Problem::Quality { letters, qualities },
        };
        Err((Some(problem), Some(header.clone())))
    }

    /// Takes a line, and returns it without blanks at its end; `None` if the text ends before.
    fn line(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let mut end = match memchr(b'\n', &self.text[start..]) {
            Some(length) => {
                self.at = start + length + 1;
                self.count += 1;
                start + length
            }
            None if self.is_end && start < self.text.len() => {
                self.at = self.text.len();
                self.text.len()
            }
            None => return None,
        };
        while end > start && is_blank(self.text[end - 1]) {
            end -= 1;
        }
        Some(start..end)
    }

    fn cut_short(&self, lacks: &'static str, header: Option<Range<usize>>) -> Stop {
        if let Some(header) = &header
            && self.text.len() - header.start > LONGEST_RECORD
        {
            return (Some(Problem::LongRecord), Some(header.clone()));
        }
        match self.is_end {
            true => (Some(Problem::CutShort(lacks)), header),
            false => (None, None),
        }
    }
}

/// Whether the line that begins with `+` has the name of the header's line, or none.
fn names_record(plus: &[u8], header: &[u8]) -> bool {
    let name = first_word(plus);
    name.is_empty() || name == first_word(header)
}

/// Returns the name in a line, behind the sign that begins it.
fn first_word(line: &[u8]) -> &[u8] {
    let text = &line[1..];
    let end = text.iter().position(|byte| is_blank(*byte));
    &text[..end.unwrap_or(text.len())]
}

fn count_text(text: &[u8]) -> usize {
    text.iter().filter(|byte| !is_space(**byte)).count()
}

fn is_space(byte: u8) -> bool {
    byte == b'\n' || is_blank(byte)
}
