//! Texts with quotes and line ends anywhere, and sources that fail.

use std::io::{self, Cursor, Read};

use csv::ByteRecord;
use proptest::prelude::*;

use super::comparison::{check, parallel, sequential};
use super::sequential_within;

/// Cells with and without quotes, which may stand anywhere.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-c0-9 .-]{0,6}",
        1 => "\"[a,\r\n ]{0,8}\"",
        1 => "\"(a|\"\"|,|\n){0,4}\"[ a]?",
        1 => "[a\"]{1,4}",
        1 => " \"[a ]{0,3}\"",
        1 => "bad[0-9]?",
        1 => "\u{feff}?é",
    ]
}

fn text(width: usize) -> impl Strategy<Value = String> {
    let row = prop::collection::vec(cell(), width).prop_map(|cells| cells.join(","));
    let odd = prop_oneof![
        Just(String::new()),
        Just(" ".into()),
        Just("\r".into()),
        cell()
    ];
    let line = prop_oneof![12 => row, 1 => odd];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n")];
    let lines = prop::collection::vec((line, end), 0..40);
    let start = prop_oneof![Just("\u{feff}"), Just("")];
    let stop = prop_oneof![Just(""), Just("a,\"b"), Just("1,\"2\""), Just("\"")];
    (start, lines, stop).prop_map(|(start, lines, stop)| {
        let lines = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()]);
        start.to_owned() + &lines.collect::<String>() + stop
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn blocks_are_parsed_as_the_whole(
        text in (1..4usize).prop_flat_map(text),
        size in 1..200usize,
        step in 1..64usize,
    ) {
        check(text.as_bytes(), size, step, b',');
        check(text.replace(',', ";").as_bytes(), size, step, b';');
    }

    /// Any text of the characters that matter.
    #[test]
    fn any_text(text in "[a,\"\n\r ]{0,60}", size in 1..40usize) {
        check(text.as_bytes(), size, 7, b',');
    }
}

/// Each place where a block may end.
#[test]
fn all_block_sizes() {
    let text =
        "\u{feff}\"h1\",h2\r\n\r\n1,\"2\n\"\"3\"\n\n4,5\n\"6\",\"\"\n7,8\n9,\"bad\n\"\nbad9,\"1";
    for size in 1..text.len() + 2 {
        check(text.as_bytes(), size, usize::MAX, b',');
        check(
            text.replace("bad9,\"1", "10,11").as_bytes(),
            size,
            usize::MAX,
            b',',
        );
    }
}

/// Names keep the blank space that is in quotes.
#[test]
fn quoted_names_keep_blanks() {
    let text = "a,b\n\"  x\" , \" y \"\n\n\n\"\t\"\" \"z ,\" \"\r\n z , w\r\n\"\n,\",\"\"";
    let rows = [
        ["x", "\" y \"", "  x", "\" y \""],
        ["\" z", "", "\t\" z", " "],
        ["z", "w", "z", "w"],
        [",", "", "\n,", ""],
    ];
    let rows = rows.map(|row| row.map(|cell| cell.as_bytes().to_vec()).to_vec());
    assert_eq!(sequential(text.as_bytes(), b',').unwrap(), rows);
    for size in 1..text.len() + 2 {
        check(text.as_bytes(), size, usize::MAX, b',');
    }
}

/// The error names the line where the record begins, after all faults before it.
#[test]
fn quotes_that_are_not_closed_are_refused() {
    let said = "the record has a quote that is not closed";
    for (text, expected) in [
        ("a,b\n1,ok\n\n2,\"oops\n3,x\n", format!("line 4: {said}")),
        ("a,b\n1,\"x\ny\"\n2,\"oo\"\"", format!("line 4: {said}")),
        ("\"a,b\n1,2\n", format!("line 1: {said}")),
        ("\n\"", format!("line 2: {said}")),
        (
            "a,b\n1\n2,\"x",
            "line 2: it has 1 cells, the header has 2".into(),
        ),
    ] {
        assert_eq!(sequential(text.as_bytes(), b','), Err(expected));
        for size in 1..20 {
            check(text.as_bytes(), size, 7, b',');
        }
    }
}

/// A record that never ends is refused before all of it is in memory, as the first one, as the one
/// that is read ahead, and behind those.
#[test]
fn records_that_do_not_end_are_refused() {
    let said = "the record has more than 20 bytes: is there a quote that is not closed?";
    for (start, line) in [("", 1), ("a,b\n", 2), ("a,b\n1,2\n3,\"\n\"\n5,", 5)] {
        let endless = start.as_bytes().chain(&b"\""[..]).chain(io::repeat(b'\n'));
        let read = || {
            let mut records = sequential_within(endless, b',', 20)?;
            let mut record = ByteRecord::new();
            while records.next(&mut record)? {}
            anyhow::Ok(())
        };
        assert_eq!(
            read().unwrap_err().to_string(),
            format!("line {line}: {said}")
        );
    }
    // Records that end in time, in a text that is longer than them.
    let text = "a,b\n1,\"2\"\n".repeat(9);
    let mut records = sequential_within(text.as_bytes(), b',', 20).unwrap();
    let (mut record, mut count) = (ByteRecord::new(), 0);
    while records.next(&mut record).unwrap() {
        count += 1;
    }
    assert_eq!(count, 18);
}

/// A source that fails behind a text.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("cut short")),
            count => Ok(count),
        }
    }
}

#[test]
fn errors_of_reading_come_after_the_rows_before_them() {
    let of = |text: &str, size| {
        let source = Failing(Cursor::new(text.into()));
        format!("{:#}", parallel(source, size, b',').unwrap_err())
    };
    for size in 1..30 {
        let text = "a,b\n1,2\n\n3,\"4\n\"\n5,6";
        assert_eq!(of(text, size), "reading stopped in line 6: cut short");
        assert_eq!(
            of(&format!("{text}\n"), size),
            "reading stopped in line 7: cut short"
        );
        assert_eq!(
            of(&text.replace("1,2", "1"), size),
            "line 2: it has 1 cells, the header has 2"
        );
        assert_eq!(of("", size), "reading stopped in line 1: cut short");
        assert_eq!(of("\n\na", size), "reading stopped in line 3: cut short");
    }
}
