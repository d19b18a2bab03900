//! The latest accesses to each byte of memory.

use cuda_std::host::{AccessKind, AccessSite};
use cuda_std::warp::WARP_SIZE;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// Bytes whose accesses are listed together.
const GRANULE: usize = 8;
/// Granules of a page.
const PAGE: usize = 512;

/// An access that later ones are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) block: u32,
    pub(super) thread: u16,
    /// A bit for each byte of the granule.
    mask: u8,
    pub(super) kind: AccessKind,
    /// The thread's time.
    pub(super) time: u32,
    pub(super) site: AccessSite,
}

impl Record {
    pub(super) fn new(
        block: u32,
        thread: u16,
        kind: AccessKind,
        time: u32,
        site: AccessSite,
    ) -> Self {
        Self {
            block,
            thread,
            mask: 0,
            kind,
            time,
            site,
        }
    }

    fn is_by(&self, other: &Self) -> bool {
        self.thread == other.thread && self.block == other.block
    }
}

/// The accesses to the granules of a page.
type Page = Box<[Vec<Record>; PAGE]>;

/// Mixes the number of a page, much faster than the standard library's hash.
#[derive(Default)]
struct OfPage(u64);

impl Hasher for OfPage {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The latest accesses to some memory.
#[derive(Default)]
pub(super) struct Shadow {
    pages: HashMap<usize, Page, BuildHasherDefault<OfPage>>,
}

impl Shadow {
    /// Records an access to `bytes`. Returns an earlier access that conflicts with it and for which
    /// `is_before` is false.
    pub(super) fn access(
        &mut self,
        bytes: Range<usize>,
        mut new: Record,
        is_before: impl Fn(&Record) -> bool,
    ) -> Option<Record> {
        let mut race = None;
        let mut from = bytes.start;
        while from < bytes.end {
            let granule = from / GRANULE;
            let to = bytes.end.min((granule + 1) * GRANULE);
            new.mask = (u8::MAX >> (GRANULE - (to - from))) << (from % GRANULE);
            let page = self
                .pages
                .entry(granule / PAGE)
                .or_insert_with(|| Box::new([const { Vec::new() }; PAGE]));
            let raced = add(&mut page[granule % PAGE], new, &is_before);
            race = race.or(raced);
            from = to;
        }
        race
    }

    /// Forgets the accesses to `bytes`, which begin and end at multiples of 8 bytes.
    pub(super) fn forget(&mut self, bytes: Range<usize>) {
        for granule in bytes.start / GRANULE..bytes.end.div_ceil(GRANULE) {
            if let Some(page) = self.pages.get_mut(&(granule / PAGE)) {
                page[granule % PAGE].clear();
            }
        }
    }
}

/// Adds an access to those of a granule. Returns one that races with it.
fn add(
    records: &mut Vec<Record>,
    new: Record,
    is_before: &impl Fn(&Record) -> bool,
) -> Option<Record> {
    // Any race with it has been found.
    let is_same = |old: &Record| {
        old.is_by(&new) && (old.time, old.kind, old.mask) == (new.time, new.kind, new.mask)
    };
    if records.iter().any(is_same) {
        return None;
    }
    let mut race = None;
    records.retain(|old| {
        if old.mask & new.mask == 0 {
            return true;
        }
        let is_before = old.is_by(&new) || is_before(old);
        if !is_before && conflict(old.kind, new.kind) {
            race = race.or(Some(*old));
        }
        !(is_before && old.mask & !new.mask == 0 && replaces(new.kind, old.kind))
    });
    match similar(records, &new) {
        Some(index) => records[index] = new,
        None => records.push(new),
    }
    race
}

fn conflict(a: AccessKind, b: AccessKind) -> bool {
    use AccessKind::*;
    matches!(
        (a, b),
        (Write, _) | (_, Write) | (Read, AtomicWrite) | (AtomicWrite, Read)
    )
}

/// Whether each later access that conflicts with `old` also conflicts with `new`, which comes
/// after `old`.
fn replaces(new: AccessKind, old: AccessKind) -> bool {
    use AccessKind::*;
    match new {
        Write => true,
        AtomicWrite => matches!(old, AtomicWrite | AtomicRead),
        Read => matches!(old, Read | AtomicRead),
        AtomicRead => old == AtomicRead,
    }
}

/// Returns the access that a new one of many at the same time takes the place of. Of these, four
/// are enough for nearly all later races: the first, and one each of a thread of the same warp, of
/// another warp and of another block.
fn similar(records: &[Record], new: &Record) -> Option<usize> {
    let distance = |first: &Record, other: &Record| match () {
        () if first.block != other.block => 2,
        () if u32::from(first.thread) / WARP_SIZE != u32::from(other.thread) / WARP_SIZE => 1,
        () => 0,
    };
    let mut alike = records.iter().enumerate();
    let is_alike = |(_, old): &(usize, &Record)| old.kind == new.kind && old.mask == new.mask;
    let (_, first) = alike.find(is_alike)?;
    let (index, _) =
        alike.find(|one| is_alike(one) && distance(first, one.1) == distance(first, new))?;
    Some(index)
}
