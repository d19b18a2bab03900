//! Vector clocks: how far each thread's accesses have happened before a thread's next one.

use std::collections::BTreeMap;
use std::rc::Rc;

/// The times of a block's threads.
type Times = Rc<Vec<u32>>;

/// The times of all threads that have happened before something. Clones share their content.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Rc<BTreeMap<u32, Times>>);

impl Clock {
    /// Returns the time until which a thread's accesses have happened before.
    pub(super) fn of(&self, block: u32, thread: u16) -> u32 {
        self.0
            .get(&block)
            .map_or(0, |times| times[usize::from(thread)])
    }

    /// Adds what has happened before `other`.
    pub(super) fn join(&mut self, other: &Self) {
        if Rc::ptr_eq(&self.0, &other.0) || other.0.is_empty() {
            return;
        }
        if self.0.is_empty() {
            self.0 = Rc::clone(&other.0);
            return;
        }
        for (&block, theirs) in &*other.0 {
            match self.0.get(&block) {
                Some(ours) if is_later(ours, theirs) => continue,
                _ => {}
            }
            let ours = Rc::make_mut(&mut self.0);
            match ours.get_mut(&block) {
                None => drop(ours.insert(block, Rc::clone(theirs))),
                Some(ours) => {
                    let ours = Rc::make_mut(ours);
                    for (ours, theirs) in ours.iter_mut().zip(&**theirs) {
                        *ours = (*ours).max(*theirs);
                    }
                }
            }
        }
    }

    /// Sets the times of threads of a block with `threads` threads.
    pub(super) fn set(
        &mut self,
        block: u32,
        threads: usize,
        times: impl Iterator<Item = (usize, u32)>,
    ) {
        let blocks = Rc::make_mut(&mut self.0);
        let known = blocks
            .entry(block)
            .or_insert_with(|| Rc::new(vec![0; threads]));
        let known = Rc::make_mut(known);
        for (thread, time) in times {
            known[thread] = time;
        }
    }
}

/// Whether `ours` has all of `theirs`.
fn is_later(ours: &Times, theirs: &Times) -> bool {
    Rc::ptr_eq(ours, theirs)
        || ours
            .iter()
            .zip(&**theirs)
            .all(|(ours, theirs)| ours >= theirs)
}
