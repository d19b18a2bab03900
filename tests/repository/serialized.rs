//! Options and results that are written and read again, with the feature `serde`.

use std::fmt::Debug;

use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, overlaps};
use gridstride::device::DeviceKind;
use gridstride::distances::{Distances, Metric, nearest};
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::{MatMul, Precision};
use gridstride::sequences::Alphabet;
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use gridstride::time_series::{
    Aggregate, Aggregates, Custom, CustomAggregates, Fill, Method, Moments, Nan, Point, Summaries,
    TimeBuckets, bucket_counts,
};
use ndarray::array;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value as JSON, expects the same value from the text, and returns the text.
fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let text = serde_json::to_string(value).unwrap();
    let read: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, value);
    text
}

fn refuse<T: DeserializeOwned + Debug>(text: &str, cause: &str) {
    let error = serde_json::from_str::<T>(text).unwrap_err().to_string();
    assert!(error.contains(cause), "{error}");
}

/// The sum of the values of a bucket.
#[derive(Clone, Copy)]
struct Sum;

impl Aggregate for Sum {
    type State = f64;
    type Output = f64;
    fn empty(&self) -> f64 {
        0.0
    }
    fn push(&self, sum: f64, point: Point) -> f64 {
        sum + point.value
    }
    fn merge(&self, earlier: f64, later: f64) -> f64 {
        earlier + later
    }
    fn finish(&self, sum: f64) -> f64 {
        sum
    }
}

#[test]
fn options_are_their_names() {
    for method in ["mean", "p74.5", "rate:last", "median"] {
        let method: Method = method.parse().unwrap();
        assert_eq!(there_and_back(&method), format!("\"{method}\""));
    }
    refuse::<Method>("\"mode\"", "\"mode\" is no method");
    assert_eq!(
        there_and_back(&DeviceKind::Cuda { ordinal: 1 }),
        "\"cuda:1\""
    );
    there_and_back(&Device::cpu().info());
    there_and_back(&EditDistance::new().with_limit(7));

    let matmul = MatMul::new().precision(Precision::Tf32);
    let text = there_and_back(&matmul);
    assert_eq!(text, r#"{"precision":"tf32","instructions":"auto"}"#);
    let read: MatMul = serde_json::from_str(r#"{"precision":"tf32"}"#).unwrap();
    assert_eq!(read, matmul);
    refuse::<MatMul>(
        r#"{"precision":"tf16"}"#,
        "precision is \"tf16\", but possible are",
    );
    there_and_back(&BoxOverlap::new().algorithm(Algorithm::Indexed));
    there_and_back(&Distances::new().metric(Metric::SquaredL2));
    there_and_back(&TensorSketch::new(Tables::from_seed(4, 2, 8, 1).unwrap()).double());
    let buckets = TimeBuckets::every(60)
        .methods(&[Method::MEAN])
        .fill(Fill::Value(0.5));
    let text = there_and_back(&buckets.nan(Nan::Propagate));
    assert!(text.contains(r#""nan":"propagate""#) && text.contains(r#""fill":"0.5""#));
}

#[test]
fn results_are_read_again() {
    let device = Device::cpu();
    let (set1, set2) = (
        array![[0, 0, 2, 2], [9, 9, 9, 9]],
        array![[2, 2, 3, 3], [1, 0, 1, 0]],
    );
    let pairs = overlaps(&device, set1.view(), set2.view()).unwrap();
    assert_eq!(
        there_and_back(&pairs),
        r#"{"offsets":[0,2,2],"indices":[0,1]}"#
    );
    there_and_back(&pairs.to_matrix(2).unwrap());

    let rows = array![[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]];
    there_and_back(&nearest(&device, rows.view(), rows.view(), 2).unwrap());

    let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 4.0]);
    there_and_back(&bucket_counts(&device, timestamps.view(), 5, 0).unwrap());
    let buckets = TimeBuckets::every(5).methods(&[Method::MEAN, Method::percentile(74.5)]);
    let buckets = buckets
        .aggregate(&device, timestamps.view(), values.view())
        .unwrap();
    let text = there_and_back(&buckets);
    assert!(text.contains(r#""methods":["mean","p74.5"]"#), "{text}");

    // The second bucket has no value but NaN, so that its state has infinities.
    let values = array![1.0, 2.5, f64::NAN];
    let every = TimeBuckets::every(5);
    let summaries = every.summaries(&device, timestamps.view(), values.view());
    let text = there_and_back(&summaries.unwrap());
    // The number of values, 2, and the scale, 1, are the halves of the last word on any machine.
    assert!(text.contains(&format!(",{},", (1u64 << 32) + 2)), "{text}");
    let refused = text.replace("\"every\":5", "\"every\":0");
    refuse::<Summaries>(&refused, "every is 0, and has to be 1 at least");
    refuse::<Summaries<Moments>>(
        &text,
        "the states have 10 words each, and those of this type have 15",
    );
    let offsets = [0, 3];
    let moments =
        every.summaries_of::<Moments, _>(&device, &offsets, timestamps.view(), values.view());
    there_and_back(&moments.unwrap());
    let sums = Custom::new(Sum);
    let found = every.custom(
        &device,
        &sums,
        timestamps.view(),
        array![1.0, 2.5, 4.0].view(),
    );
    let text = there_and_back(&found.unwrap());
    assert!(text.contains(r#""data":[3.5,4.0]"#), "{text}");

    for alphabet in [
        Alphabet::dna(),
        Alphabet::protein(),
        Alphabet::new(b"ba\xff").unwrap(),
    ] {
        there_and_back(&alphabet);
    }
    there_and_back(&Sequences::from(vec![vec![0, 1], vec![2]]));
    there_and_back(&Tables::from_seed(4, 3, 16, 1).unwrap());
}

#[test]
fn what_does_not_fit_together_is_not_read() {
    refuse::<gridstride::box_overlap::Overlaps>(
        r#"{"offsets":[0,3],"indices":[0]}"#,
        "the offsets go from 0 to 3, and have to go from 0 to the number of indices, 1",
    );
    refuse::<Sequences>(
        r#"{"codes":[1],"offsets":[1]}"#,
        "the offsets go from 1 to 1, and have to go from 0",
    );
    let starts = r#"{"v":1,"dim":[1],"data":[0]}"#;
    refuse::<Aggregates>(
        &format!(r#"{{"offsets":[0,1],"starts":{starts},"methods":["mean"],"columns":[]}}"#),
        "there are columns of [] numbers for 1 buckets and 1 methods",
    );
    refuse::<CustomAggregates<f64>>(
        &format!(
            r#"{{"offsets":[0,1],"starts":{starts},"results":{{"v":1,"dim":[0],"data":[]}}}}"#
        ),
        "there are 0 results for 1 buckets",
    );
    let of_ones = |count| ["18446744073709551615"; 15][..count].join(",");
    let summaries = |words| {
        format!(
            r#"{{"every":5,"origin":0,"offsets":[0,1],"starts":{starts},"states":{{"v":1,"dim":[1,{words}],"data":[{}]}}}}"#,
            of_ones(words)
        )
    };
    refuse::<Summaries>(&summaries(10), "the words of bucket 0 are no state");
    refuse::<Summaries<Moments>>(&summaries(15), "the words of bucket 0 are no state");
    let of_zeros = |starts: &str, offsets: &str| {
        format!(
            r#"{{"every":5,"origin":2,"offsets":{offsets},"starts":{{"v":1,"dim":[2],"data":{starts}}},"states":{{"v":1,"dim":[2,10],"data":[{}]}}}}"#,
            ["0"; 20].join(",")
        )
    };
    assert!(serde_json::from_str::<Summaries>(&of_zeros("[7,2]", "[0,1,2]")).is_ok());
    for (starts, offsets, cause) in [
        (
            "[7,2]",
            "[0,2]",
            "bucket 1 begins at 2, and has to begin after the bucket before it in its series, at 7",
        ),
        ("[2,2]", "[0,2]", "bucket 1 begins at 2, and has to begin"),
        (
            "[2,9]",
            "[0,2]",
            "bucket 1 begins at 9, and bucket starts are -9223372036854775808 + n·5",
        ),
    ] {
        refuse::<Summaries>(&of_zeros(starts, offsets), cause);
    }
    let descending = r#"{"v":1,"dim":[2],"data":[5,0]}"#;
    let numbers = r#"{"v":1,"dim":[2],"data":[1.0,2.0]}"#;
    let cause =
        "bucket 1 begins at 0, and has to begin after the bucket before it in its series, at 5";
    refuse::<CustomAggregates<f64>>(
        &format!(r#"{{"offsets":[0,2],"starts":{descending},"results":{numbers}}}"#),
        cause,
    );
    refuse::<Aggregates>(
        &format!(
            r#"{{"offsets":[0,2],"starts":{descending},"methods":["mean"],"columns":[{numbers}]}}"#
        ),
        cause,
    );
    for (letters, cause) in [
        ("[]", "there are no letters"),
        ("[[65],[]]", "code 1 has no letter"),
        (
            "[[65],[65]]",
            "'A' (byte 65) stands at position 0 and again at 1",
        ),
        ("[[65,97],[67,97]]", "'a' (byte 97) has the codes 0 and 1"),
    ] {
        refuse::<Alphabet>(&format!(r#"{{"letters":{letters}}}"#), cause);
    }
}
