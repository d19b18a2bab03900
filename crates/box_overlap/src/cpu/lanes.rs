//! Groups of eight boxes, and the test of one box with all boxes of a group at once.
//!
//! The compiler vectorizes the plain loops of [`Portable`], but takes many instructions to gather
//! the results as bits. AVX2 has an instruction for that.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m256i, _CMP_GE_OQ, _CMP_LE_OQ};

#[cfg(target_arch = "x86_64")]
use gridstride_runtime::{Number, Result};
use pulp::{NullaryFnOnce, x86::V3};

use super::finder::collect;

/// The boxes of a group: the number of `f32` in a vector of AVX2.
pub(super) const LANES: usize = 8;

/// The limits of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits<T, const AXES: usize> {
    pub min: [T; AXES],
    pub max: [T; AXES],
}

impl<T: Number, const AXES: usize> Limits<T, AXES> {
    /// Splits a row: all minima, then all maxima.
    #[inline(always)]
    pub fn from_row(row: &[T]) -> Self {
        let mut limits = Limits {
            min: [T::zeroed(); AXES],
            max: [T::zeroed(); AXES],
        };
        limits.min.copy_from_slice(&row[..AXES]);
        limits.max.copy_from_slice(&row[AXES..2 * AXES]);
        limits
    }
}

/// Up to [`LANES`] boxes, axis by axis. Lanes beyond the last box repeat the last box.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // A group of three-dimensional `f32` boxes takes three cache lines, not four.
pub(super) struct Group<T, const AXES: usize> {
    pub min: [[T; LANES]; AXES],
    pub max: [[T; LANES]; AXES],
}

impl<T: Number, const AXES: usize> Group<T, AXES> {
    /// Makes a group of `count` boxes, 1 to [`LANES`].
    pub fn new(count: usize, limits: impl Fn(usize) -> Limits<T, AXES>) -> Self {
        // Loops, since array functions are compiled for each closure.
        let mut group = Group {
            min: [[T::zeroed(); LANES]; AXES],
            max: [[T::zeroed(); LANES]; AXES],
        };
        for lane in 0..LANES {
            let limits = limits(lane.min(count - 1));
            for axis in 0..AXES {
                group.min[axis][lane] = limits.min[axis];
                group.max[axis][lane] = limits.max[axis];
            }
        }
        group
    }

    /// Returns the bounding box of all boxes.
    pub fn bounds(&self) -> Limits<T, AXES> {
        let mut bounds = Limits {
            min: [T::zeroed(); AXES],
            max: [T::zeroed(); AXES],
        };
        for axis in 0..AXES {
            let (mut min, mut max) = (self.min[axis][0], self.max[axis][0]);
            for lane in 1..LANES {
                let [lane_min, lane_max] = [self.min[axis][lane], self.max[axis][lane]];
                min = if lane_min < min { lane_min } else { min };
                max = if lane_max > max { lane_max } else { max };
            }
            (bounds.min[axis], bounds.max[axis]) = (min, max);
        }
        bounds
    }
}

#[derive(Debug)]
pub(super) struct Groups<T, const AXES: usize> {
    /// The number of boxes.
    pub length: usize,
    pub groups: Vec<Group<T, AXES>>,
}

impl<T: Number, const AXES: usize> Groups<T, AXES> {
    pub fn new(length: usize, limits: impl Fn(usize) -> Limits<T, AXES> + Sync) -> Result<Self> {
        let group = |group: usize| {
            let start = group * LANES;
            Group::new(LANES.min(length - start), |lane| limits(start + lane))
        };
        let groups = collect(length.div_ceil(LANES), group)?;
        Ok(Groups { length, groups })
    }

    /// Returns the lanes of a group that have a box, as bits.
    #[inline(always)]
    pub fn lanes(&self, group: usize) -> u32 {
        match self.length - group * LANES {
            lanes @ ..LANES => (1 << lanes) - 1,
            _ => (1 << LANES) - 1,
        }
    }
}

/// An implementation of the test.
pub(super) trait Tester: Copy {
    /// Returns the lanes of a group whose boxes overlap `other`, as bits.
    fn overlapping<T: Lanes, const AXES: usize>(
        self,
        group: &Group<T, AXES>,
        other: &Limits<T, AXES>,
    ) -> u32;
}

/// Work that uses a tester, compiled for each tester.
pub(super) trait WithTester {
    /// Must be inlined, and so must everything that it calls.
    fn run(self, tester: impl Tester);
}

/// The instruction set of the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Isa {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<V3>,
}

impl Isa {
    pub fn new() -> Isa {
        Isa {
            #[cfg(target_arch = "x86_64")]
            avx2: V3::try_new(),
        }
    }

    /// Runs `work` with the fastest tester.
    pub fn run(self, work: impl WithTester) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.vectorize(WithAvx2(work, avx2));
        }
        work.run(Portable);
    }
}

#[cfg(target_arch = "x86_64")]
struct WithAvx2<W>(W, V3);

#[cfg(target_arch = "x86_64")]
impl<W: WithTester> NullaryFnOnce for WithAvx2<W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run(Avx2(self.1));
    }
}

/// The tester for any CPU.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Tester for Portable {
    #[inline(always)]
    fn overlapping<T: Lanes, const AXES: usize>(
        self,
        group: &Group<T, AXES>,
        other: &Limits<T, AXES>,
    ) -> u32 {
        let mut hits = [true; LANES];
        for axis in 0..AXES {
            for (lane, hit) in hits.iter_mut().enumerate() {
                *hit &= (group.min[axis][lane] <= other.max[axis])
                    & (group.max[axis][lane] >= other.min[axis]);
            }
        }
        bits(hits)
    }
}

#[inline(always)]
pub(super) fn bits(lanes: [bool; LANES]) -> u32 {
    let bit = |(lane, &is_set): (usize, &bool)| u32::from(is_set) << lane;
    lanes
        .iter()
        .enumerate()
        .map(bit)
        .fold(0, |bits, bit| bits | bit)
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2(V3);

#[cfg(target_arch = "x86_64")]
impl Tester for Avx2 {
    #[inline(always)]
    fn overlapping<T: Lanes, const AXES: usize>(
        self,
        group: &Group<T, AXES>,
        other: &Limits<T, AXES>,
    ) -> u32 {
        let mut hits = (1 << LANES) - 1;
        for axis in 0..AXES {
            hits &= T::within(
                self.0,
                [&group.min[axis], &group.max[axis]],
                [other.min[axis], other.max[axis]],
            );
        }
        hits
    }
}

/// A type of coordinates that are compared eight at a time.
pub(crate) trait Lanes: Number {
    /// Compares eight intervals with the interval `other`. Bit i of the result is 1 if interval i
    /// overlaps `other`: minᵢ ≤ max of `other`, and maxᵢ ≥ min of `other`.
    #[cfg(target_arch = "x86_64")]
    fn within(simd: V3, min_max: [&[Self; LANES]; 2], other: [Self; 2]) -> u32;
}

impl Lanes for f32 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn within(simd: V3, [min, max]: [&[f32; LANES]; 2], [other_min, other_max]: [f32; 2]) -> u32 {
        let [min, max]: [__m256; 2] = [bytemuck::cast(*min), bytemuck::cast(*max)];
        let avx = simd.avx;
        let starts_before = avx._mm256_cmp_ps::<_CMP_LE_OQ>(min, avx._mm256_set1_ps(other_max));
        let ends_after = avx._mm256_cmp_ps::<_CMP_GE_OQ>(max, avx._mm256_set1_ps(other_min));
        avx._mm256_movemask_ps(avx._mm256_and_ps(starts_before, ends_after)) as u32
    }
}

impl Lanes for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn within(simd: V3, [min, max]: [&[f64; LANES]; 2], [other_min, other_max]: [f64; 2]) -> u32 {
        let [min, max]: [[__m256d; 2]; 2] = [bytemuck::cast(*min), bytemuck::cast(*max)];
        let avx = simd.avx;
        let half = |i: usize| {
            let starts_before =
                avx._mm256_cmp_pd::<_CMP_LE_OQ>(min[i], avx._mm256_set1_pd(other_max));
            let ends_after = avx._mm256_cmp_pd::<_CMP_GE_OQ>(max[i], avx._mm256_set1_pd(other_min));
            avx._mm256_movemask_pd(avx._mm256_and_pd(starts_before, ends_after)) as u32
        };
        half(0) | (half(1) << (LANES / 2))
    }
}

impl Lanes for i32 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn within(simd: V3, [min, max]: [&[i32; LANES]; 2], [other_min, other_max]: [i32; 2]) -> u32 {
        let [min, max]: [__m256i; 2] = [bytemuck::cast(*min), bytemuck::cast(*max)];
        let (avx, avx2) = (simd.avx, simd.avx2);
        // AVX2 compares integers by > only.
        let starts_after = avx2._mm256_cmpgt_epi32(min, avx._mm256_set1_epi32(other_max));
        let ends_before = avx2._mm256_cmpgt_epi32(avx._mm256_set1_epi32(other_min), max);
        let apart = avx2._mm256_or_si256(starts_after, ends_before);
        !(avx._mm256_movemask_ps(bytemuck::cast(apart)) as u32) & 0xff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Lanes>(values: &[T]) {
        let limits = |i: usize| {
            let (min, max) = (values[i * 7 % values.len()], values[i * 5 % values.len()]);
            let [min, max] = if min <= max { [min, max] } else { [max, min] };
            Limits {
                min: [min],
                max: [max],
            }
        };
        for start in 0..50 {
            let group = Group::new(LANES, |lane| limits(start + lane));
            for other in (0..50).map(limits) {
                let expected = bits(std::array::from_fn(|lane| {
                    let limits = limits(start + lane);
                    limits.min[0] <= other.max[0] && limits.max[0] >= other.min[0]
                }));
                assert_eq!(Portable.overlapping(&group, &other), expected);
                #[cfg(target_arch = "x86_64")]
                if let Some(avx2) = V3::try_new() {
                    assert_eq!(Avx2(avx2).overlapping(&group, &other), expected);
                }
            }
        }
    }

    #[test]
    fn all_testers_agree() {
        let (infinity, max) = (f32::INFINITY, f32::MAX);
        check(&[-infinity, -max, -1.0, -0.0, 0.0, 1e-45, 1.0, max, infinity]);
        let (infinity, max) = (f64::INFINITY, f64::MAX);
        check(&[-infinity, -max, -1.0, -0.0, 0.0, 5e-324, 1.0, max, infinity]);
        let (min, max) = (i32::MIN, i32::MAX);
        check(&[min, min + 1, -2, -1, 0, 1, 2, max - 1, max]);
    }
}
