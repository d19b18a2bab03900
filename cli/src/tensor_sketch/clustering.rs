//! The order of sequences in a heat map.

use anyhow::{Context, Result};
use files::memory::room_for;
use kodama::{Method, linkage};
use ndarray::ArrayView2;

/// Returns the rows of a square matrix of distances in an order in which near ones stand together:
/// that of a hierarchical clustering with average linkage.
pub fn order(distances: ArrayView2<f64>) -> Result<Vec<usize>> {
    let rows = distances.nrows();
    if rows < 2 {
        return Ok((0..rows).collect());
    }
    let mut above: Vec<f64> = room_for(rows * (rows - 1) / 2).with_context(|| {
        format!("cannot hold the distances of {rows} sequences in memory twice, to order a heat map: leave out --plot")
    })?;
    for (i, row) in distances.outer_iter().enumerate() {
        above.extend(row.iter().skip(i + 1));
    }
    let clustering = linkage(&mut above, rows, Method::Average);
    let steps = clustering.steps();
    // Labels below `rows` are rows, the others steps. The last step has all rows.
    let mut order = Vec::with_capacity(rows);
    let mut waiting = vec![rows + steps.len() - 1];
    while let Some(label) = waiting.pop() {
        match label.checked_sub(rows) {
            None => order.push(label),
            Some(step) => waiting.extend([steps[step].cluster2, steps[step].cluster1]),
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn near_rows_stand_together() {
        let places: [f64; 6] = [0.0, 10.0, 1.0, 11.0, 0.5, 10.5];
        let distances = Array2::from_shape_fn((6, 6), |(i, j)| (places[i] - places[j]).abs());
        let order = order(distances.view()).unwrap();
        let is_low: Vec<bool> = order.iter().map(|&row| places[row] < 5.0).collect();
        assert_eq!(
            is_low.windows(2).filter(|pair| pair[0] != pair[1]).count(),
            1,
            "{order:?}"
        );
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn few_and_identical_rows_have_an_order() {
        for rows in 0..4 {
            let mut order = order(Array2::zeros((rows, rows)).view()).unwrap();
            order.sort_unstable();
            assert_eq!(order, (0..rows).collect::<Vec<_>>());
        }
    }
}
