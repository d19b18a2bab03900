//! Blocks that wait for what others write.

use cuda_std::host::LaunchConfig;
use cuda_std::prelude::*;
use simt::{SimError, Simulator};

/// Waits until something other than 0 stands at `address`.
unsafe fn wait_for(address: *mut u32) -> u32 {
    loop {
        // SAFETY: the caller's.
        let value = unsafe { atomic::load(address) };
        if value != 0 {
            return value;
        }
        thread::nanosleep(100);
    }
}

/// Passes a number on from block to block, in the order in which they begin.
#[kernel]
unsafe fn relay(ticket: DeviceSliceMut<u32>, places: DeviceSliceMut<u32>) {
    let mine = shared_array![u32; 1];
    // SAFETY: places for all blocks and one more, used atomically.
    unsafe {
        if thread::thread_idx_x() == 0 {
            mine.write(atomic::add(ticket.address(0), 1));
        }
        thread::sync_threads();
        let mine = mine.read() as usize;
        let last = thread::thread_idx_x() + 1 == thread::block_dim_x();
        if last {
            let before = wait_for(places.address(mine));
            assert!(before < 50, "it came to 50");
            atomic::store(places.address(mine + 1), before + 1);
        }
        thread::sync_threads();
    }
}

/// Each block waits for the one that begins after it.
#[kernel]
unsafe fn backwards(places: DeviceSliceMut<u32>) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: places for all blocks and one more, used atomically.
    unsafe {
        wait_for(places.address(block + 1));
        atomic::store(places.address(block), 1);
    }
}

fn slice(data: &mut [u32]) -> DeviceSliceMut<u32> {
    // SAFETY: it is used while the data is borrowed, below.
    unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) }
}

fn run_relay(simulator: Simulator, blocks: u32) -> (Vec<u32>, Result<(), SimError>) {
    let (mut ticket, mut places) = (vec![0], vec![0; blocks as usize + 1]);
    places[0] = 1;
    let arguments = (slice(&mut ticket), slice(&mut places));
    // SAFETY: a place for each block and one more.
    let result = unsafe { simulator.launch(&relay, LaunchConfig::new(blocks, 40), arguments) };
    (places, result)
}

#[test]
fn earlier_blocks_may_be_waited_for() {
    for seed in 0..20 {
        let (places, result) = run_relay(Simulator::default().seed(seed), 40);
        result.expect("each block waits for one that has begun");
        assert_eq!(places, (1..=41).collect::<Vec<_>>());
        let (_, result) = run_relay(Simulator::with_seed(seed), 40);
        result.expect("one after the other");
    }
}

#[test]
fn who_waits_is_stopped_by_the_failure_of_another() {
    let (_, result) = run_relay(Simulator::default(), 200);
    let error = result.expect_err("block 49 panics");
    assert!(error.to_string().contains("it came to 50"), "{error}");
}

#[test]
fn waiting_for_what_never_comes_is_found() {
    let mut places = vec![0; 301];
    let arguments = (slice(&mut places),);
    // SAFETY: a place for each block and one more.
    let result =
        unsafe { Simulator::default().launch(&backwards, LaunchConfig::new(300, 1), arguments) };
    let error = result.expect_err("the last ones never begin").to_string();
    assert!(error.contains("for what another thread writes"), "{error}");
    assert!(error.contains("waiting.rs"), "{error}");
}
