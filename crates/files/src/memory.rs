//! Memory that may not suffice.

use anyhow::{Context, Result};

/// Returns an empty vector with room for `count` elements, or an error if the memory does not
/// suffice. A vector that grows would abort the program, which then leaves its temporary files.
pub fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count)?;
    Ok(vector)
}

/// Makes room in a vector for `count` more elements, or returns an error that says that there is no
/// memory for more of `what`. The capacity at least doubles when it grows.
pub fn make_room<T>(vector: &mut Vec<T>, count: usize, what: &str) -> Result<()> {
    vector.try_reserve(count).with_context(|| no_room(what))
}

/// Says that there is no memory for more of `what`.
pub fn no_room(what: &str) -> String {
    format!("there is no memory for more {what}: give smaller files, or free some memory")
}
