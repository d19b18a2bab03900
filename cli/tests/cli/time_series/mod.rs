//! The subcommand `time-series` as its user meets it: what it prints, writes, draws and refuses.

mod outputs;
mod tables;
mod text;

use crate::common::{self, Random, small};
use crate::program::{Folder, Program, gzip, name_of, says, with_line_ends, words};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

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
    written(
        &folder,
        &[&["--unit", "ns", "--every", "10ns", &file], arguments].concat(),
    )
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
        // The cell of a result that does not exist is empty.
        let number = |cell: &str| match cell {
            "" => f64::NAN,
            cell => cell.parse().unwrap(),
        };
        let numbers = cells.map(number).collect();
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
    // A row without a value is no point.
    let count = text.lines().count() - 1;
    let missing = text.lines().filter(|line| line.ends_with(',')).count();
    assert!(missing > 0);
    let found = PROGRAM.json(&DOCUMENTED);
    assert_eq!(
        (&found["points"], &found["missing_values"]),
        (&(count - missing).into(), &missing.into())
    );
    says(
        &shown,
        &[
            format!("... and {} more\n", expected.len() - 10),
            format!(
                "points: {} in {ROOMS}, 3 series, 2026-03-02T00:01:23Z to ",
                count - missing
            ),
            format!("\nmissing values: {missing}, which are no points\n"),
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
            + "-10,1,4,4,4,4,4,4,,,4,4,4,4\n\
               0,4,16,4,1,9,1,9,3.559026084010437,12.666666666666666,3,1.75,3.75,9\n\
               30,1,0.1,0.1,0.1,0.1,0.1,0.1,,,0.1,0.1,0.1,0.1\n"
    );
    let rates = "rate:count,rate:sum,rate:last,rate:min,rate:median";
    assert_eq!(
        of_text(text, &["--aggregate", rates]),
        format!("timestamp,{rates}\n-10,0,0,,,\n0,4,5,7,-3,0.5\n30,1,-8.9,-8.9,-8.9,-8.9\n")
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
    // Two columns would have the same name.
    for (methods, method) in [("mean,max,mean", "mean"), ("p50,p50.0", "p50")] {
        let options = ["--every", "1s", "--aggregate", methods, ROOMS];
        PROGRAM.refuse_options(&options, &[&format!("--methods has {method} twice")]);
    }
}

#[test]
fn options() {
    // The last row is no point, and the row before is a point whose value is NaN.
    let text = "timestamp,value\n0,1\n1,nan\n2,3\n2,5\n30,8\n41,NaN\n55,\n";
    let with = |options: &[&str]| {
        let written = of_text(text, &[&["--aggregate", "count,sum,std"], options].concat());
        let lines = written.strip_prefix("timestamp,count,sum,std\n");
        lines.unwrap().to_owned()
    };
    let deviation = |values: &[f64]| std(values).to_string();
    let all = deviation(&[1.0, 3.0, 5.0]);
    assert_eq!(with(&[]), format!("0,3,9,{all}\n30,1,8,\n40,0,0,\n"));
    assert_eq!(with(&["--nan", "skip"]), with(&[]));
    assert_eq!(with(&["--nan", "propagate"]), "0,4,,\n30,1,8,\n40,1,,\n");
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
        format!("0,2,4,{}\n30,1,8,\n40,0,0,\n", deviation(&[1.0, 3.0]))
    );
    assert_eq!(
        with(&["--duplicates", "last"]),
        format!("0,2,6,{}\n30,1,8,\n40,0,0,\n", deviation(&[1.0, 5.0]))
    );
    let filled = |cells: &str| format!("0,3,9,{all}\n10,{cells}\n20,{cells}\n30,1,8,\n40,0,0,\n");
    assert_eq!(with(&["--fill", "null"]), filled(",,"));
    assert_eq!(with(&["--fill", "-1.5"]), filled("-1.5,-1.5,-1.5"));
    assert_eq!(with(&["--fill", "previous"]), filled(&format!("3,9,{all}")));
    assert_eq!(with(&["--fill", "count=0"]), filled("0,,"));
    assert_eq!(
        with(&["--fill", "previous,count=0,sum=null"]),
        filled(&format!("0,,{all}"))
    );
    assert_eq!(
        with(&["--origin", "-8"]),
        format!(
            "-8,1,1,\n2,2,8,{}\n22,1,8,\n32,0,0,\n",
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
        (
            "--fill",
            "zero",
            "possible are none, null, previous and a number",
        ),
        (
            "--origin",
            "noon",
            "--origin: 'noon' is neither a number since 1970 nor a time as 2026-01-31",
        ),
    ] {
        PROGRAM.refuse_usage(&["--every", "1s", ROOMS, option, value], said);
    }
    let unknown = ["--every", "1s", ROOMS, "--fill", "sum=0"];
    PROGRAM.refuse_options(
        &unknown,
        &["error: --fill has a result of sum, which is no method"],
    );
    let folder = Folder::new();
    let far = folder.file("far.csv", "timestamp,value\n0,1\n9000000000000000000,1\n");
    let options = [
        "--unit", "ns", "--every", "1ns", "--fill", "null", "--device", "cpu", &far,
    ];
    let said = "with --fill there are 9000000000000000001 buckets: choose a greater --every, or leave out --fill";
    PROGRAM.refuse(&options, &[said]);
    PROGRAM.refuse_usage(&[ROOMS], "--every");
    PROGRAM.refuse_usage(&["--every", "1s"], "SERIES.csv");
}

#[test]
fn order() {
    let folder = Folder::new();
    let text = "timestamp,value,series\n5,1,a\n12,2,b\n3,4,a\n15,8,a\n11,16,b\n11,32,b\n";
    let file = folder.file("mixed.csv", text);
    let arguments = [
        "--unit",
        "ns",
        "--every",
        "10ns",
        "--aggregate",
        "first,last,sum",
        &file,
    ];
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
        &["--unit", "ns", "--every", "10ns", &file],
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
    let arguments = [
        "--unit",
        "ns",
        "--every",
        "7us",
        "--aggregate",
        METHODS,
        &file,
    ];
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
    let arguments = [&arguments[..6], &[&file]].concat();
    assert_eq!(written(&folder, &arguments), csv);
}
