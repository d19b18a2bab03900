//! The checks of arguments.

use std::ops::Range;

use gridstride_runtime::{Error, Result};

/// Checks that there is room for the sum before each of `values` values, and for that of all.
pub fn require_sums(operation: &'static str, values: usize, sums: usize) -> Result<()> {
    let length = values + 1;
    if sums == length {
        return Ok(());
    }
    let message = format!("the sums of {values} values are {length}, but sums has {sums}");
    Err(Error::Shape { operation, message })
}

/// Checks that there is a value for each key.
pub fn require_values(operation: &'static str, keys: usize, values: usize) -> Result<()> {
    if keys == values {
        return Ok(());
    }
    let message =
        format!("the number of keys is {keys}, the number of values {values}: they must be equal");
    Err(Error::Shape { operation, message })
}

/// Checks the bits that keys are sorted by, and the number of keys.
pub fn require_bits(operation: &'static str, keys: usize, bits: &Range<u32>) -> Result<()> {
    let (start, end) = (bits.start, bits.end);
    let message = if start > end {
        format!("the range of bits {start}..{end} is reversed: it must not end below its start")
    } else if end > u64::BITS {
        format!("the range of bits {start}..{end} ends beyond the 64 bits of a key")
    } else if keys as u64 > 1 << 32 {
        format!("{keys} keys are more than 2³²")
    } else {
        return Ok(());
    };
    Err(Error::input(operation, message))
}
