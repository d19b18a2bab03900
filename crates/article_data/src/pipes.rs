//! The boxes of the article about overlaps: pipes of straight segments, and a weld at the start of
//! each segment.

use ndarray::Array2;

use crate::python::Random;

/// Segments of a pipe.
pub const CHAIN: usize = 20;

/// Segments of the article.
pub const COUNT: usize = 200_000;
/// The article's seed.
pub const SEED: u64 = 42;

/// Half the thickness of a pipe, and half the edge of a weld, in millimetres.
const PIPE: i64 = 75;
const WELD: i64 = 80;

/// Lengths of segments.
const LENGTHS: [i64; 2] = [1000, 9000];

/// The lower corner of the volume in which pipes start, and its extents for the article's segments.
const START: i64 = 200_000;
const EXTENTS: [f64; 3] = [200_000.0, 200_000.0, 50_000.0];

/// A segment of a pipe, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The start of the segment.
    pub start: [i64; 3],
    /// Its direction: 0 for x, 1 for y, 2 for z.
    pub axis: usize,
    /// Its length.
    pub length: i64,
}

impl Segment {
    /// Returns where the segment ends, which is where the next segment of the pipe starts.
    pub fn end(&self) -> [i64; 3] {
        let mut end = self.start;
        end[self.axis] += self.length;
        end
    }

    /// Returns the box around the segment: minX, minY, minZ, maxX, maxY, maxZ.
    pub fn limits(&self) -> [i64; 6] {
        let around = |axis: usize| if axis == self.axis { 0 } else { PIPE };
        limits(self.start, self.end(), around)
    }

    /// Returns the cube around the start of the segment: minX, minY, minZ, maxX, maxY, maxZ.
    pub fn weld(&self) -> [i64; 6] {
        limits(self.start, self.start, |_| WELD)
    }
}

fn limits(start: [i64; 3], end: [i64; 3], around: impl Fn(usize) -> i64) -> [i64; 6] {
    std::array::from_fn(|i| match i {
        0..3 => start[i] - around(i),
        _ => end[i - 3] + around(i - 3),
    })
}

/// The segments of pipes, drawn one after the other with Python's `random`.
///
/// For each pipe the start is drawn: `randint(200000, 400000)` for x and y, `randint(200000,
/// 250000)` for z. Then for each of 20 segments the axis and `randint(1000, 9000)`, its length. For
/// other counts than the article's 200 000, starts are in a volume so large that pipes lie equally
/// close.
///
/// ```
/// use article_data::pipes::{COUNT, Pipes, SEED, Segment};
///
/// let first = Pipes::new(COUNT, SEED).next();
/// let start = [367_621, 229_184, 201_639];
/// assert_eq!(first, Some(Segment { start, axis: 2, length: 3253 }));
/// ```
pub struct Pipes {
    random: Random,
    extents: [i64; 3],
    count: usize,
    drawn: usize,
    start: [i64; 3],
}

impl Pipes {
    /// Draws `count` segments after `random.seed(seed)`.
    pub fn new(count: usize, seed: u64) -> Pipes {
        let scale = (count as f64 / COUNT as f64).cbrt();
        Pipes {
            random: Random::new(seed),
            extents: EXTENTS.map(|extent| (extent * scale).round() as i64),
            count,
            drawn: 0,
            start: [0; 3],
        }
    }
}

impl Iterator for Pipes {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if self.drawn == self.count {
            return None;
        }
        if self.drawn.is_multiple_of(CHAIN) {
            self.start = self
                .extents
                .map(|extent| self.random.randint(START, START + extent));
        }
        let segment = Segment {
            start: self.start,
            axis: self.random.below(3) as usize,
            length: self.random.randint(LENGTHS[0], LENGTHS[1]),
        };
        self.start = segment.end();
        self.drawn += 1;
        Some(segment)
    }
}

/// Returns `count` welds and `count` segments as boxes in metres, rows of minX, minY, minZ, maxX,
/// maxY, maxZ.
///
/// Different millimetres are different `f32` here, so the same boxes overlap as in millimetres.
pub fn boxes(count: usize, seed: u64) -> [Array2<f32>; 2] {
    let metres = |limits: [i64; 6]| limits.map(|limit| limit as f32 / 1000.0);
    let pipes = Pipes::new(count, seed);
    let (welds, segments): (Vec<_>, Vec<_>) = pipes
        .map(|segment| (metres(segment.weld()), metres(segment.limits())))
        .unzip();
    [welds.into(), segments.into()]
}
