//! From the text of a file to points: what is read, and what is refused.

use super::*;

#[test]
fn every_way_to_write_csv() {
    let folder = Folder::new();
    let sums = [
        "--unit",
        "ns",
        "--every",
        "10ns",
        "--aggregate",
        "sum,rate:last",
    ];
    let of = |name: &str, content: &[u8]| {
        written(
            &folder,
            &[&sums[..], &[&folder.file(name, content)]].concat(),
        )
    };
    let found = "series,timestamp,sum,rate:last\n\"a, \"\"b\"\"\",0,3,1\nc,0,8,\n";
    let texts = [
        "timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,c,8\n2,\"a, \"\"b\"\"\",2",
        "VALUE,Series,TimeStamp\r\n1,\"a, \"\"b\"\"\",0\r\n8,c,1\r\n2,\"a, \"\"b\"\"\",2\r\n",
        "id,series,note,value,timestamp,id\n7,\"a, \"\"b\"\"\",\"x\ny\",1,0,\n,c,,8,1,\n1,\"a, \"\"b\"\"\",,2,2,\n",
        "\u{feff}timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,c,8\n2,\"a, \"\"b\"\"\",2\n",
        "\n \n\"timestamp\", series ,value\n\n +0 ,\"a, \"\"b\"\"\", 1. \n\n1, c ,8e0\n\r\n2,\"a, \"\"b\"\"\" ,.2E+1\n\n",
    ];
    for text in texts {
        assert_eq!(of("a.csv", text.as_bytes()), found, "{text:?}");
        assert_eq!(of("a.csv.gz", &gzip(text.as_bytes())), found, "{text:?}");
    }
    let members = [
        gzip(b"timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,"),
        gzip(b"c,8\n2,\"a, \"\"b\"\"\",2"),
    ];
    assert_eq!(of("members.csv.gz", &members.concat()), found);

    for input in [texts[1].as_bytes(), &gzip(texts[2].as_bytes())] {
        let out = folder.argument("out.csv");
        let shown = PROGRAM.read(&[&sums[..], &["--out", &out, "-"]].concat(), input);
        assert_eq!(fs::read_to_string(out).unwrap(), found);
        let start = "points: 3 in stdin, 2 series, ";
        assert!(shown.starts_with(start), "{shown}");
    }
}

#[test]
fn times_and_values() {
    let last = |timestamp: &str| {
        let text = format!("timestamp,value\n{timestamp},1\n");
        lines(&of_text(&text, &[]), false)[0].1
    };
    let noon = MARCH + DAY / 2;
    for (text, time) in [
        ("0", 0),
        ("12e1", 120),
        ("-1", -10),
        ("+21.0", 20),
        ("9223372036854775807", i64::MAX / 10 * 10),
        ("-9223372036854775808", i64::MIN / 10 * 10),
        ("2026-03-01T12:00:00Z", noon),
        ("2026-03-01t12:00:00z", noon),
        ("2026-03-01 12:00:00Z", noon),
        ("2026-03-01 13:30:00+01:30", noon),
        ("2026-03-01T07:00:00-05:00", noon),
        ("2026-03-01T12:00:00.5Z", noon + SECOND / 2),
        ("2026-03-01T12:00:00.000000019Z", noon + 10),
        ("1969-12-31T23:59:59.999999999Z", -10),
        ("2262-04-11T23:47:16.854775807Z", i64::MAX / 10 * 10),
    ] {
        // The very first time is in a bucket only with another origin.
        match text {
            "-9223372036854775808" => {}
            _ => assert_eq!(last(text), time, "{text}"),
        }
    }
    let first = "timestamp,value\n-9223372036854775808.0,1\n1677-09-21T00:12:43.145224193Z,2\n";
    assert_eq!(
        of_text(first, &["--aggregate", "sum", "--origin", "2"]),
        "timestamp,sum\n-9223372036854775808,3\n"
    );

    let value = |cell: &str| {
        let text = format!("timestamp,value\n0,{cell}\n");
        let written = of_text(&text, &["--aggregate", "last"]);
        let value = written.strip_prefix("timestamp,last\n0,").unwrap();
        value.trim_end().to_owned()
    };
    for (cell, number) in [
        ("1", "1"),
        ("-0", "-0"),
        ("0.1", "0.1"),
        ("0.1000000000000000055511151231257827", "0.1"),
        ("123456789012345680", "1.2345678901234568e17"),
        ("1e15", "1000000000000000"),
        ("0.00001", "0.00001"),
        ("-5e-324", "-5e-324"),
        ("1.7976931348623157E308", "1.7976931348623157e308"),
        ("inf", "inf"),
        ("-Infinity", "-inf"),
        ("NaN", ""),
    ] {
        assert_eq!(value(cell), number, "{cell}");
    }
}

#[test]
fn durations() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "timestamp,value\n-1,1\n");
    let starts = |every: &str| {
        let written = written(&folder, &["--unit", "ns", "--every", every, &file]);
        -lines(&written, false)[0].1
    };
    for (every, width) in [
        ("1ns", 1),
        ("20us", 20_000),
        ("200ms", 200_000_000),
        ("35s", 35 * SECOND),
        ("5m", 300 * SECOND),
        ("1h", 3600 * SECOND),
        ("1.5h", 5400 * SECOND),
        ("0.000000001s", 1),
        ("01.250000000000s", 1_250_000_000),
        ("1d", DAY),
        ("2w", 14 * DAY),
        ("9223372036854775807ns", i64::MAX),
    ] {
        assert_eq!(starts(every), width, "{every}");
    }
    for (every, what) in [
        ("60", "the unit is missing: ns, us, ms, s, m, h, d, w"),
        ("1.5", "the unit is missing"),
        ("0s", "a bucket has to last 1ns at least"),
        ("0.0s", "a bucket has to last 1ns at least"),
        ("0.5ns", "not a whole number of nanoseconds"),
        ("1.0000000001s", "not a whole number of nanoseconds"),
        (
            "0.00000000000000000000000000000000000000000001s",
            "not a whole number of nanoseconds",
        ),
        (
            "9223372036854775808ns",
            "longer than 64 bits of nanoseconds, about 292 years",
        ),
        (
            "99999999999999999999999999999999999999999s",
            "longer than 64 bits of nanoseconds",
        ),
        ("", "not a duration as 200ms, 35s or 1.5h"),
        (".5s", "not a duration"),
        ("5.s", "not a duration"),
        ("1.2.3s", "not a duration"),
        ("soon", "not a duration"),
    ] {
        PROGRAM.refuse_usage(&["--every", every, &file], what);
    }
    PROGRAM.refuse_usage(&["--every=-5s", &file], "not a duration");
    // The table that the tests of Python and SQL go through, too.
    for line in include_str!("../../../../tests/data/durations.csv")
        .lines()
        .skip(1)
    {
        let [every, nanoseconds, error] = line.splitn(3, ',').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        match error {
            "" => assert_eq!(
                starts(every),
                nanoseconds.parse::<i64>().unwrap(),
                "{every}"
            ),
            _ => PROGRAM.refuse_usage(&["--every", every, &file], error),
        }
    }
}

#[test]
fn errors_say_where() {
    let folder = Folder::new();
    let cases: &[(&str, &str)] = &[
        (",1\n", "line 4, column timestamp: the cell is empty"),
        (" ,1\n", "line 4, column timestamp: the cell is empty"),
        (
            "noon,1\n",
            "line 4, column timestamp: 'noon' is neither nanoseconds since 1970 nor a time as 2026-01-31T12:00:00Z",
        ),
        (
            "1.5,1\n",
            "line 4, column timestamp: '1.5' is not a whole number of nanoseconds",
        ),
        (
            "1e,1\n",
            "line 4, column timestamp: '1e' is neither nanoseconds",
        ),
        (
            "2026-02-29T00:00:00Z,1\n",
            "'2026-02-29T00:00:00Z' is neither nanoseconds",
        ),
        (
            "2026-02-28T00:00:00,1\n",
            "'2026-02-28T00:00:00' has no offset from UTC, as the Z in 2026-01-31T12:00:00Z",
        ),
        (
            "9223372036854775808,1\n",
            "line 4, column timestamp: '9223372036854775808' is out of the range of nanoseconds in 64 bits, \
             1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z",
        ),
        (
            "2263-01-01T00:00:00Z,1\n",
            "'2263-01-01T00:00:00Z' is out of the range",
        ),
        ("3,one\n", "line 4, column value: 'one' is not a number"),
        ("3,1 1\n", "line 4, column value: '1 1' is not a number"),
        ("3,0x1\n", "line 4, column value: '0x1' is not a number"),
        (
            "3,1e309\n",
            "line 4, column value: '1e309' is out of the range of f64",
        ),
        ("3\n", "line 4: it has 1 cells, the header has 2"),
        ("3,1,\n", "line 4: it has 3 cells, the header has 2"),
        (
            "3,\"1\n4,1\n",
            "line 4: the record has a quote that is not closed",
        ),
        ("\n \n\r\n3,1\n\n4,x\n", "line 9, column value: 'x'"),
        (
            "1,1\n",
            "line 4, column timestamp: 1970-01-01T00:00:00.000000001Z is before",
        ),
    ];
    for (text, place) in cases {
        let text = format!("timestamp,value\n1,1\n2,1\n{text}");
        for (text, place) in with_line_ends(text, place) {
            let file = folder.file("bad.csv", &text);
            let said = ["cannot read ", "bad.csv: ", &place];
            PROGRAM.refuse(&["--unit", "ns", "--every", "1s", &file], &said);
            let file = folder.file("bad.csv.gz", gzip(text.as_bytes()));
            PROGRAM.refuse(
                &["--unit", "ns", "--every", "1s", &file],
                &["bad.csv.gz: ", &place],
            );
        }
    }
    let latin = b"series,timestamp,value\n\xe4,1,1\n";
    PROGRAM.refuse(
        &[
            "--unit",
            "ns",
            "--every",
            "1s",
            &folder.file("latin.csv", latin),
        ],
        &["latin.csv: line 2, column series: '\\xe4' is not UTF-8"],
    );
    let early = folder.file("early.csv", "timestamp,value\n-9223372036854775808,1\n");
    PROGRAM.refuse(
        &["--unit", "ns", "--every", "1s", &early],
        &["early.csv: line 2, column timestamp: the bucket of 1677-09-21T00:12:43.145224192Z begins before the \
           first time in 64 bits of nanoseconds; the first bucket begins at 1677-09-21T00:12:44Z"],
    );

    for (header, what) in [
        ("", "bad.csv: the file is empty"),
        ("\n\n", "bad.csv: the file is empty"),
        (
            "time,value\n",
            "bad.csv: line 1: there is no column timestamp",
        ),
        ("timestamp\n", "bad.csv: line 1: there is no column value"),
        (
            "\n0,1\n",
            "bad.csv: line 2: there is no column timestamp, value: the columns are 0, 1",
        ),
        (
            "timestamp;value\n",
            "no column timestamp, value: the header is 'timestamp;value', with semicolons between",
        ),
        (
            "timestamp\tvalue\n",
            "with tabs between its cells: give --delimiter tab",
        ),
        (
            "value,timestamp,Value\n",
            "bad.csv: line 1: there are two columns value",
        ),
        (
            "value,timestamp,series,series\n",
            "bad.csv: line 1: there are two columns series",
        ),
    ] {
        let file = folder.file("bad.csv", header);
        PROGRAM.refuse(
            &["--unit", "ns", "--every", "1s", &file],
            &["cannot read ", what],
        );
    }
}

/// Without --unit, numbers are in the unit in which they are from 1990 to 2100, which is said.
#[test]
fn units_are_told_by_the_sizes() {
    let folder = Folder::new();
    let expected = "2026-01-31T12:00:00Z";
    for (times, unit) in [
        (&["1769860800"][..], "s"),
        (&["1769860800", "1769860801.5"], "s"),
        (&["1769860800000"], "ms"),
        (&["1769860800000000"], "us"),
        (&["1769860800000000000"], "ns"),
        // With texts.
        (&["1769860800000", "2026-01-31T12:00:00.25Z"], "ms"),
    ] {
        let rows: Vec<_> = times.iter().map(|time| format!("{time},1\n")).collect();
        let file = folder.file("units.csv", format!("timestamp,value\n{}", rows.concat()));
        let options = ["--every", "1s", "--aggregate", "count", &file];
        let shown = PROGRAM.succeed(&options);
        let said = format!("timestamps: in {unit}, as their sizes tell\n");
        says(&shown, &[expected, &said]);
        let found = PROGRAM.json(&options);
        assert_eq!(found["unit"], unit);
        assert_eq!(found["unit_is_told"], true);
        let quiet = PROGRAM.run(&[&options[..], &["--quiet"]].concat());
        let errors = String::from_utf8(quiet.stderr).unwrap();
        says(
            &errors,
            &[
                "note: the timestamps of ",
                &format!("are numbers in {unit}"),
            ],
        );
        let found = PROGRAM.json(&[&options[..], &["--unit", unit]].concat());
        assert_eq!(found["unit_is_told"], false);
    }
    let found = PROGRAM.json(&["--every", "1d", ROOMS]);
    assert_eq!(found["unit"], serde_json::Value::Null);

    // A missing time is read and said, a date among numbers is refused.
    let text = "timestamp,value\n0,1\n1769860800,1\n1769860801,1\n";
    let file = folder.file("units.csv", text);
    let said = "1 timestamp is not from 1990 to 2100 in s, which is the unit of the others by their sizes: it is 0";
    let shown = PROGRAM.warn(&["--every", "1d", &file], &[said]);
    says(&shown, &["timestamps: in s, as their sizes tell\n"]);
    let file = folder.file("units.csv", text.replace("\n0,", "\n20260131,"));
    let said = "20260131 looks like the date 2026-01-31";
    PROGRAM.refuse(&["--every", "1d", &file], &[said]);
}

/// Numbers that are not plausible in one unit were once taken for nanoseconds.
#[test]
fn units_that_cannot_be_told_are_refused() {
    let folder = Folder::new();
    let seconds: String = (0..9000)
        .map(|i| format!("{},1\n", 1_700_000_000 + i))
        .collect();
    let later: String = (0..9000)
        .map(|i| format!("{},1\n", 1_700_000_000_000_i64 + i))
        .collect();
    for (rows, parts) in [
        (
            "20240101,1\n20240102,2\n",
            &["20240101 looks like the date 2024-01-01"][..],
        ),
        (
            "20240101120000,1\n",
            &["20240101120000 looks like the date 2024-01-01"],
        ),
        (
            "2026,1\n2027,1\n",
            &["2026 looks like the date 2026-01-01: write it as 2026-01-01T00:00:00Z"],
        ),
        (
            "0,1\n1,1\n",
            &["cannot be told from their sizes: 0 would be 1970-01-01T00:00:00Z in s, "],
        ),
        (
            "1700000000000,1\n1700000000000000,1\n1700000000000,1\n1700000000000000,1\n",
            &["2023-11-14T22:13:20Z in ms", "--unit says which"],
        ),
        // Behind the start of the file.
        (
            &(seconds + &later),
            &[
                "1700000000000' is out of the range",
                "in s, the unit that the sizes",
            ],
        ),
    ] {
        let file = folder.file("units.csv", format!("timestamp,value\n{rows}"));
        let said = ["cannot read ", "units.csv: "];
        PROGRAM.refuse(&["--every", "1h", &file], &[&said[..], parts].concat());
    }
    let file = folder.file("units.csv", "timestamp,value\n1769860800,1\n");
    PROGRAM.refuse_options(
        &["--every", "1h", "--origin", "5", &file],
        &["--origin 5 is a number: --unit has to say its unit"],
    );
}

#[test]
fn times_out_of_range() {
    let folder = Folder::new();
    for time in [
        "9999-12-31T23:59:59Z",
        "9999-12-31 23:59:59+00:00",
        "0001-01-01T00:00:00Z",
    ] {
        let file = folder.file("far.csv", format!("timestamp,value\n{time},1\n"));
        let said = format!("line 2, column timestamp: '{time}' is out of the range of nanoseconds");
        PROGRAM.refuse(&["--every", "1h", &file], &[&said]);
    }
}

/// Values that f64 does not hold are said.
#[test]
fn large_whole_values() {
    let folder = Folder::new();
    let text = "timestamp,value\n0,9007199254740992\n1,9007199254740993\n2,-9007199254740995\n";
    let file = folder.file("large.csv", text);
    let output = PROGRAM.run(&["--unit", "ns", "--every", "1s", &file]);
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    let said = "large.csv: 2 values are numbers beyond 2^53 that f64 does not have, and are rounded: the \
                first one, 9007199254740993, is read as 9007199254740992\n";
    says(&errors, &["warning: ", said]);
    let file = folder.file("large.csv", &text[..text.find("\n2").unwrap()]);
    let said = "large.csv: 1 value is a number beyond 2^53 that f64 does not have, and is rounded: \
                9007199254740993 is read as 9007199254740992";
    PROGRAM.warn(&["--unit", "ns", "--every", "1s", &file], &[said]);
}

/// 2026-01-31T12:00:00.25Z in each unit, and with the times of RFC 3339 as they are.
#[test]
fn units_of_timestamps() {
    let count = |unit: &str, times: &str| {
        let folder = Folder::new();
        let rows = times.split(' ').map(|time| format!("{time},1\n"));
        let file = folder.file(
            "units.csv",
            format!("timestamp,value\n{}", rows.collect::<String>()),
        );
        let options = [
            "--every",
            "1ns",
            "--aggregate",
            "count",
            "--unit",
            unit,
            &file,
        ];
        written(&folder, &options)
    };
    let expected = "1769860800250000000,2\n1769860801000000000,1\n";
    for (unit, times) in [
        ("s", "1769860800.25 2026-01-31T12:00:00.25Z 1769860801"),
        (
            "ms",
            "1769860800250 2026-01-31T12:00:00.25Z 1769860801000.0",
        ),
        (
            "us",
            "1769860800250000 1769860800250000.000 1769860801000000",
        ),
        (
            "ns",
            "1769860800250000000 1769860800250000000.0 1769860801000000000",
        ),
    ] {
        assert!(count(unit, times).ends_with(expected), "{unit}");
    }
    assert!(count("s", "-1.5 -1").ends_with("\n-1500000000,1\n-1000000000,1\n"));
    // A unit that was given is meant.
    assert!(count("ns", "1769860800").ends_with("\n1769860800,1\n"));

    let folder = Folder::new();
    for (unit, time, said) in [
        (
            "s",
            "9223372037",
            "is out of the range of nanoseconds in 64 bits",
        ),
        (
            "s",
            "-9223372036.9",
            "is out of the range of nanoseconds in 64 bits",
        ),
        ("s", "0.0000000001", "is not a whole number of nanoseconds"),
        ("us", "0.0001", "is not a whole number of nanoseconds"),
        (
            "ms",
            "1e3.5",
            "is neither milliseconds since 1970 nor a time as 2026-01-31T12:00:00Z",
        ),
        ("s", "1.", "is neither seconds since 1970"),
        ("s", ".5", "is neither seconds since 1970"),
        ("s", "1.+5", "is neither seconds since 1970"),
        ("ns", "2016-12-31T23:59:60Z", "is a leap second"),
        ("ns", "2016-12-31T23:59:60.5Z", "is a leap second"),
        ("ns", "2017-01-01 00:59:60+01:00", "is a leap second"),
        ("ns", "20161231T235960Z", "is a leap second"),
    ] {
        let file = folder.file("units.csv", format!("timestamp,value\n{time},1\n"));
        let said = format!("line 2, column timestamp: '{time}' {said}");
        PROGRAM.refuse(&["--every", "1s", "--unit", unit, &file], &[&said]);
    }
    PROGRAM.refuse_usage(
        &["--every", "1s", "--unit", "d", ROOMS],
        "[possible values: s, ms, us, ns]",
    );
}

/// The origin has the unit of the timestamps.
#[test]
fn origins_in_units() {
    let folder = Folder::new();
    let file = folder.file("units.csv", "timestamp,value\n7,1\n14,1\n");
    let options = [
        "--every",
        "10s",
        "--unit",
        "s",
        "--aggregate",
        "count",
        &file,
    ];
    let from = |origin: &str| written(&folder, &[&options[..], &["--origin", origin]].concat());
    assert!(from("5").ends_with("\n5000000000,2\n"));
    assert!(from("1970-01-01T00:00:05Z").ends_with("\n5000000000,2\n"));
    assert!(from("0.5").ends_with("\n500000000,1\n10500000000,1\n"));
}

/// Blocks of a file are parsed in parallel: what holds between points of a series holds beyond
/// them, and of several errors the first is named.
#[test]
fn files_of_many_blocks() {
    let folder = Folder::new();
    let count = 120_000;
    // Series that come and go, a quoted name with a line end, and blank lines.
    let name = |i: i64| match i % 1000 {
        0 => "\"rare\n\"".to_owned(),
        _ => format!("s{}", i % 3 + i / 40_000),
    };
    let row = |i: i64| format!("{i},{},{}.25\n", name(i), i % 100);
    let blank = |i: i64| if i % 7777 == 0 { "\r\n \n" } else { "" };
    let rows: Vec<_> = (0..count).map(|i| row(i) + blank(i)).collect();
    let text = |rows: &[String]| format!("timestamp,series,value\n{}", rows.concat());
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    for i in 0..count {
        *expected.entry(name(i)).or_default() += (i % 100) as f64 + 0.25;
    }

    let file = folder.file("many.csv", text(&rows));
    let found = written(
        &folder,
        &["--unit", "ns", "--every", "1s", "--aggregate", "sum", &file],
    );
    let found = found.strip_prefix("series,timestamp,sum\n").unwrap();
    let names: Vec<_> = found.split(",0,").collect();
    assert_eq!(names.len(), expected.len() + 1);
    // By the order in which they come.
    assert!(found.starts_with("\"rare\n\",0,"), "{found}");
    for (name, sum) in expected {
        let line = format!("{name},0,{sum}\n");
        assert!(found.contains(&line), "{line} {found}");
    }

    let line = |rows: &[String], row: usize| 2 + rows[..row].concat().matches('\n').count();
    let value = |rows: &mut [String], row: usize| rows[row] = format!("{row},s1,one\n");
    let early = |rows: &mut [String], row: usize| rows[row] = format!("5,{},1\n", name(row as i64));
    type Change<'a> = &'a dyn Fn(&mut [String], usize);
    for (first, second) in [
        (&value as Change, &early as Change),
        (&early, &value),
        (&early, &early),
    ] {
        // In blocks that are parsed together and in the same block; the rare series again.
        for (at, then) in [
            (50_001, 119_000),
            (90_001, 90_003),
            (100_000, 100_500),
            (9, 60_000),
        ] {
            let mut bad = rows.clone();
            second(&mut bad, then);
            first(&mut bad, at);
            let file = folder.file("bad.csv", text(&bad));
            let place = format!("bad.csv: line {}, column ", line(&bad, at));
            PROGRAM.refuse(&["--unit", "ns", "--every", "1s", &file], &[&place]);
        }
    }
    let mut bad = rows.clone();
    early(&mut bad, 110_000);
    let file = folder.file("bad.csv", text(&bad));
    let time = "1970-01-01T00:00:00.000000005Z is before 1970-01-01T00:00:00.000109Z";
    PROGRAM.refuse(
        &["--unit", "ns", "--every", "1s", &file],
        &[time, "of series \"rare\""],
    );
    let sorted = written(
        &folder,
        &[
            "--unit",
            "ns",
            "--every",
            "1s",
            "--sort",
            "--aggregate",
            "count",
            &file,
        ],
    );
    assert!(sorted.contains("\"rare\n\",0,120\n"), "{sorted}");
}
