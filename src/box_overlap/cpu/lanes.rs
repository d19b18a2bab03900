//! One box tested with eight, in the instructions of the machine.
//!
//! The compiler makes a test of vectors from the plain loops of [`Portable`], but gathers its outcome as
//! bits in many instructions. AVX2 does that in one.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m256i, _CMP_GE_OQ, _CMP_LE_OQ};

#[cfg(target_arch = "x86_64")]
use pulp::{NullaryFnOnce, x86::V3};

use super::group::{Group, LANES, Limits};
use crate::Number;

/// A way to test.
pub(super) trait Tester: Copy {
    /// The lanes of a group whose box overlaps another one, as bits.
    fn overlapping<T: Lanes, const AXES: usize>(
        self,
        group: &Group<T, AXES>,
        other: &Limits<T, AXES>,
    ) -> u32;
}

/// What is done with tests, compiled for each way.
pub(super) trait WithTester {
    /// To be inlined, as all that it calls.
    fn run(self, tester: impl Tester);
}

/// Which way there is on this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<V3>,
}

impl Machine {
    pub fn new() -> Machine {
        Machine {
            #[cfg(target_arch = "x86_64")]
            avx2: V3::try_new(),
        }
    }

    /// Does it the best way.
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

/// For every machine.
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

/// Bit i is element i.
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

/// A coordinate, eight of which are compared at once.
pub(in crate::box_overlap) trait Lanes: Number {
    /// The lanes with min ≤ the other's max and max ≥ the other's min, as bits.
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
        // There is no ≤ of integers, but there is >.
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
                    let own = limits(start + lane);
                    own.min[0] <= other.max[0] && own.max[0] >= other.min[0]
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
    fn every_way_finds_the_same() {
        check(&[
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -0.0,
            0.0,
            1e-45,
            1.0,
            f32::MAX,
            f32::INFINITY,
        ]);
        check(&[
            f64::NEG_INFINITY,
            f64::MIN,
            -1.0,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
        ]);
        check(&[
            i32::MIN,
            i32::MIN + 1,
            -2,
            -1,
            0,
            1,
            2,
            i32::MAX - 1,
            i32::MAX,
        ]);
    }
}
