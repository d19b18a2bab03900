//! Binomial coefficients.

/// The binomial coefficient C(`n`, `k`), the number of ways to choose `k` of `n`; 0 when `k > n`.
///
/// The value is the exact coefficient rounded once to the nearest `f64`, so exact wherever an `f64`
/// can hold it, as long as C(n, k)·min(k, n − k) stays below 2¹²⁸ (about 3.4·10³⁸). Beyond that the
/// relative error is at most 2·min(k, n − k)·2⁻⁵³, and what exceeds `f64`'s range is infinite.
///
/// # Examples
///
/// ```
/// use gridstride::tensor_sketch::binomial;
///
/// assert_eq!(binomial(5, 2), 10.0);
/// assert_eq!(binomial(3, 4), 0.0);
/// assert_eq!(binomial(143, 4), 16_701_685.0);
/// ```
pub fn binomial(n: u64, k: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    let k = k.min(n - k);
    let mut exact: u128 = 1;
    for i in 1..=k {
        // C(n-k+i, i) = C(n-k+i-1, i-1) * (n-k+i) / i, without a remainder.
        match exact.checked_mul(u128::from(n - k + i)) {
            Some(product) => exact = product / u128::from(i),
            None => return continue_rounded(exact as f64, n, k, i),
        }
    }
    exact as f64
}

/// The same product from factor `first` on, in `f64`.
fn continue_rounded(mut value: f64, n: u64, k: u64, first: u64) -> f64 {
    for i in first..=k {
        value *= (n - k + i) as f64 / i as f64;
        // Every factor is at least 2, so this also ends the loop for an enormous k.
        if value.is_infinite() {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::binomial;

    #[test]
    fn pascals_triangle() {
        let mut row: Vec<u64> = vec![1];
        for n in 0..=60u64 {
            for (k, &value) in row.iter().enumerate() {
                assert_eq!(binomial(n, k as u64), value as f64, "C({n}, {k})");
            }
            let inner = row.windows(2).map(|pair| pair[0] + pair[1]);
            row = [1].into_iter().chain(inner).chain([1]).collect();
        }
    }

    #[test]
    fn edges() {
        assert_eq!(binomial(0, 0), 1.0);
        assert_eq!(binomial(0, 1), 0.0);
        assert_eq!(binomial(7, 8), 0.0);
        assert_eq!(binomial(u64::MAX, 0), 1.0);
        assert_eq!(binomial(u64::MAX, 1), u64::MAX as f64);
        assert_eq!(binomial(u64::MAX, u64::MAX - 1), u64::MAX as f64);
        assert_eq!(binomial(u64::MAX, u64::MAX / 2), f64::INFINITY);
    }

    #[test]
    fn large_values() {
        // 2^24 is passed between 143 and 144, 2^63 between 121 977 and 121 978.
        assert!(binomial(143, 4) < 16_777_216.0 && binomial(144, 4) > 16_777_216.0);
        assert_eq!(binomial(121_977, 4), 9_223_148_185_681_446_450_u64 as f64);
        // Exact integers from Python's math.comb, beyond u128 in the second case.
        let close = |value: f64, expected: f64| ((value - expected) / expected).abs() < 8e-16;
        assert!(close(binomial(1_000_000, 8), 2.480_089_286_512_892e43));
        assert!(close(binomial(u64::MAX, 8), 3.325_349_188_973_858_4e149));
    }
}
