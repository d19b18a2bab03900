//! Memory that may not suffice.

use anyhow::Result;

/// Returns an empty vector with room for `count` elements, or an error if the memory does not
/// suffice. A vector that grows would abort the program, which then leaves its temporary files.
pub fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count)?;
    Ok(vector)
}
