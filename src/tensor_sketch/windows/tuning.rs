//! How the strides of sliding windows are gathered into runs.

/// The most strides in a run: the windows that begin in it are one thread's work in each lane.
const LONGEST: u64 = 64;

/// The fewest strides in a run that is one of several in a window.
const SHORTEST: u64 = 16;

/// The largest prime factor of the number of whole runs: a thread multiplies so many matrices.
const LARGEST_PRIME: u64 = 61;

/// The most matrices that a thread multiplies at a time between runs, if their number allows it.
const TOGETHER: u64 = 16;

/// The runs of windows of some whole strides: `length` strides, then as many runs as the product of
/// `factors` says, then `rest` strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Strides in a run.
    pub length: u64,
    /// How the matrices of whole runs are multiplied: so many neighbours, then so many of the
    /// products, and so on. Without any there are no whole runs.
    pub factors: Vec<u64>,
    /// Strides behind the whole runs.
    pub rest: u64,
}

impl Runs {
    /// For windows of so many whole strides, at least one: what takes the fewest products.
    pub fn new(strides: u64) -> Runs {
        if strides <= LONGEST {
            return Runs {
                length: strides,
                factors: vec![],
                rest: 0,
            };
        }
        let longest = LONGEST.min(strides / 2);
        let candidates = (SHORTEST..=longest).rev().map(|length| {
            let (whole, factors) = (1..strides / length)
                .rev()
                .find_map(|whole| Some((whole, factors(whole)?)))
                .expect("one run has the factor 1");
            Runs {
                length,
                factors,
                rest: strides - (whole + 1) * length,
            }
        });
        let cheapest = candidates.min_by(|a, b| a.products().total_cmp(&b.products()));
        cheapest.expect("there is a length")
    }

    /// Whole runs between the one in which a window begins and the strides behind them.
    pub fn whole(&self) -> u64 {
        match self.factors[..] {
            [] => 0,
            ref factors => factors.iter().product(),
        }
    }

    /// Products of matrices for each window: to its begin, to its end, and its share of what is made
    /// once for a run.
    fn products(&self) -> f64 {
        let of_runs = match self.factors[..] {
            [] => 0,
            ref factors => self.length + factors.iter().sum::<u64>(),
        };
        2.0 + (self.rest + of_runs) as f64 / self.length as f64
    }

    /// The most products that a letter's matrix goes through, with so many pieces to a stride.
    pub fn depth(&self, pieces: u64) -> u64 {
        pieces * (3 * self.length + self.rest) + self.factors.iter().sum::<u64>() + 4
    }
}

/// Factors of a number: primes of at most [`LARGEST_PRIME`], as many as fit together up to [`TOGETHER`].
fn factors(mut number: u64) -> Option<Vec<u64>> {
    let mut factors = vec![1];
    for prime in 2..=LARGEST_PRIME {
        while number.is_multiple_of(prime) {
            number /= prime;
            match factors.last_mut() {
                Some(last) if *last * prime <= TOGETHER => *last *= prime,
                _ => factors.push(prime),
            }
        }
    }
    (number == 1).then_some(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_make_up_windows() {
        for strides in (1..3000).chain([99_000, 1_000_003, 12_345_678]) {
            let runs = Runs::new(strides);
            let made = match runs.factors[..] {
                [] => runs.length,
                _ => (1 + runs.whole()) * runs.length + runs.rest,
            };
            assert_eq!(made, strides, "{runs:?}");
            assert!(runs.length <= LONGEST && runs.length <= strides);
            // Numbers with small factors get rare.
            let most = if strides < 2_000_000 { 5.0 } else { 7.0 };
            assert!(runs.products() < most, "{strides}: {runs:?}");
        }
    }

    #[test]
    fn the_last_factor_counts() {
        assert_eq!(factors(1), Some(vec![1]));
        assert_eq!(factors(24), Some(vec![8, 3]));
        assert_eq!(factors(64), Some(vec![16, 4]));
        assert_eq!(factors(61 * 62), Some(vec![2, 31, 61]));
        assert_eq!(factors(67), None);
    }
}
