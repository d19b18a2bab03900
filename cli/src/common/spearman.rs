//! Spearman's rank correlation.

use std::cmp::Ordering;

/// Returns the correlation of the ranks of `x` and `y`, in [−1, 1], where equal numbers share the
/// mean of their ranks. Pairs with NaN are left out. `None` if all numbers of `x` or of `y` are
/// equal, or if there are fewer than two pairs: then it is undefined.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    let pairs = x.iter().zip(y).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let [x, y] = [centred_ranks(&x), centred_ranks(&y)];
    let dot = |a: &[i64], b: &[i64]| -> i128 {
        let products = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| i128::from(a) * i128::from(b));
        products.sum()
    };
    // The sums are exact, so equal ranks give exactly 1, and reversed ranks −1: the square root of a
    // rounded square is the number itself. Ranks that are almost equal may be rounded beyond 1.
    let (xx, yy) = (dot(&x, &x) as f64, dot(&y, &y) as f64);
    let spread = (xx * yy).sqrt();
    (spread > 0.0).then(|| (dot(&x, &y) as f64 / spread).clamp(-1.0, 1.0))
}

/// Returns twice the ranks of numbers without NaN, less twice the mean of all ranks: integers, below
/// the count of numbers.
fn centred_ranks(numbers: &[f64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    // Not `total_cmp`, to which −0 is less than 0.
    let compare = |a: &usize, b: &usize| numbers[*a].partial_cmp(&numbers[*b]);
    order.sort_unstable_by(|a, b| compare(a, b).unwrap_or(Ordering::Equal));
    let mut ranks = vec![0; numbers.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        // Twice the mean of the ranks first to first + len − 1, and of 0 to N − 1.
        let rank = 2 * first + equal.len() - 1;
        let mean = numbers.len() - 1;
        let centred = rank as i64 - mean as i64;
        equal.iter().for_each(|&i| ranks[i] = centred);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::spearman;

    /// Results of scipy 1.17 for the same numbers.
    #[test]
    fn as_scipy() {
        let x = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0];
        let y = [2.0, 7.0, 1.0, 8.0, 2.0, 8.0, 1.0, 8.0, 2.0, 8.0];
        for (x, y, expected) in [
            (&x[..], &y[..], 0.134_715_062_810_912_67),
            (&x, &x, 1.0),
            (&y, &x, 0.134_715_062_810_912_67),
            (&x[..5], &y[..5], -0.789_473_684_210_526_4),
            (&[1.0, 2.0, 3.0], &[-1.0, f64::NEG_INFINITY, -2.0], -0.5),
            (
                &[0.0, -0.0, 1.0, 2.0],
                &[1.0, 2.0, 4.0, 3.0],
                0.737_864_787_372_621_8,
            ),
        ] {
            let found = spearman(x, y).unwrap();
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn equal_ranks_give_exactly_one() {
        for count in 2..1000 {
            // All different, and with ties.
            for modulus in [1009, 97] {
                let x: Vec<f64> = (0..count).map(|i| f64::from(i * 7919 % modulus)).collect();
                let y: Vec<f64> = x.iter().map(|x| x * x).collect();
                assert_eq!(spearman(&x, &y), Some(1.0), "{count}");
                let y: Vec<f64> = x.iter().map(|x| -x).collect();
                assert_eq!(spearman(&x, &y), Some(-1.0), "{count}");
            }
        }
    }

    #[test]
    fn pairs_with_nan_do_not_count() {
        let (x, y) = ([1.0, f64::NAN, 2.0, 3.0], [1.0, 9.0, 2.0, f64::NAN]);
        assert_eq!(spearman(&x, &y), Some(1.0));
    }

    #[test]
    fn undefined_correlations() {
        assert_eq!(spearman(&[], &[]), None);
        assert_eq!(spearman(&[1.0], &[2.0]), None);
        assert_eq!(spearman(&[1.0, 1.0], &[2.0, 3.0]), None);
        assert_eq!(spearman(&[1.0, 2.0, f64::NAN], &[4.0, 4.0, 5.0]), None);
    }
}
