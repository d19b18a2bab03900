//! Arrays that all cores fill.

use gridstride_runtime::device::reserve;
use gridstride_runtime::{Result, parallel};

/// Makes `count` elements with all cores.
pub(super) fn collect<U: Copy + Send>(
    count: usize,
    element: impl Fn(usize) -> U + Sync,
) -> Result<Vec<U>> {
    const CHUNK: usize = 1 << 12;
    let mut elements = Vec::new();
    reserve(&mut elements, count)?;
    let chunks = elements.spare_capacity_mut()[..count].chunks_mut(CHUNK);
    parallel::each(chunks.enumerate(), |(chunk, places)| {
        for (i, place) in places.iter_mut().enumerate() {
            place.write(element(chunk * CHUNK + i));
        }
    });
    // SAFETY: the chunks are the first `count` elements, and all of them have been written.
    unsafe { elements.set_len(count) };
    Ok(elements)
}
