//! The expected pairs, which results of kernels are compared with.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use gridstride::box_overlap::Overlaps;
use ladder_kernels::box_overlap::{MATCHES, OVERFLOW, UNUSED};

/// The expected content of the places.
pub struct Expected {
    matches: Vec<i32>,
}

impl Expected {
    pub fn new(overlaps: &Overlaps) -> Expected {
        let mut matches = vec![UNUSED; overlaps.len() * MATCHES];
        for (i, places) in matches.chunks_exact_mut(MATCHES).enumerate() {
            let row = overlaps.row(i);
            for (place, other) in places.iter_mut().zip(row) {
                *place = *other as i32;
            }
            if row.len() > MATCHES {
                places[MATCHES - 1] = OVERFLOW;
            }
        }
        Expected { matches }
    }

    pub fn check(&self, found: &[i32]) -> Result<String> {
        self.check_first(self.matches.len() / MATCHES, found)
    }

    /// The same for the first boxes alone.
    pub fn check_first(&self, boxes: usize, found: &[i32]) -> Result<String> {
        let expected = &self.matches[..boxes * MATCHES];
        let rows = expected.chunks_exact(MATCHES);
        for (i, (expected, found)) in rows.zip(found.chunks_exact(MATCHES)).enumerate() {
            ensure!(
                expected == found,
                "box {i} has the matches {found:?}, not {expected:?}"
            );
        }
        ensure!(
            found.len() == expected.len(),
            "there are {} places",
            found.len()
        );
        let pairs = found.iter().filter(|other| **other >= 0).count();
        Ok(format!("{pairs} pairs"))
    }

    /// Counts the pairs that only one of the results has, for a remark.
    pub fn count_wrong(&self, found: &[i32]) -> Result<String> {
        let pairs = |matches: &[i32]| -> HashSet<(usize, i32)> {
            let places = matches.iter().enumerate();
            let pairs = places.map(|(place, other)| (place / MATCHES, *other));
            pairs.filter(|(_, other)| *other >= 0).collect()
        };
        let (expected, found) = (pairs(&self.matches), pairs(found));
        Ok(format!(
            "{} pairs are wrong, {} are missing",
            found.difference(&expected).count(),
            expected.difference(&found).count()
        ))
    }
}
