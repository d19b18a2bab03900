//! The queue of partitions under many orders of the devices' threads.

use super::run_each;
use crate::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use crate::{Device, Error, Result};

const PARTITIONS: usize = 5;

/// Runs numbers as partitions on three devices. Returns the results, and how often each ran.
fn run(fails: &'static [usize]) -> (Result<Vec<usize>>, [usize; PARTITIONS]) {
    let devices = vec![Device::cpu(); 3];
    let ran: [AtomicUsize; PARTITIONS] = Default::default();
    let results = run_each(
        &devices,
        (0..PARTITIONS).collect(),
        &|_, number, results| {
            ran[number].fetch_add(1, SeqCst);
            if fails.contains(&number) {
                return Err(Error::input("model", number.to_string()));
            }
            results.extend([10 * number, 10 * number + 1]);
            Ok(())
        },
    );
    (results, ran.map(AtomicUsize::into_inner))
}

#[test]
fn each_partition_runs_once_and_results_are_in_order() {
    let model = || {
        let (results, ran) = run(&[]);
        assert_eq!(ran, [1; PARTITIONS]);
        assert_eq!(results.unwrap(), [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
    };
    shuttle::check_random(model, 2000);
}

#[test]
fn the_first_error_is_returned_and_ends_the_work() {
    let model = || {
        let (results, ran) = run(&[1, 2]);
        assert_eq!(results.unwrap_err().to_string(), "model: 1");
        assert!(ran.iter().all(|&times| times <= 1) && ran[1] == 1);
        // A device takes no partition after its own error, and the others at most one.
        let after_errors = ran[3..].iter().sum::<usize>();
        assert!(after_errors <= 2, "{ran:?}");
    };
    shuttle::check_random(model, 2000);
}
