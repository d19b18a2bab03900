//! Conversion of numbers on all threads of the CPU.

use gridstride_runtime::device::{Element, zeroed_lazily};
use gridstride_runtime::{Result, parallel};

/// Elements that a task of the CPU converts.
const CONVERTED_BY_A_THREAD: usize = 1 << 15;

/// Returns the converted elements; `convert` writes those of a task.
pub fn cast<T: Element, U: Element>(elements: &[T], convert: fn(&[T], &mut [U])) -> Result<Vec<U>> {
    let mut converted = zeroed_lazily(elements.len())?;
    let chunks = converted.chunks_mut(CONVERTED_BY_A_THREAD);
    let chunks = chunks.zip(elements.chunks(CONVERTED_BY_A_THREAD));
    parallel::each(chunks, |(to, from)| convert(from, to));
    Ok(converted)
}

/// Converts each element by a function.
pub fn each<T: Copy, U>(from: &[T], to: &mut [U], convert: impl Fn(T) -> U) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = convert(from);
    }
}
