//! Texts of one item in each line.

use std::io::Read;
use std::path::Path;

use anyhow::{Result, bail, ensure};

use crate::memory::make_room;
use crate::{Monitor, open};

/// The most bytes of a line. More are no name and no number, but another kind of file.
const LONGEST_LINE: usize = 1 << 16;

/// Bytes that are read in one go.
const BATCH: usize = 1 << 16;

/// Reads the lines of a file, none of which is blank but at the end, without spaces around them. Each
/// is `what`, such as "a name".
///
/// # Errors
/// If the file cannot be read, if a line is blank, longer than 64 KiB or not UTF-8, or if there are
/// more than `most` lines. No error names the file.
///
/// # Examples
/// ```
/// use files::Monitor;
///
/// let path = std::env::temp_dir().join("files_lines_example.txt");
/// std::fs::write(&path, "one\ntwo\n")?;
/// let names = files::lines::read(&path, "a name", 2, &Monitor::default())?;
/// assert_eq!(names, ["one", "two"]);
/// let error = files::lines::read(&path, "a name", 1, &Monitor::default()).unwrap_err();
/// assert_eq!(error.to_string(), "it has more than 1 lines: each line is a name");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, what: &str, most: usize, monitor: &Monitor) -> Result<Vec<String>> {
    parse(open(path, monitor)?, what, most)
}

/// As [`read`], from the decompressed content of a file.
pub(crate) fn parse(mut text: impl Read, what: &str, most: usize) -> Result<Vec<String>> {
    let (mut lines, mut blank) = (Vec::new(), 0);
    let (mut rest, mut is_end) = (Vec::new(), false);
    while !is_end {
        let count = text.by_ref().take(BATCH as u64).read_to_end(&mut rest)?;
        is_end = count < BATCH;
        if is_end && !rest.is_empty() && !rest.ends_with(b"\n") {
            rest.push(b'\n');
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &rest) {
            let number = lines.len() + blank + 1;
            let Ok(line) = str::from_utf8(&rest[start..end]) else {
                bail!("line {number} is not UTF-8: each line is {what}");
            };
            start = end + 1;
            let line = line.trim();
            if line.is_empty() {
                blank += 1;
                continue;
            }
            let place = lines.len() + 1;
            ensure!(blank == 0, "line {place} is blank: each line is {what}");
            ensure!(
                lines.len() < most,
                "it has more than {most} lines: each line is {what}"
            );
            check_length(line.len(), number, what)?;
            make_room(&mut lines, 1, "lines")?;
            lines.push(line.to_owned());
        }
        rest.drain(..start);
        check_length(rest.len(), lines.len() + blank + 1, what)?;
    }
    Ok(lines)
}

fn check_length(length: usize, line: usize, what: &str) -> Result<()> {
    ensure!(
        length <= LONGEST_LINE,
        "line {line} has more than {LONGEST_LINE} bytes: each line is {what}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn said(text: &[u8], most: usize) -> String {
        parse(text, "a name", most).unwrap_err().to_string()
    }

    #[test]
    fn lines_without_the_space_around_them() {
        let read = |text: &str| parse(text.as_bytes(), "a name", 3).unwrap();
        assert_eq!(read(" a b \r\nc"), ["a b", "c"]);
        assert_eq!(read("a\nb\n\n \n"), ["a", "b"]);
        assert_eq!(read(""), [""; 0]);
        assert_eq!(
            said(b"a\n\n\nb\n", 3),
            "line 2 is blank: each line is a name"
        );
        assert_eq!(said(b"\nb\n", 3), "line 1 is blank: each line is a name");
        assert_eq!(
            said(b"a\n\xff\n", 3),
            "line 2 is not UTF-8: each line is a name"
        );
        assert_eq!(
            said(b"a\nb\nc\nd\n", 3),
            "it has more than 3 lines: each line is a name"
        );
    }

    /// Neither takes memory for all there is.
    #[test]
    fn endless_files_are_refused() {
        let endless = parse(io::repeat(b'a'), "a name", usize::MAX)
            .unwrap_err()
            .to_string();
        assert_eq!(
            endless,
            "line 1 has more than 65536 bytes: each line is a name"
        );
        let endless = parse(io::repeat(b'\n').take(10 << 20), "a name", 3).unwrap();
        assert_eq!(endless, [""; 0]);
        let long = [b"a\n", &[b'b'; 70_000][..], b"\n"].concat();
        assert_eq!(
            said(&long, 3),
            "line 2 has more than 65536 bytes: each line is a name"
        );
    }
}
