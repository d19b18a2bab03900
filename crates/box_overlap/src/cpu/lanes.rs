//! Groups of eight boxes, and the test of one box with all boxes of a group at once.
//!
//! The compiler vectorizes the plain loops of [`Portable`], but takes many instructions to gather
//! the results as bits. AVX2 has an instruction for that.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use gridstride_runtime::isa::Avx2;
use gridstride_runtime::{Number, Result};

use super::collect::collect;
use crate::input::Boxes;

/// The boxes of a group: the number of `i32` in a vector of AVX2.
pub(super) const LANES: usize = 8;

/// The limits of up to [`LANES`] boxes along an axis. Lanes beyond the last box repeat the last box.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))] // A group of three-dimensional `i32` boxes takes three cache lines, not four.
pub(crate) struct Intervals<K> {
    pub min: [K; LANES],
    pub max: [K; LANES],
}

/// Boxes in groups.
#[derive(Debug)]
pub(super) struct Groups<K> {
    /// The number of boxes.
    pub length: usize,
    pub axes: usize,
    /// Group after group, the intervals along all axes.
    pub intervals: Vec<Intervals<K>>,
}

impl<K: Key> Groups<K> {
    /// Makes groups of `length` boxes, given their `limits` (index, axis).
    fn new(
        length: usize,
        axes: usize,
        limits: impl Fn(usize, usize) -> [K; 2] + Sync,
    ) -> Result<Self> {
        let intervals = |place: usize| {
            let (group, axis) = (place / axes, place % axes);
            let [min, max] = [[K::zeroed(); LANES]; 2];
            let mut intervals = Intervals { min, max };
            for lane in 0..LANES {
                let index = (group * LANES + lane).min(length - 1);
                [intervals.min[lane], intervals.max[lane]] = limits(index, axis);
            }
            intervals
        };
        Ok(Groups {
            length,
            axes,
            intervals: collect(length.div_ceil(LANES) * axes, intervals)?,
        })
    }

    /// Makes groups of the boxes with these indices, or of all boxes.
    pub fn of_boxes<T: HasKey<Key = K>>(boxes: Boxes<'_, T>, ids: Option<&[u32]>) -> Result<Self> {
        let axes = boxes.axes;
        Groups::new(boxes.len(), axes, |index, axis| {
            let row = ids.map_or(index, |ids| ids[index] as usize);
            let min = 2 * axes * row + axis;
            [boxes.numbers[min], boxes.numbers[min + axes]].map(T::key)
        })
    }

    /// Makes groups of the bounding boxes of the groups.
    pub fn bounds(&self) -> Result<Self> {
        Groups::new(self.len(), self.axes, |group, axis| {
            let Intervals { min, max } = &self.intervals[group * self.axes + axis];
            let (mut least, mut most) = (min[0], max[0]);
            for (&min, &max) in min.iter().zip(max) {
                least = if min < least { min } else { least };
                most = if max > most { max } else { most };
            }
            [least, most]
        })
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.intervals.len() / self.axes
    }
}

/// Returns the lanes of a group that have one of `length` boxes, as bits.
#[inline(always)]
pub(super) fn lanes(length: usize, group: usize) -> u32 {
    match length - group * LANES {
        lanes @ ..LANES => (1 << lanes) - 1,
        _ => (1 << LANES) - 1,
    }
}

/// An implementation of the test.
pub(super) trait Tester: Copy {
    /// Returns the lanes of a group whose boxes overlap `other`, as bits.
    fn overlapping<K: Key, const AXES: usize>(
        self,
        group: &[Intervals<K>; AXES],
        other: &[[K; 2]; AXES],
    ) -> u32;
}

/// Work that is compiled for each tester, with its instruction set.
pub(super) trait WithTester {
    /// Must be inlined, and so must everything that it calls.
    fn run(self, tester: impl Tester);
}

/// The instruction set of the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Isa {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<Avx2>,
}

impl Isa {
    pub fn new() -> Isa {
        Isa {
            #[cfg(target_arch = "x86_64")]
            avx2: Avx2::detect(),
        }
    }

    /// Runs `work` with the fastest tester.
    pub fn run(self, work: impl WithTester) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.run(
                #[inline(always)]
                || work.run(avx2),
            );
        }
        work.run(Portable);
    }
}

/// The tester for any CPU.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Tester for Portable {
    #[inline(always)]
    fn overlapping<K: Key, const AXES: usize>(
        self,
        group: &[Intervals<K>; AXES],
        other: &[[K; 2]; AXES],
    ) -> u32 {
        let mut hits = [true; LANES];
        for (intervals, [min, max]) in group.iter().zip(other) {
            for (lane, hit) in hits.iter_mut().enumerate() {
                *hit &= (intervals.min[lane] <= *max) & (intervals.max[lane] >= *min);
            }
        }
        bits(hits)
    }
}

/// Returns the lanes that are set, as bits.
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
impl Tester for Avx2 {
    #[inline(always)]
    fn overlapping<K: Key, const AXES: usize>(
        self,
        group: &[Intervals<K>; AXES],
        other: &[[K; 2]; AXES],
    ) -> u32 {
        K::overlapping(self, group, other)
    }
}

/// A type of coordinates, with keys in the order of the coordinates. Keys are compared in place of
/// coordinates. `f32` and `i32` have the same type of keys, so that the search is compiled once for
/// both.
pub(crate) trait HasKey: Number {
    type Key: Key;

    /// Returns the key of a coordinate, which is not NaN.
    fn key(self) -> Self::Key;
}

impl HasKey for i32 {
    type Key = i32;

    #[inline(always)]
    fn key(self) -> i32 {
        self
    }
}

impl HasKey for f32 {
    type Key = i32;

    /// As integers, the bits of positive numbers ascend with the numbers, and the bits of negative
    /// numbers descend: all but the sign are flipped there.
    #[inline(always)]
    fn key(self) -> i32 {
        // −0.0 + 0.0 = 0.0: both zeros have the same key.
        let bits = (self + 0.0).to_bits() as i32;
        bits ^ ((bits >> 31) & i32::MAX)
    }
}

impl HasKey for f64 {
    type Key = f64;

    #[inline(always)]
    fn key(self) -> f64 {
        self
    }
}

/// A type of keys, which are compared eight at a time.
pub(crate) trait Key: Number {
    /// As [`Tester::overlapping`], with AVX2.
    #[cfg(target_arch = "x86_64")]
    fn overlapping<const AXES: usize>(
        avx2: Avx2,
        group: &[Intervals<Self>; AXES],
        other: &[[Self; 2]; AXES],
    ) -> u32;
}

impl Key for i32 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn overlapping<const AXES: usize>(
        _: Avx2,
        group: &[Intervals<i32>; AXES],
        other: &[[i32; 2]; AXES],
    ) -> u32 {
        // SAFETY: the CPU has AVX2, as the first argument proves.
        unsafe { overlapping_i32(group, other) }
    }
}

impl Key for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn overlapping<const AXES: usize>(
        _: Avx2,
        group: &[Intervals<f64>; AXES],
        other: &[[f64; 2]; AXES],
    ) -> u32 {
        // SAFETY: the CPU has AVX2, as the first argument proves.
        unsafe { overlapping_f64(group, other) }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn overlapping_i32<const AXES: usize>(
    group: &[Intervals<i32>; AXES],
    other: &[[i32; 2]; AXES],
) -> u32 {
    let mut apart: __m256i = _mm256_setzero_si256();
    for (intervals, &[other_min, other_max]) in group.iter().zip(other) {
        let [min, max]: [__m256i; 2] = [intervals.min, intervals.max].map(bytemuck::cast);
        // AVX2 compares integers by > only.
        let starts_after = _mm256_cmpgt_epi32(min, _mm256_set1_epi32(other_max));
        let ends_before = _mm256_cmpgt_epi32(_mm256_set1_epi32(other_min), max);
        apart = _mm256_or_si256(apart, _mm256_or_si256(starts_after, ends_before));
    }
    let apart: __m256 = bytemuck::cast(apart);
    !_mm256_movemask_ps(apart) as u32 & 0xff
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn overlapping_f64<const AXES: usize>(
    group: &[Intervals<f64>; AXES],
    other: &[[f64; 2]; AXES],
) -> u32 {
    let mut apart: [__m256d; 2] = [_mm256_setzero_pd(); 2];
    for (intervals, &[other_min, other_max]) in group.iter().zip(other) {
        let [min, max]: [[__m256d; 2]; 2] =
            [bytemuck::cast(intervals.min), bytemuck::cast(intervals.max)];
        let [other_min, other_max] = [_mm256_set1_pd(other_min), _mm256_set1_pd(other_max)];
        for half in 0..2 {
            let starts_after = _mm256_cmp_pd::<_CMP_GT_OQ>(min[half], other_max);
            let ends_before = _mm256_cmp_pd::<_CMP_LT_OQ>(max[half], other_min);
            let either = _mm256_or_pd(starts_after, ends_before);
            apart[half] = _mm256_or_pd(apart[half], either);
        }
    }
    let [low, high] = [apart[0], apart[1]].map(|half| _mm256_movemask_pd(half) as u32);
    !(low | (high << (LANES / 2))) & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: HasKey>(values: &[T]) {
        let limits = |i: usize| {
            let (min, max) = (values[i * 7 % values.len()], values[i * 5 % values.len()]);
            if min <= max { [min, max] } else { [max, min] }
        };
        for start in 0..50 {
            let boxes: Vec<T> = (0..LANES).flat_map(|lane| limits(start + lane)).collect();
            let boxes = Boxes {
                numbers: &boxes,
                axes: 1,
            };
            let group = Groups::of_boxes(boxes, None).unwrap().intervals;
            let group: &[_; 1] = group.first_chunk().unwrap();
            for other in (0..50).map(limits) {
                let expected = bits(std::array::from_fn(|lane| {
                    let [min, max] = limits(start + lane);
                    min <= other[1] && max >= other[0]
                }));
                let other = [other.map(T::key)];
                assert_eq!(Portable.overlapping(group, &other), expected);
                #[cfg(target_arch = "x86_64")]
                if let Some(avx2) = Avx2::detect() {
                    assert_eq!(avx2.overlapping(group, &other), expected);
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
