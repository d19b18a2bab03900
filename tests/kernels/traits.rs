//! The traits that the public types have, for programs that store, share, compare and print them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use gridstride::box_overlap::{
    Algorithm, BoxOverlap, OverlapMatrix, OverlapSlice, OverlapSlices, Overlaps,
};
use gridstride::device::{
    Buffer, DeviceArray, DeviceId, DeviceInfo, DeviceKind, DeviceView, Event, Graph, MemoryKind,
    Occupancy, PinnedBuffer, Stream,
};
use gridstride::distances::{Distances, Metric, Nearest, Windows};
use gridstride::edit_distance::EditDistance;
use gridstride::matmul::{Instructions, MatMul, Precision};
use gridstride::pipeline::Pipeline;
use gridstride::tensor_sketch::{
    Alphabet, DeviceSequences, Encoded, Form, Sequences, SketchSession, Tables, TensorSketch,
};
use gridstride::time_series::{
    Aggregate, Aggregates, BucketCounts, Custom, CustomAggregates, Duplicates, Method, Nan, Order,
    Point, Singletons, Summaries, TimeBuckets,
};
use gridstride::{Device, DeviceSet, Error};
use ndarray::{Ix1, Ix2, array};

/// Asserts at compile time that types have traits.
macro_rules! have {
    ([$($bound:tt)+] $($type:ty),+ $(,)?) => {
        const _: () = {
            const fn check<T: $($bound)+>() {}
            $(check::<$type>();)+
        };
    };
}

/// An aggregate without any other trait.
#[derive(Clone, Copy)]
struct Count;

impl Aggregate for Count {
    type State = f64;
    type Output = f64;

    fn empty(&self) -> f64 {
        0.0
    }

    fn push(&self, count: f64, _: Point) -> f64 {
        count + 1.0
    }

    fn merge(&self, earlier: f64, later: f64) -> f64 {
        earlier + later
    }

    fn finish(&self, count: f64) -> f64 {
        count
    }
}

// Builders.
have!([Clone + Debug + Send + Sync] BoxOverlap, Custom<Count>, Distances, EditDistance, MatMul,
    Pipeline, TensorSketch, TensorSketch<f64>, TimeBuckets);
have!([PartialEq] TensorSketch, TimeBuckets);
have!([Eq + Hash] BoxOverlap, Distances, EditDistance, MatMul);
have!([Copy + Default + Eq + Hash] Algorithm, Duplicates, Form, Instructions, Metric, Nan, Order,
    Precision, Singletons);
have!([Eq + Hash] Device, DeviceId, DeviceInfo, DeviceKind, MemoryKind, Occupancy);

// Arguments.
have!([Copy + Debug + Send + Sync] DeviceView<'static, f32, Ix1>, DeviceView<'static, f64, Ix2>,
    Windows<'static, f32>, Method);
have!([Clone + Debug + PartialEq + Send + Sync] Alphabet, Device, Encoded, Sequences, Tables);
have!([Debug + Send + Sync] Buffer<f32>, DeviceArray<f32, Ix2>, DeviceSequences, Event, Graph,
    PinnedBuffer<f32>, Stream);
have!([DeviceSet] Device, &Device, Arc<Device>, Box<Device>, Vec<Device>, &[Device],
    [Device; 2], Box<dyn DeviceSet>, Arc<dyn DeviceSet>, &dyn DeviceSet);

// Results.
have!([Clone + Debug + PartialEq + Send + Sync] Aggregates, BucketCounts, CustomAggregates<f64>,
    Nearest, OverlapMatrix, OverlapSlice, Overlaps, Summaries);
have!([Debug + Send] OverlapSlices<'static>);
have!([Debug + Send + Sync] Error, SketchSession, SketchSession<f64>);

#[test]
fn a_clone_of_an_aggregate_keeps_its_kernels() {
    let count = Custom::new(Count);
    let text = format!("{count:?}");
    assert!(
        text.starts_with("Custom<") && text.ends_with("Count>(for the CPU only)"),
        "{text}"
    );
    let found = TimeBuckets::every(5).custom(
        &Device::cpu(),
        &count.clone(),
        array![0, 1, 9].view(),
        array![1.0, 2.0, 3.0].view(),
    );
    assert_eq!(found.unwrap().results(), array![2.0, 1.0]);
}

#[test]
fn names_are_padded_to_a_width() {
    let (mean, rate) = (Method::MEAN, Method::LAST.rate());
    assert_eq!(format!("{mean:>6}|{rate:<10}|"), "  mean|rate:last |");
    assert_eq!(format!("{:^9}|", Method::percentile(99.5)), "  p99.5  |");
    assert_eq!(
        format!("{:>10}|{:>4}|", Metric::L2, Device::cpu()),
        " euclidean| cpu|"
    );
}

#[test]
fn debug_of_long_results_is_short() {
    let devices: Box<dyn DeviceSet> = Box::new(Device::cpu());
    let boxes = ndarray::Array2::from_elem((300, 4), 1.0);
    let overlaps = BoxOverlap::new()
        .overlaps(&devices, boxes.view(), boxes.view())
        .unwrap();
    assert_eq!(overlaps.pair_count(), 90_000);
    let text = format!("{overlaps:?}");
    assert!(text.len() < 500 && text.contains("90000 in all"), "{text}");

    let timestamps = ndarray::Array1::from_iter(0..100_000);
    let values = timestamps.mapv(|timestamp| timestamp as f64);
    let buckets = TimeBuckets::every(1).methods(&[Method::MEAN]);
    let buckets = buckets
        .aggregate(&devices, timestamps.view(), values.view())
        .unwrap();
    let text = format!("{buckets:?}");
    assert!(text.len() < 1000, "{text}");
}
