//! Numbers for labels that are small integers, or indices of categories.

use std::ops::Range;

use rayon::prelude::*;

use super::group::{GRAIN, Groups, Order, grouped};
use super::memory::Words;
use crate::call::threads;

/// An integer.
pub trait Key: Copy + Send + Sync {
    /// Returns an integer with the same order. Neighbours stay neighbours.
    fn word(self) -> u64;
}

macro_rules! keys {
    ($($type:ty),*; $($unsigned:ty),*) => {
        $(impl Key for $type {
            fn word(self) -> u64 {
                i64::from(self) as u64 ^ 1 << 63
            }
        })*
        $(impl Key for $unsigned {
            fn word(self) -> u64 {
                u64::from(self)
            }
        })*
    };
}
keys!(i8, i16, i32, i64; u8, u16, u32, u64);

/// Consecutive points whose labels are given by keys.
pub struct Keys<'a, K> {
    pub keys: &'a [K],
    /// The word of the key with the index 0.
    pub first: u64,
}

impl<K: Key> Keys<'_, K> {
    fn index(&self, key: K) -> usize {
        key.word().wrapping_sub(self.first) as usize
    }
}

/// Groups equal integers. Parts follow each other.
pub fn grouped_integers<K: Key>(parts: &[&[K]], order: Order) -> Groups {
    let count = parts.iter().map(|part| part.len()).sum::<usize>();
    let words = parts.iter().flat_map(|part| part.iter());
    let words = words.map(|key| key.word());
    let (least, most) = words.clone().fold((u64::MAX, 0), |(least, most), word| {
        (least.min(word), most.max(word))
    });
    // A table of all integers between them takes about as much memory as the points.
    let range = most.saturating_sub(least);
    if count == 0 || range > count as u64 || order == Order::Appearance {
        return grouped(&[Words(words.collect())], order);
    }
    let parts = parts.iter().map(|&keys| Keys { keys, first: least });
    let parts = parts.collect::<Vec<_>>();
    let groups = (0..=range as u32).map(Some).collect::<Vec<_>>();
    grouped_by_keys(&parts, &groups).expect("each integer has a group")
}

/// Groups points by their keys. `groups` has the group of each key's index, `None` if points cannot
/// have it. Groups without points are left out.
///
/// # Errors
/// The first point whose key has no group.
pub fn grouped_by_keys<K: Key>(
    parts: &[Keys<'_, K>],
    groups: &[Option<u32>],
) -> Result<Groups, usize> {
    let count = parts.iter().map(|part| part.keys.len()).sum::<usize>();
    // So that the tables of threads take less memory than the points. Each thread has one.
    let jobs = count / (8 * groups.len() + 1);
    let jobs = jobs.clamp(1, threads().current_num_threads());
    let length = count.div_ceil(jobs).max(GRAIN);
    let jobs = 0..count.div_ceil(length);
    threads().install(|| {
        let firsts = jobs.into_par_iter().map(|job| {
            let points = job * length..count.min((job + 1) * length);
            firsts_of(parts, points, groups.len())
        });
        let firsts = firsts.collect::<Vec<_>>();
        let (mut missing, mut first_of) = (usize::MAX, vec![usize::MAX; groups.len()]);
        for firsts in firsts {
            let Ok(firsts) = firsts.map_err(|point| missing = missing.min(point)) else {
                continue;
            };
            for (group, first) in groups.iter().zip(firsts) {
                let least = match group {
                    Some(group) => &mut first_of[*group as usize],
                    None => &mut missing,
                };
                *least = first.min(*least);
            }
        }
        if missing != usize::MAX {
            return Err(missing);
        }
        let mut ranks = Vec::with_capacity(groups.len());
        let mut firsts = Vec::new();
        for first in first_of {
            ranks.push(firsts.len() as u32);
            firsts.extend((first != usize::MAX).then_some(first));
        }
        // Keys of points have groups.
        let rank = |group: &Option<u32>| group.map_or(0, |group| ranks[group as usize]);
        let ranks = groups.iter().map(rank).collect::<Vec<_>>();
        let mut codes = vec![0; count];
        let mut rest = &mut codes[..];
        let jobs = parts.iter().map(|part| {
            let (codes, others) = std::mem::take(&mut rest).split_at_mut(part.keys.len());
            rest = others;
            (part, codes)
        });
        for (part, codes) in jobs {
            let codes = codes.par_iter_mut().with_min_len(GRAIN).zip(part.keys);
            codes.for_each(|(code, &key)| *code = ranks[part.index(key)]);
        }
        Ok(Groups { codes, firsts })
    })
}

/// Returns the first of some points for each index of a key, `usize::MAX` if none has it, or the first
/// point whose index is none of `count`.
fn firsts_of<K: Key>(
    parts: &[Keys<'_, K>],
    points: Range<usize>,
    count: usize,
) -> Result<Vec<usize>, usize> {
    let mut firsts = vec![usize::MAX; count];
    let mut start = 0;
    for part in parts {
        let end = start + part.keys.len();
        let range = points.start.clamp(start, end)..points.end.clamp(start, end);
        let keys = &part.keys[range.start - start..range.end - start];
        for (&key, point) in keys.iter().zip(range) {
            match firsts.get_mut(part.index(key)) {
                Some(first) if *first == usize::MAX => *first = point,
                Some(_) => (),
                None => return Err(point),
            }
        }
        start = end;
    }
    Ok(firsts)
}
