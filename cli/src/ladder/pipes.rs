//! Pipes and the welds that join them.

use crate::common::random::Random;

/// Segments of a chain.
const SEGMENTS: usize = 20;

/// Boxes for which the volume is the one below; for others it is such that they lie as close.
const BOXES: f64 = 200_000.0;

/// So many welds and so many segments, rows of minX, minY, minZ, maxX, maxY, maxZ in metres.
///
/// Chains of 20 segments start anywhere in [200, 400]² × [200, 250] m. Each segment goes along a
/// random axis, is 1 to 9 m long and 150 mm thick, and has a weld of 160 mm around its start.
pub fn welds_and_segments(boxes: usize, seed: u64) -> [Vec<f32>; 2] {
    let mut random = Random::new(seed, 0);
    let side = (boxes as f64 / BOXES).cbrt();
    let (mut welds, mut segments) = (Vec::new(), Vec::new());
    let mut start = [0.0; 3];
    for i in 0..boxes {
        if i % SEGMENTS == 0 {
            // In whole millimetres, as everything here.
            let mut anywhere = |length: f64| 200_000.0 + (random.unit() * length * side).floor();
            start = [200_000.0, 200_000.0, 50_000.0].map(&mut anywhere);
        }
        let along = random.below(3) as usize;
        let mut end = start;
        end[along] += 1000.0 + random.below(8001) as f64;
        let around = |axis: usize| if axis == along { 0.0 } else { 75.0 };
        welds.extend(limits(|axis| [start[axis] - 80.0, start[axis] + 80.0]));
        segments.extend(limits(|axis| {
            [start[axis] - around(axis), end[axis] + around(axis)]
        }));
        start = end;
    }
    [welds, segments]
}

/// The minima, then the maxima.
fn limits(of_axis: impl Fn(usize) -> [f64; 2]) -> [f32; 6] {
    std::array::from_fn(|i| (of_axis(i % 3)[i / 3] / 1000.0) as f32)
}
