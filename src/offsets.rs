//! Offsets, which divide elements among ranges that follow each other.

use crate::{Error, Result};

/// Checks that `offsets` begins with 0, never decreases, and ends with `count`, the number of
/// `elements`, which is their plural.
pub(crate) fn check(
    operation: &'static str,
    offsets: &[usize],
    count: usize,
    elements: &str,
) -> Result<()> {
    let refuse = |index, message| Err(Error::input_at(operation, index, message));
    match offsets.first() {
        Some(0) => {}
        Some(first) => return refuse(0, format!("the first offset is {first}, not 0")),
        None => return refuse(0, "there are no offsets, not even 0".into()),
    }
    if let Some(i) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (before, after) = (offsets[i], offsets[i + 1]);
        let message = format!("offset {} is {after}, below {before} before it", i + 1);
        return refuse(i + 1, message);
    }
    let last = offsets[offsets.len() - 1];
    if last != count {
        let message = format!("the last offset is {last}, but there are {count} {elements}");
        return refuse(offsets.len() - 1, message);
    }
    Ok(())
}
