//! The expected aggregates of time series, and how far a result may be from them.

use gridstride::time_series::{
    Accuracy, Aggregates, Method, Summaries, Summary, TimeBuckets, Value, reference,
};
use ndarray::ArrayView1;

/// All methods, of values and of rates, some percentiles among them.
pub fn all_methods() -> Vec<Method> {
    let of_values = statistics().into_iter().chain(percentiles());
    of_values
        .flat_map(|method| [method, method.rate()])
        .collect()
}

/// All methods with a name except the median.
pub fn statistics() -> Vec<Method> {
    let named = Method::ALL.iter().copied();
    named.filter(|&method| method != Method::MEDIAN).collect()
}

/// The methods that summaries can answer.
pub fn summarised() -> Vec<Method> {
    let mut methods = statistics();
    methods.retain(|&method| Summaries::<Summary>::has(method));
    methods
}

pub fn percentiles() -> [Method; 6] {
    let [low, quarter, odd, high, all] = [0.0, 25.0, 74.5, 95.0, 100.0].map(Method::percentile);
    [Method::MEDIAN, low, quarter, odd, high, all]
}

/// Returns the label of a timestamp's bucket in exact arithmetic, if it is an `i64`.
pub fn label(timestamp: i64, granularity: i64, origin: i64) -> Option<i64> {
    let [timestamp, granularity, origin] = [timestamp, granularity, origin].map(i128::from);
    let label = origin + (timestamp - origin).div_euclid(granularity) * granularity;
    i64::try_from(label).ok()
}

/// Returns how far two results of the same values may be apart if they were merged otherwise. Sums
/// carry their errors along: rounded sums differ by the last bit at most. All else is the same.
pub fn apart(method: Method, result: f64) -> f64 {
    match method.accuracy() {
        Accuracy::Exact => 0.0,
        // Within the bounds of the documentation on both sides, of a few thousand values.
        Accuracy::Skewness => 12.0 * f64::EPSILON * result.abs() + 1e-15,
        Accuracy::Kurtosis => 12.0 * f64::EPSILON * (result.abs() + 14.0),
        _ => 4.0 * f64::EPSILON * result.abs(),
    }
}

/// Compares a result with the reference: sums and the statistics made of sums up to the bounds of
/// `bound`, all else exactly.
#[track_caller]
pub fn compare<'a, T: Value>(
    found: &Aggregates,
    aggregation: &TimeBuckets,
    offsets: &[usize],
    timestamps: impl Into<ArrayView1<'a, i64>>,
    values: impl Into<ArrayView1<'a, T>>,
) {
    let (timestamps, values) = (timestamps.into(), values.into());
    let methods = found.methods().to_vec();
    // The columns that bound errors follow the columns of the result.
    let sizes = [Method::COUNT, Method::MIN, Method::MAX];
    let sizes = [sizes, sizes.map(Method::rate)].concat();
    let with_sizes = aggregation
        .clone()
        .methods(&[&methods[..], &sizes].concat());
    let expected = reference::aggregate(&with_sizes, offsets, timestamps, values);
    assert_eq!(found.offsets(), expected.offsets(), "offsets");
    assert_eq!(found.starts(), expected.starts(), "starts");
    assert_eq!(found.columns().len(), methods.len(), "columns");
    let (columns, sizes) = expected.columns().split_at(methods.len());
    for (index, method) in methods.iter().enumerate() {
        let [count, min, max] = match method.is_rate() {
            true => [&sizes[3], &sizes[4], &sizes[5]],
            false => [&sizes[0], &sizes[1], &sizes[2]],
        };
        // The last result that exists, and its bound.
        let mut last = None;
        for (bucket, &expected) in columns[index].iter().enumerate() {
            let found = found.column(index)[bucket];
            let largest = min[bucket].abs().max(max[bucket].abs());
            // NaN is no error within any bound. Beside an infinite value, only equality holds.
            let own = match largest.is_finite() {
                true => bound(*method, expected, count[bucket], largest),
                false => 0.0,
            };
            // A bucket without points may repeat the last result that exists: its sizes are those of the
            // bucket before, which may have no such result.
            let bound = match last {
                Some((repeated, bound)) if expected == repeated => own.max(bound),
                _ => own,
            };
            if !expected.is_nan() {
                last = Some((expected, bound));
            }
            if found == expected || found.is_nan() && expected.is_nan() {
                continue;
            }
            let error = (found - expected).abs();
            assert!(
                error <= bound,
                "{method} of bucket {bucket} is {found:e}, and has to be {expected:e} ± {bound:e}"
            );
        }
    }
}

/// Returns how far a number may be from `expected`, the reference's: of n finite values, none of
/// them larger than `largest` =: m in magnitude, so that A := Σ|x| ≤ n·m and Q := Σx² ≤ n·m². u is
/// 2⁻⁵³.
///
/// - A sum is off by at most u·|S| + n²u²·A (`ExactSum`), and the reference's, rounded once, by
///   u·|S|. With S within a factor 1 + 2u of the reference's R: less than 3u·|R| + n²u²·A.
/// - A mean is a sum divided by n, which here and there adds a rounding: 5u·|R| + n²u²·A/n.
/// - A variance is D/(n − d), D := Σ(x − mean)² = Q − S²/n, with Q := Σd² and S := Σd of the
///   deviations d = x − s from a shift s, one of the values. As n·(s − mean)² ≤ (n − 1)·D, Q ≤ n·D,
///   and two values of a bucket are at most √(2D) apart. k := min(n, 8192) + n/8192 + 64 bounds the
///   additions that a term goes through: the CPU adds 8192 values one after the other and merges
///   such states in order, a GPU 64 values and then in trees.
///   - Each d is a pair of numbers without error, whose second square, ≤ u²d², is left out, and
///     each d² another pair. h + l then stand for Q up to (2k)²u²·Q, as each square comes in two
///     terms: 4k²u²·n·D.
///   - Where two states have other shifts, the later one's squares move by δ·(2·Σd + n′·δ), where
///     no term is above 2(Q′ + n′δ²) in magnitude, δ² ≤ 2D, and each of some ten roundings of the
///     lower parts takes u² of that: over all merges of a value, fewer than k, 20k·u²·(n·D + 2n·D)
///     ≤ 60k·u²·n·D ≤ k²u²·n·D, as k > 64.
///   - S comes from Σx − n·s. Σx is exact if all values have one sign and are within a factor of 2:
///     of values up to m, k additions lose at most k·n·u·m, in multiples of u·m/2, fewer than 2⁵³
///     of these, as 2k·n < 2⁵³ for n < 2³². So is the difference then. Else the largest magnitude m
///     is at most twice the range, m ≤ 2√(2D), Σx is off by e ≤ k²u²·n·m ≤ 3k²u²·n·√D, and S²/n by
///     2·(|S|/n)·e ≤ 2√D·e ≤ 6k²u²·n·D.
///   - S²/n itself, twice as precise, is rounded in terms below 20u²·Q, the difference likewise,
///     and D once.
///
///   Altogether D is off by u·D + (4k² + k² + 6k² + 40)u²·n·D ≤ u·D + 50·n·k²·u²·D. The division
///   adds u, the reference's three roundings 3u, and a result below the normal range up to two of
///   its units: 6u·R + 50·n·k²·u²·R.
/// - Of a deviation √V with V off by b·V, |√V′ − √V| = |V′ − V|/(√V′ + √V) ≤ b·R; the roots round
///   here and there: b·R·(1 + u) + 3u·R.
/// - Skewness and kurtosis come from Mₚ := Σ(x − mean)ᵖ, and these from Sₚ := Σdᵖ. As |s − mean|ᵖ ≤ Aₚ :=
///   Σ|x − mean|ᵖ, and the range R of the values has Rᵖ ≤ 2ᵖ⁻¹·Aₚ, |d| ≤ R, |Sₚ| ≤ n·Rᵖ.
///   - As squares, the powers are pairs, so Sₚ is off by 4k²u²·n·Rᵖ, and S₁ by e ≤ 2k²u²·n·R (above).
///   - M₃ = S₃ − 3S₁S₂/n + 2S₁³/n², whose derivatives are at most 9R² by S₁, 3R by S₂ and 1 by S₃: it is off by
///     (18 + 12 + 4)·k²u²·n·R³ ≤ 136·k²u²·n·A₃. M₄ = S₄ − 4S₁S₃/n + 6S₁²S₂/n² − 3S₁⁴/n³, with derivatives of at
///     most 28R³, 6R², 4R and 1: by (56 + 24 + 16 + 4)·k²u²·n·R⁴ ≤ 800·k²u²·n·A₄.
///   - Moving to other shifts has fewer than 40 roundings of lower parts, in terms of at most n·(2R)ᵖ, k times:
///     40·8·4·k·u²·n·A₃ ≤ 20k²u²·n·A₃ and 40·16·8·k·u²·n·A₄ ≤ 80k²u²·n·A₄.
///   - So M₃ is off by u·|M₃| + 160·n·k²·u²·A₃, M₄ by (u + 900·n·k²·u²)·M₄, and M₂ by (u + 50·n·k²·u²)·M₂.
///   - g₁ = √n·M₃/M₂^(3/2), with √n·A₃/M₂^(3/2) ≤ √(n·A₄)/M₂ ≤ √n: six roundings beside those of M₃ and M₂, and
///     (160 + 75)·n·k²·u²·√n. For samples √(n(n − 1))/(n − 2) ≤ √6 adds four roundings: 12u·|G| + 700·n·k²·u²·√n.
///     The reference has at most as many roundings: 24u.
///   - g₂ + 3 = n·M₄/M₂²: (6u + 1000·n·k²·u²)·(g₂ + 3), and u·|g₂| of the difference. For samples G₂ + t is
///     (n + 1)·(g₂ + 3) times a factor, and t = 3(n − 1) times it: (12u + 1200·n·k²·u²)·(|G₂| + t); 24u with the
///     reference.
///
/// All else is exact.
fn bound(method: Method, expected: f64, count: f64, largest: f64) -> f64 {
    const U: f64 = f64::EPSILON / 2.0;
    let in_sum = count.powi(3) * U * U * largest;
    let additions = count.min(8192.0) + (count / 8192.0).floor() + 64.0;
    let in_squares = 50.0 * count * additions * additions * U * U;
    let in_variance = |variance: f64| (6.0 * U + in_squares) * variance;
    const SMALLEST: f64 = f64::from_bits(1);
    match method.accuracy() {
        Accuracy::Exact => 0.0,
        Accuracy::Sum => 3.0 * U * expected.abs() + in_sum,
        Accuracy::Mean => 5.0 * U * expected.abs() + in_sum / count,
        Accuracy::Variance => in_variance(expected) + 2.0 * SMALLEST,
        Accuracy::Deviation => in_variance(1.0) * expected * (1.0 + U) + 3.0 * U * expected,
        Accuracy::Skewness => {
            24.0 * U * expected.abs() + 14.0 * in_squares * count.sqrt() + SMALLEST
        }
        Accuracy::Kurtosis => {
            let sample = 3.0 * (count - 1.0).powi(2) / ((count - 2.0) * (count - 3.0));
            let is_sample = [Method::KURT, Method::KURT.rate()].contains(&method);
            let beside = if is_sample { sample } else { 3.0 };
            (24.0 * U + 24.0 * in_squares) * (expected.abs() + beside)
        }
        // `Accuracy` is non-exhaustive: a new one needs a derivation above.
        _ => panic!("no bound is derived for {method}"),
    }
}
