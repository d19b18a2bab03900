//! Sums of a group of buckets, in vectors.

use gridstride_runtime::Real;
use pulp::Arch;
use time_series_kernels::Sums;

/// Buckets that are reduced together: the number of `f64` in a vector of AVX2.
pub const GROUP: usize = 4;

/// Adds the values of buckets with the same number of values. A vector has one value of each
/// bucket; the compiler does not vectorize values from four places. Returns the states that result
/// from pushing each bucket's values in order, or `None` without AVX2, where pushing is as fast.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn sums<T: Real>(arch: Arch, values: [&[T]; GROUP]) -> Option<[Sums; GROUP]> {
    use super::prefetch::{STEP, prefetch};
    use pulp::f64x4;
    use time_series_kernels::ExactSum;

    let simd = match arch {
        Arch::V3(simd) => simd,
        Arch::V4(simd) => *simd,
        _ => return None,
    };
    let count = values[0].len();
    let [a, b, c, d] = values.map(|values| &values[..count]);
    let zeros = simd.splat_f64x4(0.0);
    let (mut high, mut low) = (zeros, zeros);
    for index in 0..count {
        if index.is_multiple_of(STEP) {
            for values in [a, b, c, d] {
                prefetch(&values[index]);
            }
        }
        let value = f64x4(
            a[index].to_f64(),
            b[index].to_f64(),
            c[index].to_f64(),
            d[index].to_f64(),
        );
        // As `ExactSum::with`.
        let sum = simd.add_f64x4(high, value);
        let value_in_sum = simd.sub_f64x4(sum, high);
        let lost_of_high = simd.sub_f64x4(high, simd.sub_f64x4(sum, value_in_sum));
        let lost = simd.add_f64x4(lost_of_high, simd.sub_f64x4(value, value_in_sum));
        (high, low) = (sum, simd.add_f64x4(low, lost));
    }
    let state = |high, low| Sums::of(ExactSum { high, low }, count as u32);
    Some([
        state(high.0, low.0),
        state(high.1, low.1),
        state(high.2, low.2),
        state(high.3, low.3),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
pub fn sums<T: Real>(_arch: Arch, _values: [&[T]; GROUP]) -> Option<[Sums; GROUP]> {
    None
}

#[cfg(test)]
mod tests {
    use time_series_kernels::Statistics;

    use super::*;

    /// Values of several buckets give the states that the values of each give one after the other.
    #[test]
    fn sums_are_those_of_one_bucket_after_the_other() {
        let special = [
            0.0,
            -0.0,
            f64::MAX,
            f64::MIN_POSITIVE,
            1e300,
            f64::NAN,
            f64::INFINITY,
        ];
        for count in 0..20 {
            let value = |bucket: usize, index: usize| match index * (bucket + 3) % 17 {
                // The last bucket alone has special values.
                number if bucket + 1 == GROUP && number < special.len() => special[number],
                number => (1.0 - number as f64 / 3.0) * f64::powi(10.0, number as i32 * 2),
            };
            let buckets: [Vec<f64>; GROUP] = std::array::from_fn(|bucket| {
                (0..count).map(|index| value(bucket, index)).collect()
            });
            let values = buckets.each_ref().map(|values| &values[..]);
            let Some(states) = sums(Arch::new(), values) else {
                #[cfg(target_arch = "x86_64")]
                assert!(!std::arch::is_x86_feature_detected!("avx2"));
                eprintln!("skipped: this processor has no vectors of four numbers");
                return;
            };
            for (state, values) in states.iter().zip(values) {
                let push = |state: Sums, &value| state.push(value);
                let expected = values.iter().fold(Sums::EMPTY, push);
                assert_eq!(state.is_valid(), expected.is_valid(), "{values:?}");
                if state.is_valid() {
                    assert_eq!(*state, expected, "{values:?}");
                }
            }
        }
    }
}
