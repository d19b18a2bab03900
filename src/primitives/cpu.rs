//! The versions for buffers of the CPU, which work on copies.

use std::ops::Range;

use crate::device::{Buffer, room_to_sort, zeroed};
use crate::{Result, parallel};

pub fn exclusive_sums_into(values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    let mut found = zeroed(sums.len())?;
    for (index, value) in values.to_vec()?.into_iter().enumerate() {
        found[index + 1] = found[index] + u64::from(value);
    }
    sums.copy_from(&found)
}

pub fn sort_keys(mut keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    let mut sorted = keys.to_vec()?;
    room_to_sort(&sorted)?;
    parallel::sort_by_bits(&mut sorted, bits);
    keys.copy_from(&sorted)?;
    Ok(keys)
}

pub fn sort_pairs(
    mut keys: Buffer<u64>,
    mut values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    let (mut key_copy, mut value_copy) = (keys.to_vec()?, values.to_vec()?);
    let mut sorted = zeroed::<[u64; 2]>(key_copy.len())?;
    for (pair, (&key, &value)) in sorted.iter_mut().zip(key_copy.iter().zip(&value_copy)) {
        *pair = [key, u64::from(value)];
    }
    room_to_sort(&sorted)?;
    parallel::sort_pairs_by_bits(&mut sorted, bits);
    for (i, [key, value]) in sorted.into_iter().enumerate() {
        (key_copy[i], value_copy[i]) = (key, value as u32);
    }
    keys.copy_from(&key_copy)?;
    values.copy_from(&value_copy)?;
    Ok((keys, values))
}
