//! Reads the records of FASTA text.

use std::fmt;
use std::io::{self, BufRead, Read};

use datafusion::object_store;

use super::columns::Columns;

/// Bytes of a header: a longer one means that the file has lost its line ends.
const LONGEST_HEADER: u64 = 1 << 20;

/// What is wrong with a file, and in which line, from 1.
#[derive(Debug)]
pub struct Broken {
    line: u64,
    reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// The records of decompressed FASTA text.
pub struct Records<R> {
    text: R,
    /// Lines that have been read.
    lines: u64,
    header: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    pub fn new(text: R) -> Records<R> {
        Records {
            text,
            lines: 0,
            header: Vec::new(),
        }
    }

    /// Adds the next record to `columns`, or returns whether there was none.
    pub fn read(&mut self, columns: &mut Columns) -> Result<bool, Broken> {
        match self.peek()? {
            None => return Ok(false),
            Some(b'>') => self.read_header()?,
            Some(other) => {
                let first = other.escape_ascii();
                let reason = format!("it is not FASTA: it begins with '{first}', not with '>'");
                return Err(self.broken(reason));
            }
        }
        while self.peek()?.is_some_and(|first| first != b'>') {
            match columns.wants_letters() {
                true => self.read_letters(&mut columns.letters)?,
                false => self.skip_line()?,
            }
        }
        columns.end_record(&self.header);
        Ok(true)
    }

    /// Returns the first byte of the next line.
    fn peek(&mut self) -> Result<Option<u8>, Broken> {
        loop {
            match self.text.fill_buf() {
                Ok(text) => return Ok(text.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        }
    }

    fn read_header(&mut self) -> Result<(), Broken> {
        self.header.clear();
        // The '>' and the line end count too.
        let mut line = self.text.by_ref().take(LONGEST_HEADER + 2);
        let read = line.read_until(b'\n', &mut self.header);
        read.map_err(|error| self.unreadable(error))?;
        if self.header.len() as u64 > LONGEST_HEADER && self.header.last() != Some(&b'\n') {
            let reason = "the header has more than 1 MiB: a line end may be missing after it";
            return Err(self.broken(reason.into()));
        }
        self.header.remove(0);
        if self.header.trim_ascii_end().contains(&b'\r') {
            let reason = "a carriage return is within the header: if the lines end in these alone, \
                          as of old Macintosh programs, convert them to line feeds";
            return Err(self.broken(reason.into()));
        }
        self.lines += 1;
        Ok(())
    }

    /// Appends the letters of a line, and refuses bytes that no sequence has.
    fn read_letters(&mut self, letters: &mut Vec<u8>) -> Result<(), Broken> {
        let start = letters.len();
        let read = self.text.read_until(b'\n', letters);
        read.map_err(|error| self.unreadable(error))?;
        keep_letters(letters, start).map_err(|reason| self.broken(reason))?;
        self.lines += 1;
        Ok(())
    }

    fn skip_line(&mut self) -> Result<(), Broken> {
        let skipped = self.text.skip_until(b'\n');
        skipped.map_err(|error| self.unreadable(error))?;
        self.lines += 1;
        Ok(())
    }

    fn broken(&self, reason: String) -> Broken {
        Broken {
            line: self.lines + 1,
            reason,
        }
    }

    fn unreadable(&self, error: io::Error) -> Broken {
        let reason = match is_of_storage(&error) {
            true => format!("reading failed: {error}"),
            false => error.to_string(),
        };
        self.broken(reason)
    }
}

/// Whether an error is not about the content of a file: it is of the system or of the object store.
fn is_of_storage(error: &io::Error) -> bool {
    let of_store = error
        .get_ref()
        .is_some_and(|inner| inner.is::<object_store::Error>());
    of_store || error.raw_os_error().is_some()
}

/// Removes blanks from `letters[start..]`, the bytes of a line, or says which byte is no letter.
fn keep_letters(letters: &mut Vec<u8>, start: usize) -> Result<(), String> {
    while letters.len() > start && letters.last().is_some_and(u8::is_ascii_whitespace) {
        letters.pop();
    }
    // Reading the whole line without a branch is many times faster than a search.
    let line = &letters[start..];
    if !line
        .iter()
        .fold(false, |other, byte| other | !is_letter(*byte))
    {
        return Ok(());
    }
    let is_foreign = |byte: &&u8| !is_letter(**byte) && !byte.is_ascii_whitespace();
    if let Some(&byte) = line.iter().find(is_foreign) {
        return Err(match byte {
            b'>' => "there is a '>' within the letters: a line end may be missing before it".into(),
            _ => format!("'{}' (byte {byte}) is not a letter", byte.escape_ascii()),
        });
    }
    let mut end = start;
    for place in start..letters.len() {
        letters[end] = letters[place];
        end += usize::from(!letters[place].is_ascii_whitespace());
    }
    letters.truncate(end);
    Ok(())
}

/// Whether a sequence may have this byte: letters, and the signs for stops, gaps and unknown
/// residues. Others, as in comments and in files of qualities, would give wrong sequences.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'*' | b'-' | b'.' | b'?' | b'~')
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use datafusion::arrow::array::{AsArray, RecordBatch};

    use super::super::schema;
    use super::*;

    fn read(text: &[u8], buffer: usize, wanted: &[usize]) -> Result<Option<RecordBatch>, String> {
        let mut records = Records::new(BufReader::with_capacity(buffer, text));
        let projected = schema().project(wanted).unwrap();
        let mut columns = Columns::new(wanted.to_vec(), projected.into());
        while records.read(&mut columns).map_err(|e| e.to_string())? {}
        Ok(columns.take().unwrap())
    }

    /// Only damage is a reason to copy a file again.
    #[test]
    fn errors_of_the_storage_have_no_remedy() {
        struct Failing(Option<io::Error>);
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                self.0.take().map_or(Ok(0), Err)
            }
        }
        let gone = object_store::Error::NotFound {
            path: "a.fa".into(),
            source: "gone".into(),
        };
        let message = |text: &mut dyn Read| {
            let mut records = Records::new(BufReader::new(text));
            let mut columns = Columns::new(vec![0], schema().project(&[0]).unwrap().into());
            records.read(&mut columns).unwrap_err().to_string()
        };
        for (error, text) in [
            (io::Error::from_raw_os_error(5), "os error 5"),
            (gone.into(), "a.fa not found: gone"),
        ] {
            let raw = BufReader::new(Failing(Some(error)));
            let message = message(&mut files::decoding::gzip(raw, |_| ()));
            assert!(message.contains(text), "{message}");
            assert!(!message.contains("copy or download"), "{message}");
        }
        let message = message(&mut files::decoding::gzip(
            &b"is no gzip at all"[..],
            |_| (),
        ));
        assert!(
            message.contains("the gzip data is damaged near byte"),
            "{message}"
        );
        assert!(message.contains("copy or download"), "{message}");
    }

    /// Buffers of all sizes cut the text everywhere.
    #[test]
    fn records_cut_anywhere() {
        let text = b">one  first  one \r\nACGT\r\nac gt*\r\n\r\n>two\n\n>\nGG\n>four x\nA-\n T.?~";
        for buffer in 1..=text.len() {
            let batch = read(text, buffer, &[0, 1, 2]).unwrap().unwrap();
            let ids = batch.column(0).as_string::<i32>();
            let descriptions = batch.column(1).as_string::<i32>();
            let sequences = batch.column(2).as_string::<i64>();
            let ids: Vec<_> = ids.iter().flatten().collect();
            assert_eq!(ids, ["one", "two", "", "four"]);
            let descriptions: Vec<_> = descriptions.iter().collect();
            assert_eq!(descriptions, [Some("first  one"), None, None, Some("x")]);
            let sequences: Vec<_> = sequences.iter().flatten().collect();
            assert_eq!(sequences, ["ACGTacgt*", "", "GG", "A-T.?~"]);
        }
    }

    #[test]
    fn only_what_is_wanted() {
        let text = b">one first\nACGT\n>two\n\xff\n";
        let batch = read(text, 8, &[1]).unwrap().unwrap();
        assert_eq!((batch.num_columns(), batch.num_rows()), (1, 2));
        assert_eq!(batch.schema().field(0).name(), "description");
        assert_eq!(read(text, 8, &[]).unwrap().unwrap().num_rows(), 2);
        assert!(read(b"", 8, &[0]).unwrap().is_none());
    }

    #[test]
    fn errors_name_the_line() {
        let long = [b">".as_slice(), &vec![b'A'; (1 << 20) + 5]].concat();
        let cases: [(&[u8], &str); 9] = [
            (
                b">a\rACGT\r>b\rGG",
                "line 1: a carriage return is within the header",
            ),
            (
                b">a\n; a comment\nAC\n",
                "line 2: ';' (byte 59) is not a letter",
            ),
            (
                b">a\nAC\n40 40 38\n",
                "line 3: '4' (byte 52) is not a letter",
            ),
            (b">a\n{A\n", "line 2: '{' (byte 123) is not a letter"),
            (
                b"ACGT\n",
                "line 1: it is not FASTA: it begins with 'A', not with '>'",
            ),
            (
                b">a\nAC\nA\xe9T\n",
                "line 3: '\\xe9' (byte 233) is not a letter",
            ),
            (
                b">a\nACGT>b\nA\n",
                "line 2: there is a '>' within the letters",
            ),
            (
                b">a\nAC\n>b\nA\x00\n",
                "line 4: '\\x00' (byte 0) is not a letter",
            ),
            (&long, "line 1: the header has more than 1 MiB"),
        ];
        for (text, expected) in cases {
            let message = read(text, 7, &[0, 1, 2]).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
        let longest = [b">".as_slice(), &vec![b'A'; 1 << 20], b"\nC"].concat();
        assert!(read(&longest, 1 << 16, &[0]).is_ok());
    }
}
