//! Counts of page-locked boxes equal those of resident boxes, also if there are so many that a GPU
//! searches in chunks while others are copied.

use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap};
use gridstride::device::{DeviceKind, PinnedBuffer};
use ndarray::{Array2, ArrayView2, ArrayViewMut1};

use test_support::{Random, with_kernels};

/// Returns cubes at random places, each of which overlaps about two of `rows` others.
fn cubes(rows: usize, seed: u64) -> Array2<f32> {
    let mut random = Random(seed);
    let edge = (0.25 / rows as f32).cbrt();
    let mut place = || (random.bits() >> 40) as f32 / (1u64 << 24) as f32;
    let mut boxes = Array2::zeros((rows, 6));
    for mut row in boxes.rows_mut() {
        for axis in 0..3 {
            row[axis] = place();
            row[axis + 3] = row[axis] + edge;
        }
    }
    boxes
}

fn pinned(device: &Device, boxes: &Array2<f32>) -> PinnedBuffer<f32> {
    let mut copy = device.pinned(boxes.len()).unwrap();
    copy.iter_mut()
        .zip(boxes)
        .for_each(|(to, from)| *to = *from);
    copy
}

/// Returns the sizes of the sets: on GPUs large enough for chunks, of which the last is shorter.
fn sizes(device: &Device) -> [usize; 2] {
    match device.kind() {
        DeviceKind::Cuda { .. } => [1_100_001, 300_000],
        _ => [1000, 700],
    }
}

#[track_caller]
fn check(device: &Device, set1: &Array2<f32>, set2: &Array2<f32>) {
    let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
    let [there1, there2] = [set1, set2].map(|set| device.upload(set).unwrap());
    let expected = search.counts_device(&there1, &there2).unwrap();
    let expected = expected.download().unwrap();
    let [locked1, locked2] = [set1, set2].map(|set| pinned(device, set));
    let [view1, view2] = [(set1, &locked1), (set2, &locked2)]
        .map(|(set, locked)| ArrayView2::from_shape(set.dim(), locked).unwrap());
    let mut counts = device.pinned::<u32>(set1.nrows()).unwrap();
    for _ in 0..2 {
        counts.fill(u32::MAX);
        let out = ArrayViewMut1::from(&mut counts[..]);
        search.counts_into(device, view1, view2, out).unwrap();
        assert!(expected.iter().eq(counts.iter()), "{device}");
    }
}

#[test]
fn counts_are_those_of_resident_boxes() {
    for device in with_kernels() {
        let [rows1, rows2] = sizes(&device);
        check(&device, &cubes(rows1, 1), &cubes(rows2, 2));
    }
}

#[test]
fn counts_with_boxes_that_overlap_everything() {
    for device in with_kernels() {
        let [rows1, rows2] = sizes(&device);
        let set2 = cubes(rows2, 2);
        // In the first of the chunks, in a later one, in the last, and too many in a later one.
        for giants in [
            5..6,
            rows1 / 2..rows1 / 2 + 3,
            rows1 - 1..rows1,
            rows1 / 2..rows1 / 2 + rows1 / 100,
        ] {
            let mut set1 = cubes(rows1, 1);
            for giant in giants {
                let extent = if rows1 > 2000 { 0.1 } else { 1.0 };
                set1.row_mut(giant)
                    .assign(&ndarray::arr1(&[0.0, 0.0, 0.0, extent, extent, extent]));
            }
            check(&device, &set1, &set2);
        }
    }
}
