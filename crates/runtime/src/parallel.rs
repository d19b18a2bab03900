//! Parallel loops over rayon's threads, compiled once.
//!
//! An iterator of rayon is compiled for each place and type that uses it, dozens of functions each.
//! Here the loop is a single function that calls its body through `&dyn Fn`: tasks are coarse, so
//! an indirect call per task costs nothing. Tasks and rayon's threads may call all functions.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::ops::Range;

use ndarray::Axis;
use rayon::prelude::*;

use crate::Result;
use crate::device::{Aside, collected, into_inner, lock};

/// Calls `task` with each number below `tasks`. Neighbours are mostly called by the same thread.
pub fn for_each(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    match tasks {
        0 => {}
        1 => task(0),
        _ => {
            let _aside = Aside::new();
            (0..tasks).into_par_iter().for_each(task);
        }
    }
}

/// Calls `task` with each number below `tasks`, in ascending order: with the longest tasks first,
/// no thread is left alone at the end.
fn for_each_in_order(tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    for_each(rayon::current_num_threads().min(tasks), &|_| {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|&number| number < tasks).for_each(task);
    });
}

/// A loop such as [`for_each`].
type Loop = fn(usize, &(dyn Fn(usize) + Sync));

/// Calls `task` with each number below `tasks`, and returns what the lowest number finds.
fn find_in<T: Send>(
    run: Loop,
    tasks: usize,
    task: &(dyn Fn(usize) -> Option<T> + Sync),
) -> Option<T> {
    let (lowest, first) = (AtomicUsize::new(tasks), Mutex::new(None));
    run(tasks, &|number| {
        if number < lowest.load(Ordering::Relaxed)
            && let Some(result) = task(number)
        {
            let mut first = lock(&first);
            if number < lowest.fetch_min(number, Ordering::Relaxed) {
                *first = Some(result);
            }
        }
    });
    into_inner(first)
}

/// Returns what `search` finds in the lowest task that finds something.
pub fn find_first(tasks: usize, search: &(dyn Fn(usize) -> Option<usize> + Sync)) -> Option<usize> {
    find_in(for_each, tasks, search)
}

/// Calls `task` with each number below `tasks`. Returns the error of the lowest that fails.
fn try_in(run: Loop, tasks: usize, task: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    find_in(run, tasks, &|number| task(number).err()).map_or(Ok(()), Err)
}

/// Runs `a` and `b`, on two threads if one is idle.
pub fn join(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    let _aside = Aside::new();
    rayon::join(a, b);
}

/// Runs `main` on this thread, and `side` on another thread if one is idle. Returns both results.
///
/// Captures are recorded for each thread, so that calls of a device have to stay on theirs;
/// [`join`] may move both.
pub fn beside<A: Send, B>(side: impl FnOnce() -> A + Send, main: impl FnOnce() -> B) -> (A, B) {
    let (mut side, mut main) = (Some(side), Some(main));
    let (mut from_side, mut from_main) = (None, None);
    run_beside(
        &mut || from_side = side.take().map(|side| side()),
        &mut || from_main = main.take().map(|main| main()),
    );
    let both = from_side.zip(from_main);
    both.expect("both have run")
}

fn run_beside(side: &mut (dyn FnMut() + Send), main: &mut dyn FnMut()) {
    let _aside = rayon::in_place_scope(|scope| {
        scope.spawn(|_| side());
        main();
        // Set aside only while this thread waits for `side`.
        Aside::new()
    });
}

/// Calls `task` with each item.
///
/// ```
/// let mut elements = [1, 2, 3, 4, 5];
/// gridstride_runtime::parallel::each(elements.chunks_mut(2), |chunk| chunk.reverse());
/// assert_eq!(elements, [2, 1, 4, 3, 5]);
/// ```
pub fn each<T: Send>(items: impl IntoIterator<Item = T>, task: impl Fn(T) + Sync) {
    let items = Slots::full(items);
    for_each(items.len(), &|number| task(items.take(number)));
}

/// Calls `task` with each item. Returns the error of the first item that fails.
pub fn try_each<T: Send>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    task: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let items = Slots::try_full(items.into_iter())?;
    try_in(for_each, items.len(), &|number| task(items.take(number)))
}

/// As [`try_each`], but starts the tasks in order: with the longest first, no thread is left alone at
/// the end.
pub fn try_each_in_order<T: Send>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    task: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let items = Slots::try_full(items.into_iter())?;
    try_in(for_each_in_order, items.len(), &|number| {
        task(items.take(number))
    })
}

/// Returns the results of `task` for all items, in order.
pub fn map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    task: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items = Slots::full(items);
    let results = Slots::empty(items.len());
    for_each(items.len(), &|number| {
        results.put(number, task(items.take(number)));
    });
    results.into_vec()
}

/// As [`map`]. Returns the error of the first item that fails.
pub fn try_map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    task: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let items = Slots::try_full(items.into_iter())?;
    let results = Slots::try_empty(items.len())?;
    try_in(for_each, items.len(), &|number| {
        results.put(number, task(items.take(number))?);
        Ok(())
    })?;
    Ok(results.into_vec())
}

/// The items of tasks, or their results, each behind a lock of its task.
#[doc(hidden)]
pub struct Slots<T>(Vec<Mutex<Option<T>>>);

impl<T> Slots<T> {
    /// Slots with an item each.
    pub fn full(items: impl IntoIterator<Item = T>) -> Self {
        let slots = items.into_iter().map(|item| Mutex::new(Some(item)));
        Slots(slots.collect())
    }

    fn try_full(items: impl ExactSizeIterator<Item = T>) -> Result<Self> {
        collected(items.map(|item| Mutex::new(Some(item)))).map(Slots)
    }

    fn try_empty(count: usize) -> Result<Self> {
        collected((0..count).map(|_| Mutex::default())).map(Slots)
    }

    /// `count` slots without an item.
    pub fn empty(count: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(count, Mutex::default);
        Slots(slots)
    }

    /// Returns the number of slots.
    #[expect(clippy::len_without_is_empty, reason = "tasks are numbered below it")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes an item out.
    ///
    /// # Panics
    /// Panics if the slot has no item.
    pub fn take(&self, number: usize) -> T {
        lock(&self.0[number]).take().expect("taken once")
    }

    /// Puts an item in.
    pub fn put(&self, number: usize, value: T) {
        *lock(&self.0[number]) = Some(value);
    }

    /// Returns all items.
    ///
    /// # Panics
    /// Panics if a slot has no item.
    pub fn into_vec(self) -> Vec<T> {
        let value = |slot: Mutex<Option<T>>| into_inner(slot).expect("every task has run");
        self.0.into_iter().map(value).collect()
    }
}

/// Returns the range of a chunk of `size` elements among `length` elements.
#[inline]
pub fn chunk(number: usize, size: usize, length: usize) -> Range<usize> {
    let start = number * size;
    start..length.min(start + size)
}

/// Returns the axis along which to cut an array, and the length of chunks of `elements` elements.
pub fn cut(shape: &[usize], elements: usize) -> (Axis, usize) {
    let lengths = shape.iter().enumerate();
    let longest = lengths.max_by_key(|(_, length)| **length);
    let (axis, &length) = longest.unwrap_or((0, &1));
    let others = shape.iter().product::<usize>() / length.max(1);
    (Axis(axis), (elements / others.max(1)).max(1))
}

/// Values that tasks borrow: one for each task that runs at the same time.
#[doc(hidden)]
pub struct Scratch<S>(Mutex<Vec<S>>);

impl<S: Default> Scratch<S> {
    /// No values yet; tasks make them.
    #[expect(clippy::new_without_default, reason = "as `Slots`, which has none")]
    pub fn new() -> Self {
        Scratch(Mutex::new(Vec::new()))
    }

    /// Runs `work` with a value that no other task has.
    pub fn with<R>(&self, work: impl FnOnce(&mut S) -> R) -> R {
        let mut scratch = lock(&self.0).pop().unwrap_or_default();
        let result = work(&mut scratch);
        lock(&self.0).push(scratch);
        result
    }
}

/// Sorts numbers.
pub fn sort(numbers: &mut [u64]) {
    let _aside = Aside::new();
    numbers.par_sort_unstable();
}

/// Sorts numbers by some of their bits, stably.
pub fn sort_by_bits(numbers: &mut [u64], bits: Range<u32>) {
    let (mask, _aside) = (mask(&bits), Aside::new());
    numbers.par_sort_by_key(|number| number & mask);
}

/// Sorts pairs by some of the bits of their first number, stably.
pub fn sort_pairs_by_bits(pairs: &mut [[u64; 2]], bits: Range<u32>) {
    let (mask, _aside) = (mask(&bits), Aside::new());
    pairs.par_sort_by_key(|pair| pair[0] & mask);
}

/// Returns a number whose bits in a range are 1, and all others 0.
fn mask(bits: &Range<u32>) -> u64 {
    match bits.len() {
        0 => 0,
        count => u64::MAX >> (u64::BITS as usize - count) << bits.start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn every_item_comes_once() {
        for length in [0, 1, 2, 5, 1000] {
            for size in [1, 3, 999, 1001] {
                let mut elements = vec![0; length];
                each(elements.chunks_mut(size).enumerate(), |(number, chunk)| {
                    chunk.iter_mut().for_each(|element| *element += number + 1);
                });
                assert!((0..length).all(|i| elements[i] == i / size + 1));
            }
            let count = AtomicUsize::new(0);
            for_each_in_order(length, &|number| {
                count.fetch_add(number + 1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), length * (length + 1) / 2);
        }
    }

    #[test]
    fn the_first_place_and_the_first_error_are_found() {
        let find = |from: usize| find_first(1000, &|i| (i >= from).then_some(10 * i));
        assert_eq!([0, 700, 1000].map(find), [Some(0), Some(7000), None]);
        let fail = |i: usize| match i {
            300.. => Err(Error::input("test", i.to_string())),
            _ => Ok(i),
        };
        let error = try_map(0..1000, fail).unwrap_err();
        assert!(error.to_string().contains("300"));
        assert_eq!(try_map(0..300, fail).unwrap(), (0..300).collect::<Vec<_>>());
    }

    #[test]
    fn loops_within_loops_end() {
        let sum = |sums: Vec<usize>| sums.into_iter().sum::<usize>();
        let sums = map(0..100, |i| sum(map(0..100, |j| i * j)));
        assert_eq!(sum(sums), 4950 * 4950);
    }
}
