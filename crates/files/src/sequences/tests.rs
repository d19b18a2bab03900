use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use gridstride::sequences::{Alphabet, Unknown};

use super::chunks::{Block, Chunks};
use super::parsed::Parsed;
use super::{Error, Letters, Reader};

/// The header, the letters, and the characters that were left out.
type Record = (String, String, u64);

/// Returns the pieces that a reader visits as whole records.
fn records(mut reader: Reader) -> Result<Vec<Record>, Error> {
    let (mut records, mut letters) = (Vec::new(), Vec::new());
    while reader.next(|piece| {
        letters.extend_from_slice(piece.letters);
        assert_eq!(piece.record.length(), letters.len() as u64);
        if piece.is_last {
            let record = piece.record;
            let header = [record.name(), record.description()].join("|");
            let letters = String::from_utf8(std::mem::take(&mut letters)).unwrap();
            assert_eq!(record.index(), records.len() as u64);
            records.push((header, letters, record.skipped()));
        }
        Ok::<_, Error>(())
    })? {}
    Ok(records)
}

/// Reads a text in chunks of all small sizes, and on threads, with the same result.
#[track_caller]
fn read(text: &[u8], letters: &Letters) -> Result<Vec<Record>, String> {
    let owned = text.to_vec();
    let whole = Reader::start(letters.clone(), move || {
        Ok(Box::new(io::Cursor::new(owned)))
    });
    let whole = records(whole).map_err(|error| error.to_string());
    for size in 1..=text.len().min(80) {
        let text = Box::new(io::Cursor::new(text.to_vec()));
        let reader = Reader::here(letters.clone(), text, Some(size));
        let found = records(reader).map_err(|error| error.to_string());
        assert_eq!(found, whole, "chunks of {size} bytes");
    }
    whole
}

/// DNA as text, with other bytes left out.
fn skipping() -> Letters {
    Letters::codes(&Alphabet::dna(), Unknown::Skip, "")
}

fn text(records: &[(&str, &str)]) -> Result<Vec<Record>, String> {
    let record = |(header, letters): &(&str, &str)| (header.to_string(), letters.to_string(), 0);
    Ok(records.iter().map(record).collect())
}

#[test]
fn every_way_to_write_fasta() {
    let expected = text(&[("a|x y", "ACGTAc*"), ("b|", ""), ("|", "TT")]);
    for written in [
        ">a x y\nACGTAc*\n>b\n>\nTT\n",
        ">a x y\nACG\nTAc*\n\n>b\n\n>\nT\nT",
        ">a x y\r\nACG\r\nTAc*\r\n>b\r\n>\r\nTT\r\n",
        "\n \r\n>a x y\n AC GT\tA\nc*  \n>b \n  \n>  \nTT \n\n",
        "\u{feff}>a  x y \nACGTAc*\n>b\n>\n\n\nTT",
        // Carriage returns alone are white space, if no header is among them.
        ">a x y\nACGT\rAc*\r\n>b\n>\nTT\r",
    ] {
        assert_eq!(
            read(written.as_bytes(), &Letters::text()),
            expected,
            "{written:?}"
        );
    }
    for written in [">", ">\n", ">\r\n", " \n>\n\n"] {
        let found = read(written.as_bytes(), &Letters::text());
        assert_eq!(found, text(&[("|", "")]), "{written:?}");
    }
}

#[test]
fn every_way_to_write_fastq() {
    let expected = text(&[("a|x y", "ACGTAc"), ("b|", ""), ("c|", "TT")]);
    for written in [
        "@a x y\nACGTAc\n+\n@@@+>;\n@b\n\n+\n\n@c\nTT\n+c\n@+\n",
        "@a x y\r\nACGTAc\r\n+a x y\r\nIIIIII\r\n@b\r\n\r\n+\r\n\r\n@c\r\nTT\r\n+\r\n!~",
        // Several lines, of which those of qualities may begin with any sign.
        "\n@a x y\nACG\nTAc\n+\n@II\n+II\n\n@b\n+\n@c\nT\nT\n+\n@\n@",
        "\u{feff}@a x y\nACG\nTAc\n+\nI\nIIIII\n@b\n+\n\n@c\nT T\n+\nI I\n\n",
    ] {
        assert_eq!(
            read(written.as_bytes(), &Letters::text()),
            expected,
            "{written:?}"
        );
    }
}

/// Ends of records that follow from the length of the letters are those that a search finds, or the
/// record is refused.
#[test]
fn ends_of_fastq_records_do_not_depend_on_chunks() {
    let tokens = ["@", "A", "+", "\n", "\n", "\r\n", "@A\nAA\n+\nII\n"];
    let mut state = 1u64;
    for _ in 0..2000 {
        let mut text = "@a\nAA\n+\nII\n@b\nAAA\n+\n".to_string();
        for _ in 0..12 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            text += tokens[(state >> 33) as usize % tokens.len()];
        }
        // Fails unless all sizes of chunks have the same result.
        let _ = read(text.as_bytes(), &Letters::text());
    }
    // Blanks that count as letters in one place and not in the other.
    let hidden = "@a\nA A A A\n+\nIIII\n@x\n\n@b\nAA\n+\nII\n";
    for size in 1..hidden.len() {
        let text = Box::new(io::Cursor::new(hidden.as_bytes().to_vec()));
        let found = records(Reader::here(Letters::text(), text, Some(size)));
        assert!(found.is_err(), "chunks of {size} bytes: {found:?}");
    }
}

#[test]
fn skipped_bytes_are_counted() {
    let written = b">a\nNNACGT\nN-\n>b\nnnnnnACGT\n>c\nACGT";
    let found = read(written, &skipping()).unwrap();
    let skipped: Vec<_> = found.iter().map(|record| record.2).collect();
    assert_eq!(skipped, [4, 5, 0]);
    let mut reader = Reader::here(skipping(), Box::new(&written[..]), None);
    while reader.next(|_| Ok::<_, Error>(())).unwrap() {}
    let counts = *reader.skipped();
    assert_eq!(
        [b'N', b'n', b'-', b'A'].map(|b| counts[usize::from(b)]),
        [3, 5, 1, 0]
    );
}

/// Whatever bytes are skipped, these would merge records or make letters of comments.
#[test]
fn records_are_never_merged() {
    let (merged, comment) = ("there is a '>' within a line of sequence", "there is a ';'");
    for (written, said) in [
        // Files that were joined without a line end.
        (">a\nACGT>b\nGG\n", "record 1 (a), line 2: "),
        (">a\nAC\n>b\nGG\nCC>c\nTT", "record 2 (b), line 5: "),
        // Lines that end in carriage returns alone, behind a header that does not.
        (">a\nACGT\r>b\rGG\r", "record 1 (a), line 2: "),
        (">a\nACGT\n >b\nGG\n", "record 1 (a), line 3: "),
        (" >a\nACGT\n", "line 1: "),
        (
            ">a\nAC\n@b\nGG\n+\nII\n",
            "record 1 (a), line 3: the line begins with '@'",
        ),
        (">a\n; no letters\nAC\n", "record 1 (a), line 2: "),
        (">a\nAC\nGT ; a comment\n", "record 1 (a), line 3: "),
        ("@a\nAC\n+\nII\n@b\nA>C\n+\nIII\n", "record 2 (b), line 6: "),
    ] {
        for letters in [skipping(), Letters::text()] {
            let message = read(written.as_bytes(), &letters).unwrap_err();
            let what = match () {
                () if written.contains(';') => comment,
                () if written.contains("\n@") && written.starts_with('>') => "FASTQ",
                () => merged,
            };
            assert!(
                message.starts_with(said) && message.contains(what),
                "{message}"
            );
        }
    }
}

#[test]
fn letters_that_are_refused() {
    let dna = Letters::codes(&Alphabet::dna(), Unknown::Error, "leave it out");
    for (written, said) in [
        (
            ">a\nACGT\n>b x\nAC\n GRT\n",
            "record 2 (b), line 5: letter 4 is 'R' (byte 82)",
        ),
        (">\nAC\nNT\n", "record 1, line 3: letter 3 is 'N' (byte 78)"),
        (
            "@a\nACG\nTN\n+\nIIIII\n",
            "record 1 (a), line 3: letter 5 is 'N'",
        ),
        (
            "@a\nA\n+\nI\n@b\nNA\n+\nII\n",
            "record 2 (b), line 6: letter 1 is 'N'",
        ),
    ] {
        let message = read(written.as_bytes(), &dna).unwrap_err();
        assert!(message.starts_with(said), "{message}");
        assert!(
            message.ends_with("not in the alphabet: leave it out"),
            "{message}"
        );
    }
}

#[test]
fn texts_of_no_format() {
    let carriage_returns = "the header has a carriage return in it: ";
    let header = format!(">a\nAC\n>{}\nAC\n", "n".repeat((1 << 20) + 1));
    let open = format!("@{}", "n".repeat((1 << 20) + 3));
    let long_header = format!("{open}\nAC\n+\nII\n");
    for (written, said) in [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        (
            "words",
            "line 1: it is not FASTA or FASTQ: it begins with 'w'",
        ),
        (";old\nACGT\n", "line 1: there is a ';'"),
        ("\u{feff}words", "line 1: it is not FASTA"),
        (">\0a\0", "the text is UTF-16"),
        (">a\rACGT\r>b\rGG\r", &format!("line 1: {carriage_returns}")),
        (
            ">a\r\nAC\n>b\rGG\n",
            &format!("record 1 (a), line 3: {carriage_returns}"),
        ),
        // A record that is also cut short.
        ("\n\n@a\rb\nAC\n", &format!("line 3: {carriage_returns}")),
        (
            &header,
            "record 1 (a), line 3: the header has more than 1048576 bytes",
        ),
        (&open, "line 1: the header has more than 1048576 bytes"),
        (
            "@a\nAC\n+\nII\nAC\n",
            "record 1 (a), line 5: a record of FASTQ begins with '@'",
        ),
        (
            "@HD\tVN:1\n@SQ\tSN:1\n",
            "record 1 (HD), line 2: the sequence is not followed by",
        ),
        (
            "@a\nACG\n+\nII\n@b\nA\n+\nI\n",
            "record 1 (a), line 4: there are 2 qualities for 3",
        ),
        (
            "@a\nAC\n+\nIII\n",
            "record 1 (a), line 4: there are 3 qualities for 2",
        ),
        (
            "@a\nA\n+\nI\n@b\nA\nC\n+\nI\nII\n",
            "record 2 (b), line 11: there are 3 qualities for 2",
        ),
        (
            &format!("@a\nAC\n+{}\nII\n", "n".repeat((1 << 20) + 3)),
            "record 1 (a), line 3: the line that begins with '+' has more than 1048576 bytes",
        ),
        (
            "@r1\nAC\n+r9\nII\n@r2\nA\n+\nI\n",
            "record 1 (r1), line 3: the line that begins with '+' names another record, r9: ",
        ),
        (
            "@r1 x\nAC\n+r1\nII\n@r2\nA\nC\n+r\nII\n",
            "record 2 (r2), line 8: the line that begins with '+' names another record, r: ",
        ),
        (
            "@a\nA;C\n+\nIII\n",
            "record 1 (a), line 2: there is a ';' within a line of sequence, and FASTQ has neither comments",
        ),
        (
            "@a\nA>C\n+\nIII\n",
            "record 1 (a), line 2: there is a '>' within a line of sequence, and FASTQ has neither",
        ),
        (
            &long_header,
            "line 1: the header has more than 1048576 bytes",
        ),
        (
            "@a",
            "record 1 (a), line 1: the file ends before the sequence",
        ),
        (
            "@a\nAC\n",
            "record 1 (a), line 3: the file ends before the qualities",
        ),
        (
            "@a\nA\n+\nI\n@b\nAC\n+\n",
            "record 2 (b), line 8: the file ends before the qualities",
        ),
        // By the length of the line of letters, which has a blank, the qualities would extend over the
        // blank line.
        (
            "@a\n AC\n+\nII\n\n@b\nA\n",
            "record 2 (b), line 8: the file ends before the qualities",
        ),
        (
            "@a\nAC\nGT\n+\nII\n",
            "record 1 (a), line 6: the file ends before the end of the qual",
        ),
    ] {
        let message = read(written.as_bytes(), &skipping()).unwrap_err();
        assert!(message.starts_with(said), "{written:.40?}: {message}");
        assert!(message.len() < 400, "{message}");
    }
    for mark in [b"\xff\xfe>\0", b"\xfe\xff\0>"] {
        let message = read(mark, &skipping()).unwrap_err();
        assert!(message.starts_with("the text is UTF-16"), "{message}");
    }
}

/// Counts the bytes that are read of a text, which is one byte again and again behind a start.
struct Endless {
    start: io::Cursor<Vec<u8>>,
    byte: u8,
    count: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.start.read(buffer)? {
            0 => io::repeat(self.byte).read(buffer)?,
            count => count,
        };
        self.count.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

/// Records without an end are refused before they fill the memory.
#[test]
fn endless_fastq_is_refused() {
    for (start, byte, most, said) in [
        (
            "@a\n",
            b'A',
            24 << 20,
            "record 1 (a), line 2: the record has more than 8388608 bytes, the most",
        ),
        (
            "@a\nAC\n+\n",
            b'I',
            6 << 20,
            "record 1 (a), line 4: there are more qualities than the 2 letters, by more than 1048576",
        ),
        (
            "@a\nA\nC\n+\nI\n",
            b'I',
            6 << 20,
            "record 1 (a), line 6: there are more qualities than the 2 letters, by more than 1048576",
        ),
        (
            "@a\nAC\n+",
            b'n',
            6 << 20,
            "record 1 (a), line 3: the line that begins with '+' has more than 1048576 bytes",
        ),
        (
            "@",
            b'n',
            6 << 20,
            "line 1: the header has more than 1048576 bytes",
        ),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let text = Endless {
            start: io::Cursor::new(start.into()),
            byte,
            count: count.clone(),
        };
        let reader = Reader::here(Letters::text(), Box::new(text), None);
        let message = records(reader).unwrap_err().to_string();
        assert!(message.starts_with(said), "{message}");
        let count = count.load(Ordering::Relaxed);
        assert!(count <= most, "{said}: {count} bytes");
    }
}

/// Names of any length are shortened in messages.
#[test]
fn messages_are_short() {
    let written = format!(">{}\nA>\n", "n".repeat(1000));
    let message = read(written.as_bytes(), &skipping()).unwrap_err();
    assert!(message.contains("nnn…nnn"), "{message}");
    assert!(message.len() < 400, "{message}");
}

/// The text before an error of reading has been parsed, so that the error names the record.
#[test]
fn reading_that_fails() {
    struct Failing(bool);
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match std::mem::replace(&mut self.0, true) {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Err(io::ErrorKind::Interrupted.into()),
            }
        }
    }
    for (written, said) in [
        (">a\nAC\n>b\nGG", "reading stopped in record 2 (b)"),
        (">a\nA>", "reading stopped in record 1 (a)"),
        ("@a\nAC\n+\nII\n@b\nGG", "reading stopped in record 1 (a)"),
        ("", "nothing before the first record"),
    ] {
        let text =
            || -> Box<dyn Read + Send> { Box::new(written.as_bytes().chain(Failing(false))) };
        let threads = Reader::start(skipping(), move || Ok(text()));
        for reader in [Reader::here(skipping(), text(), Some(30)), threads] {
            let error = records(reader).unwrap_err();
            assert!(error.to_string().starts_with(said), "{error}");
            assert_eq!(error.kind(), Some(io::ErrorKind::UnexpectedEof));
        }
    }
    let open = || anyhow::bail!("there is no such file");
    let error = records(Reader::start(skipping(), open)).unwrap_err();
    assert_eq!(error.to_string(), "there is no such file");
}

/// Long texts, over many chunks of the usual size, in the same order.
#[test]
fn many_chunks_on_threads() {
    let mut written = Vec::new();
    let mut expected = Vec::new();
    for number in 0..3000_usize {
        let letters = "GATTACAT".repeat(number % 700);
        written.extend_from_slice(format!(">{number} x\n").as_bytes());
        for line in letters.as_bytes().chunks(61 + number % 9) {
            written.extend_from_slice(line);
            written.push(b'\n');
        }
        expected.push((format!("{number}|x"), letters, 0));
    }
    let one_line = "GATTACAT".repeat(300_000);
    written.extend_from_slice(format!(">line\n{one_line}\n").as_bytes());
    expected.push(("line|".into(), one_line, 0));
    let reader = Reader::start(Letters::text(), move || {
        Ok(Box::new(io::Cursor::new(written)))
    });
    assert!(records(reader).unwrap() == expected);
}

/// Lines of 8 bytes without an end, that say when nobody reads them any more.
struct Watched {
    place: usize,
    /// The byte at which reading panics.
    end: usize,
    dropped: mpsc::Sender<()>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let line = b">header\nGATTACA\n";
        for byte in &mut *buffer {
            assert!(self.place < self.end, "the text is not readable");
            *byte = line[self.place % line.len()];
            self.place += 1;
        }
        Ok(buffer.len())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.dropped.send(());
    }
}

#[test]
fn readers_that_are_dropped_end_their_threads() {
    let (dropped, is_dropped) = mpsc::channel();
    let text = Watched {
        place: 0,
        end: usize::MAX,
        dropped,
    };
    let mut reader = Reader::start(Letters::text(), move || Ok(Box::new(text)));
    assert!(reader.next(|_| Ok::<_, Error>(())).unwrap());
    assert!(is_dropped.try_recv().is_err());
    drop(reader);
    is_dropped.recv_timeout(Duration::from_secs(60)).unwrap();
}

/// The records of the blocks before it come first.
#[test]
fn a_thread_that_panics_is_an_error() {
    let text = Watched {
        place: 0,
        end: (2 << 19) + (1 << 18),
        dropped: mpsc::channel().0,
    };
    let mut reader = Reader::start(Letters::text(), move || Ok(Box::new(text)));
    let mut count = 0;
    let error = loop {
        let counted = reader.next(|piece| {
            count += u64::from(piece.is_last);
            Ok::<_, Error>(())
        });
        match counted {
            Ok(is_more) => assert!(is_more),
            Err(error) => break error.to_string(),
        }
    };
    // The last one may go on.
    assert_eq!(count, (2 << 19) / 16 - 1);
    assert_eq!(error, "reading stopped in record 65536 (header)");
}

/// Lines are counted over blocks that different threads parse.
#[test]
fn wrong_text_in_a_later_block_has_its_line() {
    for record in [">a\nGATTACA\n", "@a\nGATTACA\n+\nIIIIIII\n"] {
        let lines = record.lines().count();
        let count = (3 << 19) / record.len() + 1000;
        for size in [None, Some(1000)] {
            let written = format!("{}{}", record.repeat(count), record.replace('T', "!"));
            let text = Box::new(io::Cursor::new(written.into_bytes()));
            let reader = match size {
                Some(_) => Reader::here(Letters::text(), text, size),
                None => Reader::start(Letters::text(), move || Ok(text)),
            };
            let error = records(reader).unwrap_err().to_string();
            let said = format!("record {} (a), line {}: ", count + 1, count * lines + 2);
            assert!(error.starts_with(&said), "{error}, not {said}");
        }
    }
}

/// The memory for the letters of a long record is not kept as long as that.
#[test]
fn letters_of_long_records_are_dropped() {
    let long = format!("@a\n{0}\n+\n{0}\n", "G".repeat(1000));
    let text = [&*long, &"@b\nGA\n+\nII\n".repeat(500)].concat();
    let (mut text, mut chunks, mut parsed) =
        (text.as_bytes(), Chunks::default(), Parsed::default());
    let mut longest = 0;
    loop {
        let block = Block::read(&mut text, 50, Vec::new());
        let is_last = block.is_last();
        let Ok(chunk) = chunks.cut(block) else {
            panic!("the text is FASTQ");
        };
        parsed.parse(chunk, &Letters::text(), 50);
        longest = longest.max(parsed.letters.len());
        if is_last {
            break;
        }
    }
    assert!(longest > 1000, "{longest}");
    assert!(parsed.letters.len() <= 200, "{}", parsed.letters.len());
}

/// Blocks have at least one byte.
#[test]
fn blocks_of_no_size() {
    let reader = Reader::here(Letters::text(), Box::new(&b">a\nGA\n"[..]), Some(0));
    assert_eq!(records(reader).unwrap(), text(&[("a|", "GA")]).unwrap());
}

/// Records of FASTQ of which some are longer than several blocks.
#[test]
fn long_fastq_records_on_threads() {
    let mut written = Vec::new();
    let mut expected = Vec::new();
    for number in 0..400_usize {
        let repeats = match number % 100 {
            50 => 200_000,
            other => 10 * other,
        };
        let letters = "GATTACAT".repeat(repeats);
        let qualities = "@".repeat(letters.len());
        written.extend_from_slice(format!("@{number} x\n{letters}\n+\n{qualities}\n").as_bytes());
        expected.push((format!("{number}|x"), letters, 0));
    }
    let read = |written: Vec<u8>| {
        let text = Box::new(io::Cursor::new(written));
        records(Reader::start(Letters::text(), move || Ok(text)))
    };
    assert!(read(written.clone()).unwrap() == expected);
    written.extend_from_slice(b"@wrong\nACG\n+\nII\n");
    let error = read(written).unwrap_err().to_string();
    let said = "record 401 (wrong), line 1604: there are 2 qualities for 3";
    assert!(error.starts_with(said), "{error}");
}
