//! The one queue from which devices take work.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::device::{into_inner, lock};
use crate::{Device, Error, Result};

/// Runs `count` jobs on whichever device is free: `job` gets the device and the number of the job.
///
/// After an error no more jobs start. Of several errors, that of the first job is returned.
pub fn run(
    devices: &[Device],
    count: usize,
    job: &(dyn Fn(&Device, usize) -> Result<()> + Sync),
) -> Result<()> {
    if let [device] = devices {
        return (0..count).try_for_each(|index| job(device, index));
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let first_error: std::sync::Mutex<Option<(usize, Error)>> = std::sync::Mutex::default();
    let work_off = |device: &Device| {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            if let Err(error) = job(device, index) {
                failed.store(true, Ordering::Relaxed);
                let mut first = lock(&first_error);
                if first.as_ref().is_none_or(|&(earlier, _)| index < earlier) {
                    *first = Some((index, error));
                }
            }
        }
    };
    match rayon::current_thread_index() {
        // A thread of rayon that merely waited might be the one that the work waits for.
        Some(_) => rayon::scope(|scope| {
            for device in devices {
                scope.spawn(|_| work_off(device));
            }
        }),
        None => std::thread::scope(|scope| {
            for device in devices {
                scope.spawn(|| work_off(device));
            }
        }),
    }
    match into_inner(first_error) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}
