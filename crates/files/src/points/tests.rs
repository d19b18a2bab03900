//! Texts of points in other forms than CSV with the usual names.

use anyhow::Result;

use super::*;
use crate::records::ColumnName;

fn columns(texts: &[&str]) -> Vec<ColumnName> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn rows(text: &str, options: &TableOptions) -> Result<Rows> {
    let source = std::io::Cursor::new(text.to_owned());
    parse(source, Demands::new(TimeUnit::S, true, 1, 0), options)
}

fn points(text: &str, options: &TableOptions) -> Points {
    rows(text, options).unwrap().group().unwrap()
}

fn said(text: &str, options: &TableOptions) -> String {
    format!("{:#}", rows(text, options).err().expect("an error"))
}

const SECOND: i64 = time::SECOND;

#[test]
fn delimiters_and_decimal_commas() {
    let options = TableOptions {
        delimiter: b';',
        decimal: b',',
        ..TableOptions::default()
    };
    let text = "timestamp;series;value\n0,5;\"a;b\";-1,25\n1970-01-01T00:00:01.5Z;b;3\n";
    let found = points(text, &options);
    assert_eq!(found.timestamps, [SECOND / 2, 3 * SECOND / 2]);
    assert_eq!(found.values, [[-1.25, 3.0]]);
    assert_eq!(found.names.unwrap(), ["a;b", "b"]);
    // Thousands are not fractions.
    let point =
        "line 2, column value: '1.500' has a point, but numbers are written with a decimal comma";
    assert_eq!(said("timestamp;value\n1;1.500\n", &options), point);

    let tabs = TableOptions {
        delimiter: b'\t',
        ..TableOptions::default()
    };
    assert_eq!(points("timestamp\tvalue\n1\t2.5\n", &tabs).values, [[2.5]]);
    let other = said("timestamp;value\n1;0,5\n", &TableOptions::default());
    let expected = "line 1: there is no column timestamp, value: the header is 'timestamp;value', with semicolons \
                    between its cells: give --delimiter ';', and --decimal ',' if numbers are written as 0,5";
    assert_eq!(other, expected);
    let semicolons = TableOptions {
        delimiter: b';',
        ..TableOptions::default()
    };
    let comma = "line 2, column value: '0,5' is not a number: if the comma is before a fraction, give --decimal ','";
    assert_eq!(said("timestamp;value\n1;0,5\n", &semicolons), comma);
}

#[test]
fn columns_by_name_and_position() {
    let named = TableOptions {
        columns: columns(&["timestamp=t", "value=temp", "value=4", "series=room"]),
        ..TableOptions::default()
    };
    let found = points("room,T,temp,humidity\na,1,2,3\na,2,4,5\n", &named);
    assert_eq!(found.timestamps, [SECOND, 2 * SECOND]);
    assert_eq!(found.values, [[2.0, 4.0], [3.0, 5.0]]);
    assert_eq!(found.value_names, ["temp", "humidity"]);
    let wrong = "line 2, column humidity: 'x' is not a number";
    assert_eq!(said("room,t,temp,humidity\na,1,2,x\n", &named), wrong);
    let missing = "line 1: there is no column 'temp': the columns are room, t, x, y";
    assert_eq!(said("room,t,x,y\n", &named), missing);

    let positions = TableOptions {
        has_header: false,
        columns: columns(&["timestamp=2", "value=1"]),
        ..TableOptions::default()
    };
    let found = points("\n2.5,1\n3.5,2\n", &positions);
    assert_eq!(found.timestamps, [SECOND, 2 * SECOND]);
    assert_eq!(
        (found.values, found.value_names),
        (vec![vec![2.5, 3.5]], vec!["1".into()])
    );
    assert_eq!(
        said("2.5,1\nx,2\n", &positions),
        "line 2, column 1: 'x' is not a number"
    );
    assert_eq!(
        said("2.5,1\n1\n", &positions),
        "line 2: it has 1 cells, the first record has 2"
    );

    let bare = TableOptions {
        has_header: false,
        ..TableOptions::default()
    };
    assert_eq!(points("1,2.5\n2,3.5\n", &bare).values, [[2.5, 3.5]]);
    let three = "line 1: there are 3 columns without a header: say which is read as what, for instance by --columns \
                 timestamp=1,value=2,series=3";
    assert_eq!(said("1,2.5,3\n", &bare), three);
    let unknown = TableOptions {
        columns: columns(&["time=t"]),
        ..TableOptions::default()
    };
    let possible = "line 1: a column is read as 'time', but possible are timestamp, value, series";
    assert_eq!(said("t,value\n", &unknown), possible);
    for text in ["value", "=t", "value=", ""] {
        assert!(text.parse::<ColumnName>().is_err(), "{text}");
    }
}

/// NaN is a value, and an empty cell is none.
#[test]
fn missing_values() {
    let options = TableOptions {
        nulls: vec!["NA".into(), "-".into()],
        columns: columns(&["value=a", "value=b"]),
        ..TableOptions::default()
    };
    let text = "timestamp,series,a,b\n1,x,1,\n2,x,NA,NaN\n1,y,-,-\n2,y,5,6\n";
    let found = points(text, &options);
    let column = found.column(0);
    assert_eq!(*column.timestamps, [SECOND, 2 * SECOND]);
    assert_eq!(
        (&*column.values, &*column.offsets),
        (&[1.0, 5.0][..], &[0, 1, 2][..])
    );
    let column = found.column(1);
    assert_eq!(*column.timestamps, [2 * SECOND; 2]);
    assert!(column.values[0].is_nan() && column.values[1] == 6.0);
    assert_eq!(
        said("timestamp,a,b\nNA,1,2\n", &options),
        "line 2, column timestamp: 'NA' has no time"
    );
}

/// 2⁵³ + 1 is between two numbers of `f64`.
#[test]
fn whole_numbers_that_are_rounded_are_counted() {
    let of = |values: &[&str]| {
        let lines = values.iter().map(|value| format!("1,{value}\n"));
        let text = "timestamp,value\n".to_owned() + &lines.collect::<String>();
        rows(&text, &TableOptions::default()).unwrap().rounded
    };
    assert_eq!(
        of(&[
            "9007199254740992",
            "-9223372036854775808",
            "1e300",
            "18014398509481984.0"
        ]),
        None
    );
    let found = of(&[
        "1",
        "9007199254740993",
        "-9007199254740995",
        "123456789012345678901234567890123456789012",
        "18014398509481984.5",
    ]);
    let first = ("9007199254740993".to_owned(), 9007199254740992.0);
    assert_eq!(found, Some(Rounded { count: 4, first }));
}

/// Each message says what to do.
#[test]
fn what_tables_are_not_is_named() {
    let usual = TableOptions::default();
    for (text, expected) in [
        (
            "timestamp,value\n1,NA\n",
            "line 2, column value: 'NA' is not a number: if it stands for no value, give --null 'NA'",
        ),
        (
            "t,value\n1,2\n",
            "line 1: there is no column timestamp: the columns are t, value; --columns timestamp=NAME reads the \
             column NAME as timestamp",
        ),
        (
            "5,2\n1,2\n",
            "line 1: there is no column timestamp, value: the columns are 5, 2; if the first line is a record, give \
             --no-header",
        ),
        (
            "timestamp,value,series\r1,2,a\r3,4,b\r",
            "line 1: the header has a carriage return in it: lines have to end with a line feed, as of `tr '\\r' \
             '\\n'`",
        ),
        (
            "timestamp,value\nnoon,2\n",
            "line 2, column timestamp: 'noon' is neither seconds since 1970 nor a time as 2026-01-31T12:00:00Z",
        ),
    ] {
        assert_eq!(said(text, &usual), expected);
    }
    let units = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    for text in ["\u{feff}timestamp,value\n1,2\n", "timestamp,value\n1,2\n"] {
        for unit in [None, Some(TimeUnit::S)] {
            let source = std::io::Cursor::new(units(text));
            let found = parse(source, Demands::new(unit, true, 1, 0), &usual);
            let said = format!("{:#}", found.err().expect("an error"));
            assert_eq!(said, format!("line 1: {}", crate::text::UTF16));
        }
    }
}

/// Also if the unit is not known, and is looked for in the first bytes.
#[test]
fn errors_of_reading_have_a_line() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cut short"))
        }
    }
    for unit in [None, Some(TimeUnit::S)] {
        let source = std::io::Cursor::new("timestamp,value\n1769860800,1\n17698").chain(Failing);
        let found = parse(
            source,
            Demands::new(unit, true, 1, 0),
            &TableOptions::default(),
        );
        let said = format!("{:#}", found.err().expect("an error"));
        assert_eq!(said, "reading stopped in line 3: cut short");
    }
}

/// Numbers as programs write floats are times, in the unit that is told.
#[test]
fn timestamps_with_an_exponent() {
    let text = "timestamp,value\n1.76e9,1\n1.7600000605E+09,2\n";
    let source = std::io::Cursor::new(text);
    let found = parse(
        source,
        Demands::new(None, true, 1, 0),
        &TableOptions::default(),
    )
    .unwrap();
    assert_eq!(found.unit, Some(TimeUnit::S));
    let found = found.group().unwrap();
    assert_eq!(
        found.timestamps,
        [1_760_000_000 * SECOND, 1_760_000_060_500_000_000]
    );
    // No unit is named that nobody has said.
    let source = std::io::Cursor::new("timestamp,value\nnoon,1\n");
    let found = parse(
        source,
        Demands::new(None, true, 1, 0),
        &TableOptions::default(),
    );
    let said = format!("{:#}", found.err().expect("an error"));
    assert!(
        said.ends_with("'noon' is neither a number since 1970 nor a time as 2026-01-31T12:00:00Z"),
        "{said}"
    );
}

/// However they are written, also with a decimal comma.
#[test]
fn values_beyond_2_53_are_counted_in_all_spellings() {
    let options = TableOptions {
        delimiter: b';',
        ..TableOptions::default()
    };
    let text = "timestamp;value\n1;9007199254740993.0\n2;9.007199254740993e15\n3;9007199254740992.5\n\
                4;9007199254740994\n5;6.02214076e23\n6;0.1\n7;inf\n";
    let rounded = |text: &str, options| rows(text, options).unwrap().rounded.unwrap();
    let found = rounded(text, &options);
    assert_eq!(found.count, 3);
    assert_eq!(found.first, ("9007199254740993.0".into(), value::MAX_EXACT));
    let commas = TableOptions {
        decimal: b',',
        ..options.clone()
    };
    let found = rounded(&text.replace('.', ","), &commas);
    assert_eq!(found.count, 3);
    assert_eq!(found.first.0, "9007199254740993,0");
}

#[test]
fn columns_of_one_name_have_numbers() {
    let text = "timestamp,a,a,A,a_3\n1,2,3,4,5\n";
    let options = TableOptions {
        columns: columns(&["value=2", "value=3", "value=4", "value=5"]),
        ..TableOptions::default()
    };
    let found = points(text, &options);
    assert_eq!(found.value_names, ["a_2", "a_3_", "A", "a_3"]);
    let options = TableOptions {
        columns: columns(&["value=a"]),
        ..TableOptions::default()
    };
    let expected = "line 1: there are two columns a, since names of columns are compared without case: columns 2 and 3, \
                    which --columns takes by these numbers";
    assert_eq!(said("timestamp,a,A\n", &options), expected);
}

#[test]
fn series_with_two_names() {
    let usual = TableOptions::default();
    let text = "series,column,timestamp,value\n\"a,t\",,1,1\na,\"t,\",1,2\n\" a\",\"\"\"\",1,3\na,\"t,\",2,4\n";
    let found = points(text, &usual);
    assert_eq!(found.names.unwrap(), ["a,t", "a", " a"]);
    assert_eq!(found.columns.unwrap(), ["", "t,", "\""]);
    assert_eq!(found.values, [[1.0, 2.0, 4.0, 3.0]]);
    let series = TableOptions {
        columns: columns(&["series=column"]),
        ..TableOptions::default()
    };
    let found = points(&text.replace(",,1,1", ",b,1,1"), &series);
    assert_eq!((found.names.unwrap().len(), found.columns), (3, None));
    let two = TableOptions {
        columns: columns(&["value=value", "value=timestamp"]),
        ..TableOptions::default()
    };
    let wrong = "line 1: the columns 'series' and 'column' name series of a single column of values: --columns \
                 series=series reads the names in 'series' alone";
    assert_eq!(said(text, &two), wrong);
}

/// As in pandas, whose labels are missing then.
#[test]
fn points_without_a_series_are_refused() {
    let options = TableOptions {
        nulls: vec!["NA".into()],
        ..TableOptions::default()
    };
    let remedy = "name the series of each point, or remove the row";
    for (cell, what) in [
        ("", "the cell is empty"),
        (" ", "the cell is empty"),
        ("\"\"", "the cell is empty"),
        (" NA ", "'NA' stands for no series"),
    ] {
        let text = format!("timestamp,series,value\n1,a,1\n2,{cell},2\n");
        let expected = format!("line 3, column series: {what}: {remedy}");
        assert_eq!(said(&text, &options), expected, "{cell:?}");
    }
    let quoted = points("timestamp,series,value\n1,\" \",1\n", &options);
    assert_eq!(quoted.names.unwrap(), [" "]);
}
