//! Sums of a group of buckets, in vectors.

use gridstride_runtime::Real;
use gridstride_runtime::isa::Isa;
use time_series_kernels::Sums;

/// Buckets that are reduced together: the number of `f64` in a vector of AVX2.
pub const GROUP: usize = 4;

/// Adds the values of buckets with the same number of values. A vector has one value of each
/// bucket; the compiler does not vectorize values from four places. Returns the states that result
/// from pushing each bucket's values in order, or `None` without AVX2, where pushing is as fast.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn sums<T: Real>(isa: Isa, values: [&[T]; GROUP]) -> Option<[Sums; GROUP]> {
    use std::arch::x86_64::{_mm256_add_pd, _mm256_set_pd, _mm256_setzero_pd, _mm256_sub_pd};

    use super::prefetch::{STEP, prefetch};
    use time_series_kernels::ExactSum;

    isa.avx2()?;
    let count = values[0].len();
    let [a, b, c, d] = values.map(|values| &values[..count]);
    // SAFETY: the CPU has AVX2, and so all instructions that are called.
    let [high, low]: [[f64; GROUP]; 2] = unsafe {
        let (mut high, mut low) = (_mm256_setzero_pd(), _mm256_setzero_pd());
        for index in 0..count {
            if index.is_multiple_of(STEP) {
                for values in [a, b, c, d] {
                    prefetch(&values[index]);
                }
            }
            // The last argument is the first lane.
            let value = _mm256_set_pd(
                d[index].to_f64(),
                c[index].to_f64(),
                b[index].to_f64(),
                a[index].to_f64(),
            );
            // As `ExactSum::with`.
            let sum = _mm256_add_pd(high, value);
            let value_in_sum = _mm256_sub_pd(sum, high);
            let lost_of_high = _mm256_sub_pd(high, _mm256_sub_pd(sum, value_in_sum));
            let lost = _mm256_add_pd(lost_of_high, _mm256_sub_pd(value, value_in_sum));
            (high, low) = (sum, _mm256_add_pd(low, lost));
        }
        [bytemuck::cast(high), bytemuck::cast(low)]
    };
    let state = |i: usize| {
        let (high, low) = (high[i], low[i]);
        Sums::of(ExactSum { high, low }, count as u32)
    };
    Some([state(0), state(1), state(2), state(3)])
}

#[cfg(not(target_arch = "x86_64"))]
pub fn sums<T: Real>(_isa: Isa, _values: [&[T]; GROUP]) -> Option<[Sums; GROUP]> {
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
            let Some(states) = sums(Isa::detect(), values) else {
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
