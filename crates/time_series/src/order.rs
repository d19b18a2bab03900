//! The order of points on the host: checked, or made by a sort.

use std::borrow::Cow;

use gridstride_runtime::device::{Element, collected, room_to_sort, zeroed_lazily};
use gridstride_runtime::{Result, parallel};

use super::input::{Series, require_labels};
use super::options::Order;
use super::timeline::{CHUNK, Timeline};
use super::values::{HostValue, Values, with_values};

/// The bit to flip so that unsigned numbers have the order of timestamps.
const SIGN: u64 = 1 << 63;

impl Series<'_> {
    /// Fails for the first point that is out of order, unless the options sort points, or whose
    /// bucket has no label.
    pub fn check(&self) -> Result<()> {
        match self.options.order {
            Order::Required => Timeline::of(self).check(),
            Order::Sort => require_labels(self.operation, &*self.timestamps, &self.floor),
        }
    }

    /// Returns the points in the order of time: sorted, if the options say so and they are not.
    pub fn in_order(&self) -> Result<Series<'_>> {
        let mut points = self.borrowed();
        if self.options.order == Order::Sort && Timeline::of(&points).check().is_err() {
            // Before points are moved, since the error has the caller's index.
            self.check()?;
            points.sort()?;
        }
        Ok(points)
    }

    /// Sorts each series by its timestamps, stably.
    fn sort(&mut self) -> Result<()> {
        let mut pairs = zeroed_lazily::<[u64; 2]>(self.timestamps.len())?;
        parallel::each(pairs.chunks_mut(CHUNK).enumerate(), |(chunk, pairs)| {
            let points = parallel::chunk(chunk, CHUNK, self.timestamps.len());
            let timestamps = &self.timestamps[points.clone()];
            with_values!(&self.values, values => pair(pairs, timestamps, &values[points]));
        });
        room_to_sort(&pairs)?;
        let mut rest = &mut pairs[..];
        let series = self.offsets.windows(2).map(|offsets| {
            let pairs = rest.split_off_mut(..offsets[1] - offsets[0]);
            pairs.expect("a pair for each point")
        });
        let series = collected(series)?;
        parallel::try_each(series, |series| {
            parallel::sort_pairs_by_bits(series, 0..u64::BITS);
            Ok(())
        })?;
        let (timestamps, values) =
            with_values!(&self.values, values => unpaired_like(&pairs, values)?);
        self.timestamps = Cow::Owned(timestamps);
        self.values = values;
        Ok(())
    }
}

/// Writes a pair for each point: the key of its timestamp, and the bits of its value.
fn pair<T: Element>(pairs: &mut [[u64; 2]], timestamps: &[i64], values: &[T]) {
    let points = timestamps.iter().zip(values);
    for (pair, (&timestamp, &value)) in pairs.iter_mut().zip(points) {
        *pair = [timestamp as u64 ^ SIGN, to_bits(value)];
    }
}

/// Returns the timestamps and values of pairs. The values have the type of `_like`.
fn unpaired_like<T: HostValue>(
    pairs: &[[u64; 2]],
    _like: &[T],
) -> Result<(Vec<i64>, Values<'static>)> {
    let mut timestamps = zeroed_lazily(pairs.len())?;
    let mut values = zeroed_lazily(pairs.len())?;
    let chunks = timestamps.chunks_mut(CHUNK).zip(values.chunks_mut(CHUNK));
    let chunks = chunks.zip(pairs.chunks(CHUNK));
    parallel::each(chunks, |((timestamps, values), pairs)| {
        let points = timestamps.iter_mut().zip(values);
        for ((timestamp, value), &[key, bits]) in points.zip(pairs) {
            (*timestamp, *value) = ((key ^ SIGN) as i64, from_bits(bits));
        }
    });
    Ok((timestamps, T::values(values.into())))
}

/// Returns the bits of a value of at most 8 bytes.
fn to_bits<T: Element>(value: T) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_ne_bytes(bytes)
}

fn from_bits<T: Element>(bits: u64) -> T {
    bytemuck::pod_read_unaligned(&bits.to_ne_bytes()[..size_of::<T>()])
}
