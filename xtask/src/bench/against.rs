//! Rows that have become slower or faster.

use super::results::{Results, Row};

/// A kernel has become slower if it takes at least so much longer, since the clocks of two cards of a kind differ by less.
const SLOWER: f64 = 1.03;

/// A row whose times are all on one side of those it had.
pub struct Change<'a> {
    /// The row of today.
    pub row: &'a Row,
    /// Its median divided by the earlier one.
    pub ratio: f64,
}

impl Change<'_> {
    /// Whether it fails a comparison.
    pub fn is_slower(&self) -> bool {
        self.ratio >= SLOWER
    }

    /// In a line.
    pub fn text(&self) -> String {
        let Row { step, measured, .. } = self.row;
        let word = match self.ratio > 1.0 {
            true => "slower",
            false => "faster",
        };
        format!(
            "{:>5.3} × the time, {word}: {step}: {}, {}",
            self.ratio,
            measured.case,
            figures::spread(measured)
        )
    }
}

/// The rows of ours that are outside of their earlier spread on the same device, the slowest first.
pub fn changes<'a>(today: &'a Results, earlier: &Results) -> Vec<Change<'a>> {
    let mut changes: Vec<_> = (today.rows().iter())
        .filter(|row| row.is_ours())
        .filter_map(|row| {
            let (new, old) = (&row.measured, &earlier.same(row)?);
            let (device, old) = (&old.device, &old.measured);
            let is_apart = new.least_ms > old.most_ms || new.most_ms < old.least_ms;
            let ratio = new.median_ms / old.median_ms;
            (*device == row.device && is_apart).then_some(Change { row, ratio })
        })
        .collect();
    changes.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    changes
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, row};
    use super::*;

    #[test]
    fn rows_within_their_spread_are_left_out() {
        let earlier = results(&[
            row("matmul", "a", "gridstride", vec![1.0, 1.1, 1.2]),
            row("matmul", "b", "gridstride", vec![1.0, 1.1, 1.2]),
            row("matmul", "c", "gridstride", vec![1.0, 1.1, 1.2]),
            row("matmul", "c", "PyTorch", vec![1.0]),
            row("time_series", "d", "gridstride", vec![1.0]),
        ]);
        let mut elsewhere = row("time_series", "d", "gridstride", vec![9.0]);
        elsewhere.device = "another GPU".to_owned();
        let today = results(&[
            row("matmul", "a", "gridstride", vec![0.9, 1.0, 1.1]),
            row("matmul", "b", "gridstride", vec![0.5, 0.55, 0.6]),
            row("matmul", "c", "gridstride", vec![2.1, 2.2, 2.3]),
            row("matmul", "c", "PyTorch", vec![9.0]),
            row("matmul", "new", "gridstride", vec![9.0]),
            elsewhere,
        ]);
        let changes = changes(&today, &earlier);
        let texts: Vec<_> = changes.iter().map(Change::text).collect();
        let expected = [
            "2.000 × the time, slower: matmul: c, 2.20 ms (2.10 to 2.30)",
            "0.500 × the time, faster: matmul: b, 0.550 ms (0.500 to 0.600)",
        ];
        assert_eq!(texts, expected);
        assert_eq!(
            changes.iter().filter(|change| change.is_slower()).count(),
            1
        );
    }
}
