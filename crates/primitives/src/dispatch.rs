//! Dispatch by kind of device.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{Buffer, DeviceKind};

use super::{cpu, gpu};

/// Writes the exclusive sums of `values`, and the sum of all of them.
pub fn write_sums(values: &Buffer<u32>, sums: &mut Buffer<u64>) -> Result<()> {
    match values.device().kind() {
        DeviceKind::Cpu => sums.copy_from(&cpu::exclusive_sums(&values.to_vec()?)?),
        _ => gpu::exclusive_sums_into(values, sums),
    }
}

/// Sorts at least one key by at least one bit.
pub fn sort_keys(mut keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    match keys.device().kind() {
        DeviceKind::Cpu => {
            let mut copy = keys.to_vec()?;
            cpu::sort_keys(&mut copy, bits)?;
            keys.copy_from(&copy)?;
            Ok(keys)
        }
        _ => gpu::sort_keys(keys, bits),
    }
}

/// As [`sort_keys`], and moves the values with their keys.
pub fn sort_pairs(
    mut keys: Buffer<u64>,
    mut values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    match keys.device().kind() {
        DeviceKind::Cpu => {
            let (mut key_copy, mut value_copy) = (keys.to_vec()?, values.to_vec()?);
            cpu::sort_pairs(&mut key_copy, &mut value_copy, bits)?;
            keys.copy_from(&key_copy)?;
            values.copy_from(&value_copy)?;
            Ok((keys, values))
        }
        _ => gpu::sort_pairs(keys, values, bits),
    }
}
