//! Launches of radix sort: one that counts the digits, and one for each digit.

use std::ops::Range;

use cuda_std::DeviceSliceMut;
use gridstride_runtime::device::Buffer;
use gridstride_runtime::partition::bytes_of;
use gridstride_runtime::{Device, Result};
use primitives_kernels::{self as kernels, SortBits, SortKeys, SortPass, SortValues, SortWords};

use super::tuning::{self, SortShape};
use crate::MODULE;

/// Sorts at least one key.
pub fn sort_keys(keys: Buffer<u64>, bits: Range<u32>) -> Result<Buffer<u64>> {
    let device = keys.device().clone();
    let moved = device.alloc(keys.len())?;
    let shape = shape(&device, keys.len());
    let words = words(&device, keys.len(), shape)?;
    let mut keys = [keys, moved];
    // SAFETY: the words are 0, so that the first pass is 0.
    let place = unsafe { sort(&device, shape, sort_bits(bits), &mut keys, None, words)? };
    let [even, odd] = keys;
    Ok(if place == 0 { even } else { odd })
}

/// Sorts at least one key, and moves the values with their keys.
pub fn sort_pairs(
    keys: Buffer<u64>,
    values: Buffer<u32>,
    bits: Range<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    let device = keys.device().clone();
    let count = keys.len();
    let shape = shape(&device, count);
    let sort = PairSort {
        shape,
        bits: sort_bits(bits),
        keys: [keys, device.alloc(count)?],
        values: [values, device.alloc(count)?],
        words: words(&device, count, shape)?,
        device,
    };
    // SAFETY: the words are 0, so that the first pass is 0; it reads the pairs of the caller.
    unsafe { sort.finish() }
}

/// A sort of pairs that a kernel writes to its buffers.
///
/// The kernel may also leave out passes for the lowest bits, if they are the same in all keys.
#[doc(hidden)]
pub struct PairSort {
    device: Device,
    shape: SortShape,
    bits: SortBits,
    /// Even passes read the first buffers and write the second ones, odd passes the other way.
    keys: [Buffer<u64>; 2],
    values: [Buffer<u32>; 2],
    words: Buffer<u64>,
}

/// Room for the pairs that a pass reads.
#[doc(hidden)]
pub struct Pairs {
    pub keys: DeviceSliceMut<u64>,
    pub values: DeviceSliceMut<u32>,
}

#[doc(hidden)]
impl PairSort {
    /// Returns the most bytes that [`allocate`](Self::allocate) allocates.
    pub fn bytes(pairs: usize) -> u64 {
        bytes_of(pairs, 24).saturating_add(8 * words_of(pairs, SortShape::Short) as u64)
    }

    /// Allocates the buffers of a sort of `pairs` pairs, at least one, by these bits.
    pub fn allocate(device: &Device, pairs: usize, bits: Range<u32>) -> Result<PairSort> {
        let shape = shape(device, pairs);
        Ok(PairSort {
            device: device.clone(),
            shape,
            bits: sort_bits(bits),
            keys: [device.alloc(pairs)?, device.alloc(pairs)?],
            values: [device.alloc(pairs)?, device.alloc(pairs)?],
            words: words(device, pairs, shape)?,
        })
    }

    /// Returns the rooms for the pairs: the first if the first pass is even, else the second.
    pub fn pairs(&mut self) -> [Pairs; 2] {
        [0, 1].map(|place| Pairs {
            keys: self.keys[place].slice_mut(),
            values: self.values[place].slice_mut(),
        })
    }

    /// Returns the place of the number of the first pass, which is 0 before a kernel writes it.
    pub fn first_pass(&mut self) -> DeviceSliceMut<u64> {
        let all = self.words.slice_mut();
        let place = all.as_mut_ptr().wrapping_add(SortWords::FIRST_PASS);
        // SAFETY: all words are allocated. Kernels that use the slice are launched with `unsafe`.
        unsafe { DeviceSliceMut::from_raw_parts(place, 1) }
    }

    /// Sorts the pairs.
    ///
    /// # Safety
    /// The pairs must be where the first pass reads them, and the first pass one that there is.
    pub unsafe fn finish(mut self) -> Result<(Buffer<u64>, Buffer<u32>)> {
        let (keys, values) = (&mut self.keys, Some(&mut self.values));
        // SAFETY: the pairs are where the first pass reads them, and the sort has this pass, both
        // by the contract of this function.
        let place = unsafe {
            sort(
                &self.device,
                self.shape,
                self.bits,
                keys,
                values,
                self.words,
            )?
        };
        let ([even_keys, odd_keys], [even, odd]) = (self.keys, self.values);
        Ok(if place == 0 {
            (even_keys, even)
        } else {
            (odd_keys, odd)
        })
    }
}

fn sort_bits(bits: Range<u32>) -> SortBits {
    let Range { start, end } = bits;
    SortBits { start, end }
}

fn shape(device: &Device, keys: usize) -> SortShape {
    SortShape::new(keys, device.shared_memory_per_block().unwrap_or(0))
}

/// Returns the number of words of a sort.
fn words_of(keys: usize, shape: SortShape) -> usize {
    SortWords::words(shape.tiles(keys) as usize)
}

fn words(device: &Device, keys: usize, shape: SortShape) -> Result<Buffer<u64>> {
    device.zeros(words_of(keys, shape))
}

/// Sorts keys, and values with them if there are some, and returns which of the buffers have the
/// result.
///
/// # Safety
/// See [`PairSort::finish`].
unsafe fn sort(
    device: &Device,
    shape: SortShape,
    bits: SortBits,
    keys: &mut [Buffer<u64>; 2],
    mut values: Option<&mut [Buffer<u32>; 2]>,
    mut words: Buffer<u64>,
) -> Result<usize> {
    let count = keys[0].len();
    let words = SortWords {
        words: words.slice_mut(),
    };
    if shape.tiles(count) > 1 {
        let arguments = SortKeys {
            bits,
            keys: keys[0].slice(),
            odd_keys: keys[1].slice(),
            words,
        };
        let config = tuning::totals(count);
        // SAFETY: the words are those of the number of tiles, and 0 but for the first pass. The
        // buffers are on this device and freed after the kernels have run; so below.
        unsafe { device.launch(&MODULE, &kernels::digit_totals, config, (arguments,))? };
    }
    for pass in 0..bits.passes() {
        let (from, to) = (pass as usize % 2, 1 - pass as usize % 2);
        let arrays = SortPass {
            bits,
            pass,
            keys: keys[from].slice(),
            moved_keys: keys[to].slice_mut(),
            words,
        };
        let config = shape.config(count, values.is_some());
        match &mut values {
            None => {
                let kernel = match shape {
                    SortShape::Long => &kernels::sort_keys_long,
                    SortShape::Short => &kernels::sort_keys_short,
                };
                // SAFETY: there is a block for each tile, with the shared memory that it needs.
                unsafe { device.launch(&MODULE, kernel, config, (arrays,))? }
            }
            Some(values) => {
                let moved = SortValues {
                    values: values[from].slice(),
                    moved_values: values[to].slice_mut(),
                };
                let kernel = match shape {
                    SortShape::Long => &kernels::sort_pairs_long,
                    SortShape::Short => &kernels::sort_pairs_short,
                };
                // SAFETY: there is a block for each tile, with the shared memory that it needs, and
                // a value for each key.
                unsafe { device.launch(&MODULE, kernel, config, (arrays, moved))? }
            }
        }
    }
    Ok(bits.passes() as usize % 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridstride_runtime::device::device_for_tests;

    /// Keys that differ in the bits from `first_pass` digits on.
    fn keys(count: u64, first_pass: u64) -> Vec<u64> {
        let low = |i: u64| (i.wrapping_mul(0x9e37_79b9) >> 7) % 1000;
        (0..count).map(|i| low(i) << (8 * first_pass)).collect()
    }

    /// Sorts pairs whose values are the places of their keys.
    fn check(device: &Device, shape: SortShape, keys: &[u64], first_pass: u64) {
        let values: Vec<u32> = (0..keys.len() as u32).collect();
        let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(values.clone()).collect();
        expected.sort();

        // Short tiles have more words than long ones.
        let mut sort = PairSort::allocate(device, keys.len(), 0..34).unwrap();
        sort.shape = shape;
        let place = first_pass as usize % 2;
        sort.keys[place].copy_from(keys).unwrap();
        sort.values[place].copy_from(&values).unwrap();
        let mut words = sort.words.to_vec().unwrap();
        words[SortWords::FIRST_PASS] = first_pass;
        sort.words.copy_from(&words).unwrap();
        // SAFETY: the pairs are where the first pass reads them.
        let (sorted, values) = unsafe { sort.finish().unwrap() };
        let found = sorted.to_vec().unwrap().into_iter();
        assert!(
            found.zip(values.to_vec().unwrap()).eq(expected),
            "{shape:?}, {} keys, from pass {first_pass}",
            keys.len()
        );
    }

    #[test]
    fn the_lowest_passes_may_be_left_out() {
        let device = device_for_tests();
        for first_pass in 0..3 {
            let keys = keys(5000, first_pass);
            check(&device, SortShape::Short, &keys, first_pass);
        }
    }

    #[test]
    fn tiles_of_both_lengths_are_sorted() {
        let device = device_for_tests();
        for shape in [SortShape::Short, SortShape::Long] {
            let tile = u64::from(shape.tile());
            for count in [1, tile - 1, tile, tile + 1, 2 * tile, 15_000] {
                check(&device, shape, &keys(count, 0), 0);
            }
            check(&device, shape, &[7; 15_000], 0);
            let descending: Vec<u64> = (0..15_000).rev().collect();
            check(&device, shape, &descending, 0);
            // The same without values.
            let keys = [
                device.buffer_from(&descending).unwrap(),
                device.alloc(15_000).unwrap(),
            ];
            let words = words(&device, 15_000, shape).unwrap();
            let mut sorted = keys;
            // SAFETY: the first pass is 0.
            let place = unsafe {
                sort(&device, shape, sort_bits(0..14), &mut sorted, None, words).unwrap()
            };
            assert!(sorted[place].to_vec().unwrap().into_iter().eq(0..15_000));
        }
    }

    #[test]
    fn bytes_are_those_that_are_allocated() {
        let device = Device::simulator().unwrap();
        for pairs in [1, 3072, 3073, 100_000] {
            let bytes = PairSort::bytes(pairs);
            let enough = device.with_memory_limit(bytes);
            assert!(PairSort::allocate(&enough, pairs, 0..8).is_ok());
            let short = device.with_memory_limit(bytes - 1);
            assert!(PairSort::allocate(&short, pairs, 0..8).is_err());
        }
    }
}
