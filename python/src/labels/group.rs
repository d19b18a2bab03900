//! Numbers for labels: by hashing, in parallel.

use std::cmp::Ordering;
use std::hash::Hash;
use std::ops::Range;

use ahash::RandomState;
use hashbrown::HashTable;
use rayon::prelude::*;

use crate::call::threads;

/// Fewer labels are not worth a thread.
pub const GRAIN: usize = 1 << 14;

/// The groups of points with equal labels.
pub struct Groups {
    /// The group of each point.
    pub codes: Vec<u32>,
    /// The first point of each group.
    pub firsts: Vec<usize>,
}

impl Groups {
    /// Numbers the groups anew: `order` has their numbers so far, in the new order.
    pub fn reorder(&mut self, order: &[usize]) {
        let mut ranks = vec![0; order.len()];
        for (rank, &group) in order.iter().enumerate() {
            ranks[group] = rank as u32;
        }
        threads().install(|| {
            let codes = self.codes.par_iter_mut().with_min_len(GRAIN);
            codes.for_each(|code| *code = ranks[*code as usize]);
        });
        self.firsts = order.iter().map(|&group| self.firsts[group]).collect();
    }
}

/// Labels in memory.
pub trait Labels: Sync {
    type Label<'a>: Copy + Eq + Hash + Send + Sync
    where
        Self: 'a;

    fn len(&self) -> usize;

    fn get(&self, index: usize) -> Self::Label<'_>;

    fn order(a: Self::Label<'_>, b: Self::Label<'_>) -> Ordering;
}

/// The order of groups.
#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    /// The order of the labels.
    Sorted,
    /// The order in which the labels appear.
    Appearance,
}

/// Groups equal labels. Parts follow each other.
pub fn grouped<L: Labels>(parts: &[L], order: Order) -> Groups {
    threads().install(|| {
        let count = parts.iter().map(Labels::len).sum::<usize>();
        let grain = count.div_ceil(rayon::current_num_threads()).max(GRAIN);
        let mut codes = vec![0; count];
        let mut jobs = Vec::new();
        let (mut rest, mut start) = (&mut codes[..], 0);
        for part in parts {
            for from in (0..part.len()).step_by(grain) {
                let range = from..part.len().min(from + grain);
                let (codes, others) = rest.split_at_mut(range.len());
                jobs.push((part, range, start + from, codes));
                rest = others;
            }
            start += part.len();
        }
        let hasher = RandomState::with_seeds(1, 2, 3, 4);
        let groups = jobs
            .into_par_iter()
            .map(|(part, range, start, codes)| {
                let distinct = distinct(part, range, start, codes, &hasher);
                (distinct, codes)
            })
            .collect::<Vec<_>>();
        let mut all = Distinct::default();
        let maps = groups.iter().map(|(local, _)| {
            let labels = local.labels.iter().zip(&local.firsts);
            let codes = labels.map(|(&label, &first)| all.code(&hasher, label, first));
            codes.collect::<Vec<_>>()
        });
        let maps = maps.collect::<Vec<_>>();
        let mut firsts = all.firsts;
        let mut ranks = (0..firsts.len() as u32).collect::<Vec<_>>();
        if order == Order::Sorted {
            let mut sorted = ranks.clone();
            let labels = &all.labels;
            sorted.par_sort_unstable_by(|&a, &b| L::order(labels[a as usize], labels[b as usize]));
            for (rank, &code) in sorted.iter().enumerate() {
                ranks[code as usize] = rank as u32;
            }
            firsts = sorted.iter().map(|&code| firsts[code as usize]).collect();
        }
        groups
            .into_par_iter()
            .zip(maps)
            .for_each(|((_, codes), map)| {
                for code in codes {
                    *code = ranks[map[*code as usize] as usize];
                }
            });
        Groups { codes, firsts }
    })
}

/// Different labels in the order of their appearance.
struct Distinct<K> {
    table: HashTable<(K, u32)>,
    labels: Vec<K>,
    firsts: Vec<usize>,
}

impl<K> Default for Distinct<K> {
    fn default() -> Distinct<K> {
        Distinct {
            table: HashTable::new(),
            labels: Vec::new(),
            firsts: Vec::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> Distinct<K> {
    /// Returns the number of a label, new or known.
    fn code(&mut self, hasher: &RandomState, label: K, first: usize) -> u32 {
        let hash = hasher.hash_one(label);
        if let Some(&(_, code)) = self.table.find(hash, |(known, _)| *known == label) {
            return code;
        }
        let code = self.labels.len() as u32;
        let hash_of = |(known, _): &(K, u32)| hasher.hash_one(known);
        self.table.insert_unique(hash, (label, code), hash_of);
        self.labels.push(label);
        self.firsts.push(first);
        code
    }
}

/// Writes the number of each label of a range, whose first is the label of point `start`.
fn distinct<'a, L: Labels>(
    labels: &'a L,
    range: Range<usize>,
    start: usize,
    codes: &mut [u32],
    hasher: &RandomState,
) -> Distinct<L::Label<'a>> {
    let mut distinct = Distinct::default();
    let mut latest = 0;
    // Guesses that have been right, less those that have been wrong.
    let mut luck = 64;
    for (offset, (index, code)) in range.zip(codes).enumerate() {
        let label = labels.get(index);
        if luck > 0 {
            // Often a series comes as a whole, or a point of each series in turn.
            let next = if latest + 1 < distinct.labels.len() {
                latest + 1
            } else {
                0
            };
            let guesses = [latest, next];
            let guess = guesses
                .into_iter()
                .find(|&guess| distinct.labels.get(guess) == Some(&label));
            luck = (luck + if guess.is_some() { 1 } else { -1 }).min(64);
            if let Some(guess) = guess {
                latest = guess;
                *code = latest as u32;
                continue;
            }
        }
        latest = distinct.code(hasher, label, start + offset) as usize;
        *code = latest as u32;
    }
    distinct
}
