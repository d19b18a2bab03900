//! The subcommand `time-series` as its user meets it: what it prints, writes, draws and refuses.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{self, Random, small};
use crate::program::{Folder, Program, gzip, name_of, says, with_line_ends, words};

const PROGRAM: Program = Program("time-series");

/// Three rooms for a week. Tests run in the package's folder, in a bundle too.
const ROOMS: &str = "../examples/data/rooms.csv";

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// 2026-03-01T00:00:00Z.
const MARCH: i64 = 1_772_323_200 * SECOND;

/// Returns the output of `--out`.
fn written(folder: &Folder, arguments: &[&str]) -> String {
    fs::read_to_string(PROGRAM.write(folder, "out.csv", arguments)).unwrap()
}

/// As [`written`], for a series with this text, in buckets of 10 ns.
fn of_text(text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new();
    let file = folder.file("series.csv", text);
    written(&folder, &[&["--every", "10ns", &file], arguments].concat())
}

/// A line of the output: the name of the series or an empty text, the start and the numbers.
type Line = (String, i64, Vec<f64>);

fn lines(written: &str, has_series: bool) -> Vec<Line> {
    let line = |line: &str| {
        let mut cells = line.split(',');
        let series = if has_series {
            cells.next().unwrap()
        } else {
            ""
        };
        let start = cells.next().unwrap().parse().unwrap();
        let numbers = cells.map(|cell| cell.parse().unwrap()).collect();
        (series.to_owned(), start, numbers)
    };
    written.lines().skip(1).map(line).collect()
}

#[track_caller]
fn assert_close(found: &[Line], expected: &[Line]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((&found.0, found.1), (&expected.0, expected.1));
        for (a, b) in found.2.iter().zip(&expected.2) {
            let near = (a - b).abs() <= 1e-9 * b.abs().max(1.0);
            assert!(near || (a.is_nan() && b.is_nan()), "{found:?} {expected:?}");
        }
    }
}

/// Points of a series, in order.
type Series = Vec<(i64, f64)>;

/// Values other than NaN by the start of their bucket. Buckets with only NaN are empty.
fn buckets(series: &Series, width: i64) -> BTreeMap<i64, Vec<f64>> {
    let mut buckets: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for &(time, value) in series {
        let bucket = buckets.entry(time.div_euclid(width) * width).or_default();
        bucket.extend(Some(value).filter(|value| !value.is_nan()));
    }
    buckets
}

/// The differences of successive values other than NaN.
fn rates(series: &Series) -> Series {
    let series: Vec<_> = series.iter().filter(|(_, value)| !value.is_nan()).collect();
    let pairs = series.windows(2);
    pairs
        .map(|pair| (pair[1].0, pair[1].1 - pair[0].1))
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn std(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    match values.len() {
        0 | 1 => f64::NAN,
        count => (squares / (count - 1) as f64).sqrt(),
    }
}

fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = (values.len() - 1) as f64 * percent / 100.0;
    let (low, part) = (place.floor() as usize, place.fract());
    let high = values[(low + 1).min(values.len() - 1)];
    values[low] + part * (high - values[low])
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The time of a text as 2026-03-02T00:00:07.5Z, in March of that year.
fn of_march(text: &str) -> i64 {
    let text = text
        .strip_prefix("2026-03-")
        .and_then(|text| text.strip_suffix('Z'))
        .unwrap();
    let (day, clock) = text.split_once('T').unwrap();
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let clock: Vec<i64> = clock.split(':').map(|part| part.parse().unwrap()).collect();
    let seconds = clock[0] * 3600 + clock[1] * 60 + clock[2];
    let fraction: i64 = format!("{fraction:0<9}").parse().unwrap();
    MARCH + (day.parse::<i64>().unwrap() - 1) * DAY + seconds * SECOND + fraction
}

/// The series of the data, by order of appearance.
fn rooms(text: &str) -> Vec<(String, Series)> {
    let mut rooms: Vec<(String, Series)> = Vec::new();
    let text = text.strip_prefix("timestamp,series,value\n").unwrap();
    for line in text.lines() {
        let [time, name, value] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let value = match value {
            "" => f64::NAN,
            _ => value.parse().unwrap(),
        };
        let point = (of_march(time), value);
        match rooms.iter_mut().find(|(known, _)| known == name) {
            Some((_, series)) => series.push(point),
            None => rooms.push((name.into(), vec![point])),
        }
    }
    rooms
}

/// mean, std, p95 and rate:max of all series.
fn expected(rooms: &[(String, Series)], width: i64) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, series) in rooms {
        let rates = buckets(&rates(series), width);
        for (start, values) in buckets(series, width) {
            let rate = rates.get(&start).map_or(f64::NAN, |rates| max(rates));
            let numbers = vec![mean(&values), std(&values), percentile(&values, 95.0), rate];
            lines.push((name.clone(), start, numbers));
        }
    }
    lines
}

const METHODS: &str = "mean,std,p95,rate:max";
const DOCUMENTED: [&str; 5] = [ROOMS, "--every", "6h", "--aggregate", METHODS];

#[test]
fn rooms_of_a_week() {
    let folder = Folder::new();
    let text = fs::read_to_string(ROOMS).unwrap();
    let rooms = rooms(&text);
    let names: Vec<_> = rooms.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["kitchen", "cellar", "attic"]);
    let expected = expected(&rooms, 6 * 3600 * SECOND);

    let csv = written(&folder, &DOCUMENTED);
    let start = format!("series,timestamp,{METHODS}\nkitchen,1772409600000000000,");
    assert!(csv.starts_with(&start));
    assert_close(&lines(&csv, true), &expected);

    let shown = PROGRAM.succeed(&DOCUMENTED);
    let rows = words(&shown);
    assert_eq!(rows[0][..2], ["series", "timestamp"]);
    assert_eq!(rows[0][2..].join(","), METHODS);
    for (row, expected) in rows[1..11].iter().zip(&expected) {
        assert_eq!((row[0], of_march(row[1])), (&*expected.0, expected.1));
        for (cell, number) in row[2..].iter().zip(&expected.2) {
            let error = cell.parse::<f64>().unwrap() - number;
            assert!(error.abs() <= 1e-5, "{row:?}");
        }
    }
    let count = text.lines().count() - 1;
    says(
        &shown,
        &[
            format!("... and {} more\n", expected.len() - 10),
            format!("points: {count} in {ROOMS}, 3 series, 2026-03-02T00:01:23Z to "),
            format!(
                "buckets: {} of 6h: mean, std, p95, rate:max\n",
                expected.len()
            ),
        ],
    );
    for part in [
        "reading ",
        "grouping ",
        "aggregating ",
        "opening the device ",
    ] {
        let (_, behind) = shown.split_once(part).unwrap();
        behind.split(' ').next().unwrap().parse::<f64>().unwrap();
    }
    says(&shown, &[" million points/s)"]);
    assert!(
        !shown.contains("writing") && !shown.contains("plotting"),
        "{shown}"
    );
}

#[test]
fn devices() {
    let folder = Folder::new();
    let rooms = rooms(&fs::read_to_string(ROOMS).unwrap());
    let expected = expected(&rooms, 6 * 3600 * SECOND);
    for device in common::devices() {
        let name = name_of(device.kind());
        let device = device.kind().to_string();
        let arguments = [&DOCUMENTED[..], &["--device", &device]].concat();
        assert_close(&lines(&written(&folder, &arguments), true), &expected);
        let shown = PROGRAM.succeed(&arguments);
        says(&shown, &[format!(" ms, on {name}: ")]);
    }
    let options = [&DOCUMENTED[..], &["--device", "gpu"]].concat();
    PROGRAM.refuse_usage(
        &options,
        "there is no device \"gpu\": possible are auto, cpu, cuda",
    );
}

#[test]
fn all_methods() {
    let text = "timestamp,value\n-1,4\n0,1\n2,4\n2,2\n9,9\n30,0.1\n";
    let methods = "count,sum,mean,min,max,first,last,std,var,median,p25,p62.5,p100";
    let header = format!("timestamp,{methods}\n");
    assert_eq!(
        of_text(text, &["--aggregate", methods]),
        header
            + "-10,1,4,4,4,4,4,4,NaN,NaN,4,4,4,4\n\
               0,4,16,4,1,9,1,9,3.559026084010437,12.666666666666666,3,1.75,3.75,9\n\
               30,1,0.1,0.1,0.1,0.1,0.1,0.1,NaN,NaN,0.1,0.1,0.1,0.1\n"
    );
    let rates = "rate:count,rate:sum,rate:last,rate:min,rate:median";
    assert_eq!(
        of_text(text, &["--aggregate", rates]),
        format!(
            "timestamp,{rates}\n-10,0,0,NaN,NaN,NaN\n0,4,5,7,-3,0.5\n30,1,-8.9,-8.9,-8.9,-8.9\n"
        )
    );
    assert!(of_text(text, &[]).starts_with("timestamp,mean,min,max\n-10,4,4,4\n"));

    for (methods, said) in [
        (
            "mean,average",
            "\"average\" is no method: there are count, ",
        ),
        ("p101", "percentile 101 is not from 0 to 100"),
    ] {
        PROGRAM.refuse_usage(&["--every", "1s", "--aggregate", methods, ROOMS], said);
    }
}

#[test]
fn options() {
    let text = "timestamp,value\n0,1\n1,nan\n2,3\n2,5\n30,8\n41,\n";
    let with = |options: &[&str]| {
        let written = of_text(text, &[&["--aggregate", "count,sum,std"], options].concat());
        let lines = written.strip_prefix("timestamp,count,sum,std\n");
        lines.unwrap().to_owned()
    };
    let deviation = |values: &[f64]| std(values).to_string();
    let all = deviation(&[1.0, 3.0, 5.0]);
    assert_eq!(with(&[]), format!("0,3,9,{all}\n30,1,8,NaN\n40,0,0,NaN\n"));
    assert_eq!(with(&["--nan", "skip"]), with(&[]));
    assert_eq!(
        with(&["--nan", "propagate"]),
        "0,4,NaN,NaN\n30,1,8,NaN\n40,1,NaN,NaN\n"
    );
    assert_eq!(with(&["--singletons", "drop"]), format!("0,3,9,{all}\n"));
    assert_eq!(with(&["--singletons", "nan"]), with(&[]));
    let of_all = (8.0f64 / 3.0).sqrt();
    let found = lines(&format!("\n{}", with(&["--ddof", "0"])), false);
    assert_close(
        &found[..2],
        &[
            ("".into(), 0, vec![3.0, 9.0, of_all]),
            ("".into(), 30, vec![1.0, 8.0, 0.0]),
        ],
    );
    assert_eq!(
        with(&["--duplicates", "first"]),
        format!("0,2,4,{}\n30,1,8,NaN\n40,0,0,NaN\n", deviation(&[1.0, 3.0]))
    );
    assert_eq!(
        with(&["--duplicates", "last"]),
        format!("0,2,6,{}\n30,1,8,NaN\n40,0,0,NaN\n", deviation(&[1.0, 5.0]))
    );
    let filled =
        |cells: &str| format!("0,3,9,{all}\n10,{cells}\n20,{cells}\n30,1,8,NaN\n40,0,0,NaN\n");
    assert_eq!(with(&["--fill", "null"]), filled("NaN,NaN,NaN"));
    assert_eq!(with(&["--fill", "-1.5"]), filled("-1.5,-1.5,-1.5"));
    assert_eq!(with(&["--fill", "previous"]), filled(&format!("3,9,{all}")));
    assert_eq!(
        with(&["--origin", "-8"]),
        format!(
            "-8,1,1,NaN\n2,2,8,{}\n22,1,8,NaN\n32,0,0,NaN\n",
            deviation(&[3.0, 5.0])
        )
    );
    assert_eq!(
        with(&["--origin", "1970-01-01T01:00:00.000000002+01:00"]),
        with(&["--origin", "-8"])
    );

    for (option, value, said) in [
        ("--nan", "drop", "[possible values: skip, propagate]"),
        ("--singletons", "x", "[possible values: nan, drop]"),
        ("--duplicates", "x", "[possible values: keep, first, last]"),
        ("--ddof", "-1", "-1"),
        ("--fill", "zero", "not null, previous or a number"),
        (
            "--origin",
            "noon",
            "it is neither nanoseconds since 1970 nor a time as 2026-01-31",
        ),
        ("--origin", "2026-01-31T12:00", "it has no offset from UTC"),
    ] {
        PROGRAM.refuse_usage(&["--every", "1s", ROOMS, option, value], said);
    }
    PROGRAM.refuse_usage(&[ROOMS], "--every");
    PROGRAM.refuse_usage(&["--every", "1s"], "SERIES.csv");
}

#[test]
fn order() {
    let folder = Folder::new();
    let text = "timestamp,value,series\n5,1,a\n12,2,b\n3,4,a\n15,8,a\n11,16,b\n11,32,b\n";
    let file = folder.file("mixed.csv", text);
    let arguments = ["--every", "10ns", "--aggregate", "first,last,sum", &file];
    let sorted = written(&folder, &[&arguments[..], &["--sort"]].concat());
    assert_eq!(
        sorted,
        "series,timestamp,first,last,sum\na,0,4,1,5\na,10,8,8,8\nb,10,16,2,50\n"
    );
    PROGRAM.refuse(
        &arguments,
        &["mixed.csv: line 4, column timestamp: 1970-01-01T00:00:00.000000003Z is before \
           1970-01-01T00:00:00.000000005Z, the time of the point before it of series \"a\"; points in any order \
           need --sort"],
    );
    let file = folder.file("one.csv", "timestamp,value\n\n5,1\n\n4,1\n");
    PROGRAM.refuse(
        &["--every", "10ns", &file],
        &[
            "one.csv: line 5, column timestamp: 1970-01-01T00:00:00.000000004Z is before ",
            " before it; points",
        ],
    );
}

#[test]
fn many_series() {
    let folder = Folder::new();
    let mut random = Random(7);
    let names: Vec<_> = (0..50)
        .map(|i| format!("series {}", i * 7919 % 50))
        .collect();
    let mut series: Vec<(String, Series)> = Vec::new();
    let mut text = "value,series,timestamp\n".to_owned();
    for i in 0..20_000 {
        // Round by round at first, then in any order.
        let name = match i < 5000 {
            true => &names[i % names.len()],
            false => &names[random.within(0, 50) as usize % 50],
        };
        let (time, value) = (i as i64 * 3 - 20_000, random.within(0, 1000) as f64 / 8.0);
        text += &format!("{value},{name},{time}\n");
        match series.iter_mut().find(|(known, _)| known == name) {
            Some((_, points)) => points.push((time, value)),
            None => series.push((name.clone(), vec![(time, value)])),
        }
    }
    let file = folder.file("series.csv", &text);
    let arguments = ["--every", "7us", "--aggregate", METHODS, &file];
    let csv = written(&folder, &arguments);
    assert_close(&lines(&csv, true), &expected(&series, 7000));
    let shown = PROGRAM.succeed(&arguments);
    says(&shown, &[", 50 series, 1969-12-31T23:59:59.99998Z to "]);

    // One after the other, in the same order: the same buckets.
    let mut one_by_one = "timestamp,value,series\n".to_owned();
    for (name, points) in &series {
        for (time, value) in points {
            one_by_one += &format!("{time},{value},{name}\n");
        }
    }
    let file = folder.file("one_by_one.csv", one_by_one);
    let arguments = [&arguments[..4], &[&file]].concat();
    assert_eq!(written(&folder, &arguments), csv);
}

#[test]
fn every_way_to_write_csv() {
    let folder = Folder::new();
    let sums = ["--every", "10ns", "--aggregate", "sum,rate:last"];
    let of = |name: &str, content: &[u8]| {
        written(
            &folder,
            &[&sums[..], &[&folder.file(name, content)]].concat(),
        )
    };
    let found = "series,timestamp,sum,rate:last\n\"a, \"\"b\"\"\",0,3,1\n,0,8,NaN\n";
    let texts = [
        "timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,,8\n2,\"a, \"\"b\"\"\",2",
        "VALUE,Series,TimeStamp\r\n1,\"a, \"\"b\"\"\",0\r\n8,,1\r\n2,\"a, \"\"b\"\"\",2\r\n",
        "id,series,note,value,timestamp,id\n7,\"a, \"\"b\"\"\",\"x\ny\",1,0,\n,,,8,1,\n1,\"a, \"\"b\"\"\",,2,2,\n",
        "\u{feff}timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,,8\n2,\"a, \"\"b\"\"\",2\n",
        "\n \n\"timestamp\", series ,value\n\n +0 ,\"a, \"\"b\"\"\", 1. \n\n1, ,8e0\n\r\n2,\" a, \"\"b\"\" \",.2E+1\n\n",
    ];
    for text in texts {
        assert_eq!(of("a.csv", text.as_bytes()), found, "{text:?}");
        assert_eq!(of("a.csv.gz", &gzip(text.as_bytes())), found, "{text:?}");
    }
    let members = [
        gzip(b"timestamp,series,value\n0,\"a, \"\"b\"\"\",1\n1,"),
        gzip(b",8\n2,\"a, \"\"b\"\"\",2"),
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
        ("-1", -10),
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
    let first = "timestamp,value\n-9223372036854775808,1\n1677-09-21T00:12:43.145224193Z,2\n";
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
        ("NaN", "NaN"),
        ("", "NaN"),
    ] {
        assert_eq!(value(cell), number, "{cell}");
    }
}

#[test]
fn durations() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "timestamp,value\n-1,1\n");
    let starts = |every: &str| {
        let written = written(&folder, &["--every", every, &file]);
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
        (
            "5min",
            "there is no unit \"min\", but ns, us, ms, s, m, h, d, w",
        ),
        ("1h30m", "there is no unit \"h30m\""),
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
        ("s", "not a duration as 200ms, 35s or 1.5h"),
        ("", "not a duration"),
        (".5s", "not a duration"),
        ("5.s", "not a duration"),
        ("1.2.3s", "not a duration"),
        ("soon", "not a duration"),
    ] {
        PROGRAM.refuse_usage(&["--every", every, &file], what);
    }
    PROGRAM.refuse_usage(&["--every=-5s", &file], "not a duration");
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
            "line 4, column timestamp: '1.5' is neither nanoseconds",
        ),
        (
            "1e9,1\n",
            "line 4, column timestamp: '1e9' is neither nanoseconds",
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
        ("3,\"1\n4,1\n", "line 4, column value: '1\\n4,1"),
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
            PROGRAM.refuse(&["--every", "1s", &file], &said);
            let file = folder.file("bad.csv.gz", gzip(text.as_bytes()));
            PROGRAM.refuse(&["--every", "1s", &file], &["bad.csv.gz: ", &place]);
        }
    }
    let latin = b"series,timestamp,value\n\xe4,1,1\n";
    PROGRAM.refuse(
        &["--every", "1s", &folder.file("latin.csv", latin)],
        &["latin.csv: line 2, column series: '\\xe4' is not UTF-8"],
    );
    let early = folder.file("early.csv", "timestamp,value\n-9223372036854775808,1\n");
    PROGRAM.refuse(
        &["--every", "1s", &early],
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
            "with tabs between its cells; replace them by commas",
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
        PROGRAM.refuse(&["--every", "1s", &file], &["cannot read ", what]);
    }
}

#[test]
fn timestamps_in_other_units_are_noticed() {
    let folder = Folder::new();
    for (time, unit) in [
        (
            "1769860800",
            Some("look like seconds; multiply them by 1000000000 "),
        ),
        ("1769860800000", Some("look like milliseconds; ")),
        ("1769860800000000", Some("look like microseconds; ")),
        ("1769860800000000000", None),
        ("0", None),
    ] {
        let file = folder.file("units.csv", format!("timestamp,value\n{time},1\n"));
        let output = PROGRAM.run(&["--every", "1h", &file]);
        assert!(output.status.success());
        let errors = String::from_utf8(output.stderr).unwrap();
        match unit {
            Some(unit) => says(&errors, &["warning: all points of ", unit]),
            None => assert_eq!(errors, ""),
        }
        PROGRAM.succeed(&["--every", "1h", "--quiet", &file]);
    }
}

#[test]
fn no_points() {
    let folder = Folder::new();
    let plot = folder.argument("plot.svg");
    for (header, columns) in [
        ("timestamp,value", "timestamp,mean,min,max\n"),
        ("timestamp,value,series", "series,timestamp,mean,min,max\n"),
    ] {
        let file = folder.file("none.csv", header);
        let arguments = ["--every", "1s", "--plot", &plot, &file];
        assert_eq!(written(&folder, &arguments), columns);
        assert!(fs::read_to_string(&plot).unwrap().contains("no points"));
        let shown = PROGRAM.succeed(&arguments);
        says(&shown, &["points: 0 in ", "buckets: 0 of 1s"]);
    }
}

#[test]
fn files_and_outputs() {
    let folder = Folder::new();
    let missing = ["cannot read missing.csv", "No such file"];
    PROGRAM.refuse(&["--every", "1s", "missing.csv"], &missing);
    let itself = folder.0.path().to_str().unwrap();
    PROGRAM.refuse(&["--every", "1s", itself], &["cannot read "]);
    let whole = gzip(fs::read_to_string(ROOMS).unwrap().as_bytes());
    let kept = folder.file("kept.csv", "as it was");
    let plot = &*folder.argument("plot.svg");
    for length in [whole.len() - 1, whole.len() / 2, 12] {
        let cut = folder.file("cut.csv.gz", &whole[..length]);
        let arguments = ["--every", "1s", &cut, "--out", &kept, "--plot", plot];
        PROGRAM.refuse(&arguments, &["cut.csv.gz: "]);
    }
    let cut = folder.file("cut.csv.gz", &whole[..whole.len() - 1]);
    let said = "reading stopped in line 3002";
    PROGRAM.refuse(&["--every", "1s", &cut], &[said]);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["cut.csv.gz", "kept.csv"]);

    let nowhere = &*folder.argument("nowhere/out.csv");
    for option in ["--out", "--plot"] {
        let options = ["--every", "1s", ROOMS, option, nowhere];
        PROGRAM.refuse(&options, &["cannot write ", "out.csv"]);
    }
    let options = ["--every", "1s", ROOMS, "--out", &kept, "--plot", &kept];
    PROGRAM.refuse_usage(&options, "--out and --plot name the same file");
    written(&folder, &[&DOCUMENTED[..], &["--plot", plot]].concat());
    let shown = PROGRAM.succeed(&[&DOCUMENTED[..], &["--plot", plot, "--out", &kept]].concat());
    says(
        &shown,
        &[format!("buckets in {kept}\n"), format!("plot in {plot}\n")],
    );
    says(&shown, &[", writing ", ", plotting "]);
    assert!(!shown.contains("rate:max\nkitchen"), "{shown}");
}

/// The texts of an SVG, in order.
fn texts(svg: &str) -> Vec<&str> {
    let parts = svg.split("<text ").skip(1);
    parts
        .map(|part| part.split(['>', '<']).nth(1).unwrap().trim())
        .collect()
}

#[test]
fn plots() {
    let folder = Folder::new();
    let plot = folder.path("plot.svg");
    let path = plot.to_str().unwrap();
    let draw = |arguments: &[&str]| {
        PROGRAM.succeed(&[arguments, &["--plot", path]].concat());
        fs::read_to_string(&plot).unwrap()
    };
    let svg = draw(&DOCUMENTED);
    let found = texts(&svg);
    assert_eq!(found[0], format!("{ROOMS}, every 6h"));
    for (text, count) in [
        ("kitchen", 1),
        ("cellar", 1),
        ("attic", 1),
        ("points", 3),
        ("mean", 3),
        ("std", 3),
        ("p95", 3),
        ("rate:max", 3),
        ("Mar 2", 3),
        ("Mar 8", 3),
    ] {
        let found_count = found.iter().filter(|found| **found == text).count();
        assert_eq!(found_count, count, "{text}: {found:?}");
    }

    // Many series, and many points with a peak: few of them are drawn, but the peak is.
    let mut text = "timestamp,value,series\n".to_owned();
    for i in 0..60_000 {
        let value = if i == 30_000 { 77 } else { i % 11 };
        text += &format!("{},{value},s{}\n", i * SECOND, i % 6);
    }
    let file = folder.file("many.csv", text);
    for every in ["1s", "1h"] {
        let svg = draw(&["--every", every, "--aggregate", "max,count,rate:max", &file]);
        let found = texts(&svg);
        assert!(found[1].ends_with(", the first 4 of 6 series"), "{found:?}");
        assert!(found.contains(&"s3") && !found.contains(&"s4"), "{found:?}");
        assert!(
            found.contains(&"60") && found.contains(&"06:00"),
            "{found:?}"
        );
        assert!(svg.len() < 2_000_000, "{}", svg.len());
    }

    // Any name is drawn as text.
    let long = "é".repeat(101);
    let text = format!("timestamp,value,series\n0,1,\"<a&b>\nc\"\n0,1,\u{1}\n0,1,{long}\n");
    let file = folder.file("names.csv", text);
    let shown = PROGRAM.succeed(&["--every", "1s", "--plot", path, &file]);
    let svg = fs::read_to_string(&plot).unwrap();
    let cut = format!("{}…{}", "é".repeat(50), "é".repeat(49));
    for name in ["&lt;a&amp;b&gt;\u{fffd}c", "\u{fffd}", &cut] {
        assert!(texts(&svg).contains(&name), "{:?}", texts(&svg));
    }
    assert!(
        shown.contains("\n<a&b>\u{fffd}c  ") && shown.contains(&cut),
        "{shown}"
    );

    // Extreme values are drawn, too.
    for text in [
        "timestamp,value\n0,1\n",
        "timestamp,value\n0,nan\n5,inf\n",
        "timestamp,value\n0,1e308\n5,-1e308\n",
        "timestamp,value\n-9223372036854775800,1\n9223372036854775807,1\n",
    ] {
        let file = folder.file("odd.csv", text);
        let methods = "mean,sum,var,count,rate:std,p5";
        let svg = draw(&["--every", "10ns", "--aggregate", methods, &file]);
        assert!(
            svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"),
            "{svg}"
        );
    }
}

#[test]
fn generated_data() {
    let folder = Folder::new();
    let generate = |name: &str, count: &str, seed: &[&str]| {
        let path = folder.argument(name);
        let options = ["--generate", count, "--out", &path];
        let said = PROGRAM.succeed(&[&options[..], seed].concat());
        let end = format!(" temperatures in {path}\n");
        assert!(said.ends_with(&end), "{said}");
        (fs::read_to_string(&path).unwrap(), path)
    };
    let data = fs::read_to_string(ROOMS).unwrap();
    assert_eq!(generate("a.csv", "3000", &[]).0, data);
    assert_eq!(generate("b.csv", "3000", &["--seed", "42"]).0, data);
    assert_ne!(generate("c.csv", "3000", &["--seed", "43"]).0, data);
    let none = generate("d.csv", "0", &[]).0;
    assert_eq!(none, "timestamp,series,value\n");

    // Many blocks; in order, so that they are accepted, and each counted.
    let count = if small() { 20_000 } else { 1_200_000 };
    let (text, path) = generate("e.csv", &count.to_string(), &[]);
    assert_eq!(text.lines().count(), count + 1);
    let methods = format!("count,{METHODS}");
    let csv = written(&folder, &["--every", "1d", "--aggregate", &methods, &path]);
    let found = lines(&csv, true);
    let rooms = rooms(&text);
    let points = rooms.iter().flat_map(|(_, series)| series);
    let present = points.filter(|(_, value)| !value.is_nan()).count();
    assert!(present < count && present > count - count / 200);
    let counted: f64 = found.iter().map(|line| line.2[0]).sum();
    assert_eq!(counted, present as f64);
    let others = |(series, start, numbers): &Line| (series.clone(), *start, numbers[1..].to_vec());
    let others: Vec<_> = found.iter().map(others).collect();
    assert_close(&others, &expected(&rooms, DAY));
    assert_eq!(found.len(), 3 * 7);

    PROGRAM.refuse_usage(&["--generate", "10"], "--out");
    PROGRAM.refuse_usage(&["--generate", "x", "--out", "a"], "--generate");
    for options in [&[ROOMS][..], &["--every", "1s"]] {
        let options = [&["--generate", "10", "--out", "a"], options].concat();
        PROGRAM.refuse_usage(&options, "cannot be used with");
    }
    PROGRAM.refuse_usage(&["--seed", "1", "--every", "1s", ROOMS], "--generate");
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
    let found = written(&folder, &["--every", "1s", "--aggregate", "sum", &file]);
    let found = found.strip_prefix("series,timestamp,sum\n").unwrap();
    let names: Vec<_> = found.split(",0,").collect();
    assert_eq!(names.len(), expected.len() + 1);
    // By the order in which they come.
    assert!(found.starts_with("rare,0,"), "{found}");
    for (name, sum) in expected {
        let line = format!("{},0,{sum}\n", name.trim_matches(['"', '\n']));
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
            PROGRAM.refuse(&["--every", "1s", &file], &[&place]);
        }
    }
    let mut bad = rows.clone();
    early(&mut bad, 110_000);
    let file = folder.file("bad.csv", text(&bad));
    let time = "1970-01-01T00:00:00.000000005Z is before 1970-01-01T00:00:00.000109Z";
    PROGRAM.refuse(&["--every", "1s", &file], &[time, "of series \"rare\""]);
    let sorted = written(
        &folder,
        &["--every", "1s", "--sort", "--aggregate", "count", &file],
    );
    assert!(sorted.contains("rare,0,120\n"), "{sorted}");
}
