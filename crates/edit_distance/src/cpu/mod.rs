//! Edit distances on the CPU: each pair on one core, in bands that become wider until the distance
//! is in them.

mod band;
mod diagonals;
mod lanes;

use std::ops::Range;

use super::input::HostPairs;
use super::options::ABOVE_LIMIT;
use band::Band;
use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve, zeroed_lazily};
use gridstride_runtime::parallel::{self, Scratch};

/// Entries of D that a task computes, if it has several pairs.
const ENTRIES_PER_TASK: u64 = 1 << 22;

/// Pairs of a task, at most.
const PAIRS_PER_TASK: usize = 1 << 12;

/// The distance up to which the first band reaches, about the rows of a strip: a narrower band
/// would hardly take less time.
const FIRST_LIMIT: u32 = 512;

/// Each band is so many times as wide as the one before.
const FACTOR: u32 = 2;

pub fn host(pairs: &mut HostPairs) -> Result<()> {
    let order = largest_first(pairs)?;
    let mut distances = zeroed_lazily(order.len())?;
    let mut rest = &mut distances[..];
    let mut tasks = Vec::new();
    for range in tasks_of(pairs, &order)? {
        let (own, behind) = rest.split_at_mut(range.len());
        rest = behind;
        reserve(&mut tasks, 1)?;
        tasks.push((&order[range], own));
    }
    let scratch = Scratch::<Band>::new();
    let (a, b, bound, limit) = (pairs.a, pairs.b, pairs.bound(), pairs.limit);
    parallel::try_each_in_order(tasks, |(order, distances)| {
        scratch.with(|band| {
            let places = order.iter().zip(distances);
            places.into_iter().try_for_each(|(&pair, place)| {
                let (a, b) = (a.get(pair as usize), b.get(pair as usize));
                *place = distance(band, a, b, bound, limit)?;
                Ok(())
            })
        })
    })?;
    for (&pair, &distance) in order.iter().zip(&distances) {
        pairs.out[pair as usize] = distance;
    }
    Ok(())
}

/// Returns the numbers of all pairs, those with the most entries first.
fn largest_first(pairs: &HostPairs) -> Result<Vec<u64>> {
    // The bits of positive floating-point numbers are in the order of the numbers.
    let key = |i: usize| u64::from(!(pairs.entries(i) as f32).to_bits()) << 32 | i as u64;
    let mut keys = collected((0..pairs.out.len()).map(key))?;
    parallel::sort(&mut keys);
    keys.iter_mut().for_each(|key| *key &= u64::from(u32::MAX));
    Ok(keys)
}

/// Returns the ranges of pairs of each task.
fn tasks_of(pairs: &HostPairs, order: &[u64]) -> Result<Vec<Range<usize>>> {
    let (mut tasks, mut start, mut entries) = (Vec::new(), 0, 0);
    for (i, &pair) in order.iter().enumerate() {
        entries += pairs.entries(pair as usize);
        let (is_last, count) = (i + 1 == order.len(), i + 1 - start);
        if is_last || entries >= ENTRIES_PER_TASK || count == PAIRS_PER_TASK {
            reserve(&mut tasks, 1)?;
            tasks.push(start..i + 1);
            (start, entries) = (i + 1, 0);
        }
    }
    Ok(tasks)
}

/// Returns the distance of two sequences of codes below `bound`, or [`ABOVE_LIMIT`].
fn distance(band: &mut Band, a: &[u8], b: &[u8], bound: usize, limit: u32) -> Result<u32> {
    let (rows, columns) = match a.len() <= b.len() {
        true => (a, b),
        false => (b, a),
    };
    // Below 2³².
    let (difference, longest) = ((columns.len() - rows.len()) as u32, columns.len() as u32);
    if difference > limit {
        return Ok(ABOVE_LIMIT);
    }
    if rows.is_empty() {
        return Ok(difference);
    }
    let limit_of_pair = limit.min(longest);
    let mut reach = FIRST_LIMIT.max(difference.saturating_mul(FACTOR));
    loop {
        reach = reach.min(limit_of_pair);
        let distance = band.distance(rows, columns, bound, reach)?;
        if distance <= reach {
            return Ok(distance);
        }
        if reach == limit_of_pair {
            // No distance is larger than the length of the longer sequence.
            return Ok(ABOVE_LIMIT);
        }
        reach = reach.saturating_mul(FACTOR);
    }
}
