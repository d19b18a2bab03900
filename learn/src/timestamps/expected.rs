//! The expected sums.

use anyhow::{Result, ensure};
use gridstride::time_series::{Aggregates, TimeBuckets, reference};
use ndarray::ArrayView1;

/// The expected sums.
pub struct Expected {
    aggregates: Aggregates,
    bounds: Vec<f64>,
}

impl Expected {
    /// A sum of m values in any order is off by (m − 1)·u·Σ|x| at most but for terms of u², the
    /// reference by u·Σ|x|, and Σ|x| itself is computed with a relative error of u: (m + 2)·u·Σ|x|
    /// covers all, u being 2⁻⁵³.
    pub fn new(
        aggregation: &TimeBuckets,
        timestamps: ArrayView1<i64>,
        values: ArrayView1<f64>,
    ) -> Expected {
        let offsets = [0, values.len()];
        let magnitudes = values.mapv(f64::abs);
        let of = |values| reference::aggregate(aggregation, &offsets, timestamps, values);
        let magnitudes = of(magnitudes.view());
        let roundings = |count: f64| (count + 2.0) * f64::EPSILON / 2.0;
        let bounds = magnitudes.column(0).into_iter().zip(magnitudes.column(1));
        Expected {
            aggregates: of(values),
            bounds: bounds.map(|(count, sum)| roundings(*count) * sum).collect(),
        }
    }

    /// The number of buckets.
    pub fn buckets(&self) -> usize {
        self.bounds.len()
    }

    /// Counts of runs, between which there are zeros.
    pub fn check_counts(&self, counts: &[u32]) -> Result<String> {
        let found = counts.iter().filter(|count| **count > 0);
        let found: Vec<f64> = found.map(|count| f64::from(*count)).collect();
        ensure!(
            self.aggregates.column(0).as_slice() == Some(&found[..]),
            "the counts are not those of the reference"
        );
        Ok(String::new())
    }

    pub fn check_sums(&self, sums: &[f64]) -> Result<String> {
        let expected = self.aggregates.column(1);
        ensure!(
            sums.len() == expected.len(),
            "there are {} sums, not {}",
            sums.len(),
            expected.len()
        );
        for (i, ((found, expected), bound)) in
            sums.iter().zip(expected).zip(&self.bounds).enumerate()
        {
            // Not `>`: NaN is wrong too.
            ensure!(
                (found - expected).abs() <= *bound,
                "the sum of bucket {i} is {found}, not {expected}"
            );
        }
        Ok(String::new())
    }

    /// Returns the number of sums that are missing or beyond the bound.
    pub fn count_wrong(&self, sums: &[f64]) -> usize {
        let expected = self.aggregates.column(1);
        let found = sums.iter().map(Some).chain(std::iter::repeat(None));
        let is_right = |((found, expected), bound): &((Option<&f64>, &f64), &f64)| {
            found.is_some_and(|found| (found - **expected).abs() <= **bound)
        };
        let sums = found.zip(expected).zip(&self.bounds);
        self.bounds.len() - sums.filter(is_right).count()
    }

    pub fn check(&self, found: &Aggregates) -> Result<String> {
        let sums = found.column(1).to_vec();
        self.check_columns(found.starts(), found.column(0), &sums)
    }

    pub fn check_columns(
        &self,
        starts: ArrayView1<i64>,
        counts: ArrayView1<f64>,
        sums: &[f64],
    ) -> Result<String> {
        ensure!(
            starts == self.aggregates.starts() && counts == self.aggregates.column(0),
            "the buckets or their counts are not those of the reference"
        );
        self.check_sums(sums)
    }

    pub fn check_count(&self, buckets: usize) -> Result<String> {
        ensure!(
            buckets == self.buckets(),
            "there are {buckets} buckets, not {}",
            self.buckets()
        );
        Ok(String::new())
    }
}
