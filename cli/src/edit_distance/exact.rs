//! The exact edit distances.

use std::ops::Range;

use anyhow::Result;
use gridstride::sequences::Sequences;
use gridstride::{Device, edit_distance};

use super::records::Pairs;

/// Letters of pairs within groups that are copied and compared together, unless a pair has more.
const LETTERS: usize = 1 << 28;

/// Returns the edit distance of each pair.
///
/// # Errors
/// The errors of the library, or too little memory for a number for each pair.
pub fn edit_distances(devices: &[Device], pairs: &Pairs) -> Result<Vec<f64>> {
    let count = pairs.count();
    let mut distances = pairs.room()?;
    // With two files, all sequences are in order.
    if let Some(b) = &pairs.b {
        let edits = edit_distance::edit_distances(devices, &pairs.a.sequences, &b.sequences)?;
        distances.extend(edits.iter().map(|&distance| f64::from(distance)));
        return Ok(distances);
    }
    while distances.len() < count {
        let chunk = distances.len()..end_of_chunk(pairs, distances.len());
        let [a, b] = copied(pairs, chunk)?;
        let edits = edit_distance::edit_distances(devices, &a, &b)?;
        distances.extend(edits.iter().map(|&distance| f64::from(distance)));
    }
    Ok(distances)
}

/// Returns the end of a range of pairs, at least one, that are copied together.
fn end_of_chunk(pairs: &Pairs, first: usize) -> usize {
    let mut letters = 0;
    let fits = |pair: &usize| {
        letters += pairs.lengths(*pair).iter().sum::<usize>();
        letters <= LETTERS
    };
    first + (first..pairs.count()).take_while(fits).count().max(1)
}

/// Copies the first sequences of some pairs, and the second ones.
fn copied(pairs: &Pairs, range: Range<usize>) -> Result<[Sequences; 2]> {
    let (mut a, mut b) = (Sequences::new(), Sequences::new());
    let indices = &pairs.indices[range];
    a.try_extend(indices.iter().map(|[i, _]| pairs.a.codes(*i)))?;
    b.try_extend(indices.iter().map(|[_, j]| pairs.second().codes(*j)))?;
    Ok([a, b])
}
