//! Many threads make all calls at once, on each device and on several of its kind.
//!
//! `GRIDSTRIDE_TEST_SECONDS` sets how long, for example 600. GPUs take this time with one, with two
//! and with four of them.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use gridstride::Device;

use crate::common::calls::{CALLS, Data};
use crate::common::{Random, devices, several};

const THREADS: u64 = 16;

#[test]
fn many_threads_make_all_calls_at_once() {
    let seconds = std::env::var("GRIDSTRIDE_TEST_SECONDS");
    let seconds: f64 = seconds.map_or(2.0, |seconds| seconds.parse().unwrap());
    let data = [3, 12, 40].map(Data::new);
    let cpu = [Device::cpu()];
    let expected = data.each_ref().map(|data| {
        let results = CALLS.iter().map(|call| (call.run)(data, &cpu).unwrap());
        results.collect::<Vec<_>>()
    });
    let sets: Vec<Vec<Device>> = devices()
        .iter()
        .flat_map(|device| [1, 2, 4].map(|count| several(device, count)))
        .collect();
    let each = Duration::from_secs_f64(seconds / sets.len() as f64);
    for set in &sets {
        let (start, calls) = (Instant::now(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let (data, expected, calls) = (&data, &expected, &calls);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    while start.elapsed() < each {
                        let size = random.within(0, data.len() as i64) as usize;
                        let index = random.within(0, CALLS.len() as i64) as usize;
                        // Calls on device arrays take the first.
                        let first = random.within(0, set.len() as i64) as usize;
                        let turned = [&set[first..], &set[..first]].concat();
                        let found = (CALLS[index].run)(&data[size], &turned).unwrap();
                        let name = CALLS[index].name;
                        assert_eq!(found, expected[size][index], "{name} on {turned:?}");
                        calls.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        let calls = calls.into_inner();
        eprintln!("{calls} calls on {set:?} in {:.1?}", start.elapsed());
        assert!(calls >= THREADS as usize);
    }
}
