//! The CPU version.

use super::input::Rows;

/// Sums rows.
pub fn host(rows: Rows) -> Vec<f32> {
    rows.matrix
        .rows()
        .into_iter()
        .map(|row| row.sum())
        .collect()
}
