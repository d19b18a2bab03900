//! The versions for arrays of the host.

use std::ops::Range;

use gridstride_runtime::device::{room_to_sort, zeroed};
use gridstride_runtime::{Result, parallel};

pub fn exclusive_sums(values: &[u32]) -> Result<Vec<u64>> {
    let mut sums = zeroed(values.len() + 1)?;
    for (index, &value) in values.iter().enumerate() {
        sums[index + 1] = sums[index] + u64::from(value);
    }
    Ok(sums)
}

pub fn sort_keys(keys: &mut [u64], bits: Range<u32>) -> Result<()> {
    room_to_sort(keys)?;
    parallel::sort_by_bits(keys, bits);
    Ok(())
}

pub fn sort_pairs(keys: &mut [u64], values: &mut [u32], bits: Range<u32>) -> Result<()> {
    let mut sorted = zeroed::<[u64; 2]>(keys.len())?;
    for (pair, (&key, &value)) in sorted.iter_mut().zip(keys.iter().zip(&*values)) {
        *pair = [key, u64::from(value)];
    }
    room_to_sort(&sorted)?;
    parallel::sort_pairs_by_bits(&mut sorted, bits);
    for (i, [key, value]) in sorted.into_iter().enumerate() {
        (keys[i], values[i]) = (key, value as u32);
    }
    Ok(())
}
