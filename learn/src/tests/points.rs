//! Points at all times, into buckets of all lengths.

use super::{setup, setups, versions};
use crate::timestamps;

#[test]
fn points_of_whole_and_broken_buckets() {
    for points in [1, 6, 7, 8, 255 * 7, 256 * 7 + 1, 1025 * 7 - 1] {
        let options = timestamps::Options {
            points: Some(points),
            ..Default::default()
        };
        let expected = [
            "plain",
            "v1",
            "v3",
            "v4",
            "round_timestamps",
            "count_uniqs",
            "sum_uniqs",
            "gridstride",
            "gridstride, copies",
            "gridstride, page-locked",
        ];
        for setup in setups() {
            let ladder = timestamps::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

#[test]
fn points_at_irregular_times_into_buckets_of_any_length() {
    let seconds = |text: &str| Some(text.parse().unwrap());
    for (step, every, gaps, points) in [
        ("7s", "13s", false, 2000),
        ("7s", "55s", false, 2000),
        ("7s", "300s", false, 2000),
        ("7s", "300s", true, 2000),
        ("5s", "35s", true, 2000),
        ("5s", "1s", false, 300),
        ("1s", "190s", false, 1000),
        ("1ns", "1ns", true, 300),
        ("3s", "3s", false, 1),
    ] {
        let options = timestamps::Options {
            points: Some(points),
            step: seconds(step),
            every: seconds(every),
            gaps,
        };
        for setup in setups() {
            // Rows without a fixed number of points are checked.
            let ladder = timestamps::climb(&options, &setup).unwrap();
            let remarks = ladder.rows.iter().filter(|row| !row.remark.is_empty());
            let wrong: Vec<&str> = remarks.map(|row| row.version.as_str()).collect();
            let is_regular = ["190s", "3s"].contains(&every);
            let expected: &[&str] = if is_regular { &[] } else { &["v1", "v3", "v4"] };
            assert_eq!(wrong, expected, "{step} into {every}");
        }
    }
}

#[test]
fn points_that_cannot_be_are_refused() {
    let of = |step: &str, every: &str, points| timestamps::Options {
        points: Some(points),
        step: Some(step.parse().unwrap()),
        every: Some(every.parse().unwrap()),
        gaps: false,
    };
    for (options, said) in [
        (of("1s", "200s", 10), "--every is 200 times --step"),
        (of("1000d", "1d", 1_000), "go on beyond 2262"),
        (of("100d", "1000w", 870), "the last bucket ends beyond 2262"),
    ] {
        let error = timestamps::climb(&options, &setup()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
