//! Launches: what is refused, what a failure leaves behind, and what repeats.

mod common;

use common::{SEEDS, launch, slice_mut};
use cuda_std::host::{Dim3, LaunchConfig};
use cuda_std::prelude::*;
use simt::{Limits, SimError, Simulator};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[kernel]
unsafe fn nothing() {}

#[kernel(block = (16, 4))]
unsafe fn exact() {}

#[kernel(max_block = 96)]
unsafe fn bounded() {}

fn try_shape(
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
) -> Result<(), (&'static str, u64, u64)> {
    let config = LaunchConfig::new(grid, block);
    match launch(&Simulator::default(), &nothing, config, ()) {
        Ok(()) => Ok(()),
        Err(SimError::ZeroSize { what, .. }) => Err((what, 0, 0)),
        Err(SimError::LimitExceeded {
            what, value, limit, ..
        }) => Err((what, value, limit)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn shapes_are_checked() {
    for axis in 0..3 {
        let name = ["x", "y", "z"][axis];
        let mut shape = [1; 3];
        shape[axis] = 0;
        let zero = (shape[0], shape[1], shape[2]);
        let what = format!("size along {name}");
        let grid = try_shape(zero, (1, 1, 1)).unwrap_err();
        assert!(grid.0 == format!("the grid's {what}"), "{grid:?}");
        let block = try_shape((1, 1, 1), zero).unwrap_err();
        assert!(block.0 == format!("the block's {what}"), "{block:?}");
    }
    let refused = |grid, block| {
        let (_, value, limit) = try_shape(grid, block).unwrap_err();
        (value, limit)
    };
    let one = (1, 1, 1);
    assert_eq!(refused((1 << 31, 1, 1), one), (1 << 31, (1 << 31) - 1));
    assert_eq!(refused((1, 65_536, 1), one), (65_536, 65_535));
    assert_eq!(refused((1, 1, 65_536), one), (65_536, 65_535));
    assert_eq!(refused(one, (1025, 1, 1)), (1025, 1024));
    assert_eq!(refused(one, (1, 1025, 1)), (1025, 1024));
    assert_eq!(refused(one, (1, 1, 65)), (65, 64));
    assert_eq!(refused(one, (33, 32, 1)), (1056, 1024));
    assert_eq!(refused(one, (1024, 1024, 64)), (1 << 26, 1024));
    for block in [(1024, 1, 1), (1, 1024, 1), (4, 4, 64)] {
        try_shape(one, block).unwrap();
    }
    try_shape((1, 65_535, 1), one).unwrap();
}

#[test]
fn bounds_of_kernels_are_checked() {
    let simulator = Simulator::default();
    launch(&simulator, &exact, LaunchConfig::new(2, (16, 4)), ()).unwrap();
    for block in [(64, 1), (4, 16), (16, 3), (16, 5)] {
        let error = launch(&simulator, &exact, LaunchConfig::new(2, block), ()).unwrap_err();
        assert!(matches!(error, SimError::WrongBlock { .. }), "{error}");
        assert!(error.to_string().contains("exactly (16, 4, 1)"), "{error}");
    }
    for block in [(1, 1), (96, 1), (32, 3)] {
        launch(&simulator, &bounded, LaunchConfig::new(2, block), ()).unwrap();
    }
    let error = launch(&simulator, &bounded, LaunchConfig::new(2, 97), ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `bounded` cannot be launched with blocks of (97, 1, 1): it takes at most 96 threads"
    );
    // What `unwrap` and a `main` that returns the error print.
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn limits_can_be_lowered() {
    let mut limits = Limits::default();
    limits.block_threads = 256;
    let simulator = Simulator::default().limits(limits);
    launch(&simulator, &nothing, LaunchConfig::new(1, 256), ()).unwrap();
    let error = launch(&simulator, &nothing, LaunchConfig::new(1, 257), ()).unwrap_err();
    assert!(
        matches!(error, SimError::LimitExceeded { limit: 256, .. }),
        "{error}"
    );
}

#[kernel]
unsafe fn panics(block: u32, thread: u32) {
    if thread::block_idx_x() == block && thread::thread_idx_x() == thread {
        panic!("thread {thread} had enough");
    }
    thread::sync_threads();
}

#[test]
fn a_panic_names_its_thread() {
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let error = launch(&simulator, &panics, LaunchConfig::new(3, 40), (1, 33)).unwrap_err();
        let SimError::Panic {
            place,
            message,
            site,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(message, "thread 33 had enough");
        assert_eq!(place.block, Dim3::from((1, 0, 0)));
        assert_eq!(place.thread, Dim3::from((33, 0, 0)));
        assert_eq!(
            error.to_string(),
            format!(
                "kernel `panics`, block (1, 0, 0), thread (33, 0, 0) panicked at {}: thread 33 had enough",
                site.as_ref().unwrap()
            )
        );
    }
}

/// Panics with words that begin like those of a panic that ends the process.
#[kernel]
unsafe fn panics_in_words() {
    panic!("panic in a kernel");
}

#[test]
fn a_panic_names_its_place_whatever_it_says() {
    let config = LaunchConfig::new(1, 1);
    let error = launch(&Simulator::default(), &panics_in_words, config, ()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("launch.rs:"), "{error}");
}

static NESTED: AtomicUsize = AtomicUsize::new(0);

#[kernel]
unsafe fn launches() {
    let config = LaunchConfig::new(1, 1);
    if let Err(SimError::NestedLaunch { kernel: "nothing" }) =
        launch(&Simulator::default(), &nothing, config, ())
    {
        NESTED.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_kernel_cannot_launch_a_kernel() {
    launch(
        &Simulator::default(),
        &launches,
        LaunchConfig::new(2, 3),
        (),
    )
    .unwrap();
    assert_eq!(NESTED.load(SeqCst), 6);
}

static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// Something on a thread's stack that must be dropped.
struct Guard(#[allow(dead_code)] Vec<u8>);

impl Guard {
    fn new() -> Self {
        ALIVE.fetch_add(1, SeqCst);
        Self(vec![1; 10_000])
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, SeqCst);
        // A destructor may synchronise; while the thread unwinds, it must not wait.
        thread::sync_threads();
        warp::ballot(1 << warp::lane_id(), true);
    }
}

#[kernel]
unsafe fn fails(how: u32, data: DeviceSliceMut<u32>) {
    let tile = shared_array![u64; 1000];
    let _guard = Guard::new();
    thread::sync_threads();
    if thread::thread_idx_x() == 20 {
        // SAFETY: the mistakes are what the test is about.
        unsafe {
            match how {
                0 => data.set(data.len(), 0),
                1 => _ = warp::ballot(0, true),
                2 => _ = warp::ballot(warp::FULL_MASK, true),
                3 => return,
                _ => tile.write(0),
            }
        }
    }
    thread::sync_threads();
}

/// Bytes of memory that the process holds, where the system tells.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}

#[test]
fn a_thousand_failures_leave_nothing_behind() {
    let mut data = [0; 4];
    let mut simulator = Simulator::default();
    let mut before = 0;
    for round in 0..1000_u32 {
        simulator = simulator.seed(round.into()).parallel(round % 2 == 0);
        let args = (round % 4, slice_mut(&mut data));
        let error = launch(&simulator, &fails, LaunchConfig::new(4, 64), args).unwrap_err();
        match round % 4 {
            0 => assert!(matches!(error, SimError::OutOfBounds { .. }), "{error}"),
            1 => assert!(
                matches!(error, SimError::MaskWithoutCaller { .. }),
                "{error}"
            ),
            2 => assert!(matches!(error, SimError::LanesMissing { .. }), "{error}"),
            _ => assert!(
                matches!(error, SimError::DivergentBarrier { .. }),
                "{error}"
            ),
        }
        assert_eq!(ALIVE.load(SeqCst), 0);
        if round == 100 {
            before = resident();
        }
    }
    // A single launch that kept its guards' memory would keep 640 kB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "grown by {grown} bytes");
    let args = (4, slice_mut(&mut data));
    launch(&simulator, &fails, LaunchConfig::new(4, 64), args).unwrap();
}

/// Some blocks fail, each in its own way.
#[kernel]
unsafe fn some_fail(order: DeviceSliceMut<u32>) {
    let block = thread::block_idx_x();
    // SAFETY: `order` has an element more than there are blocks; the first is only touched by
    // atomics, and each position is drawn once.
    unsafe {
        if thread::thread_idx_x() == 0 {
            let position = atomic::add(order.address(0), 1);
            order.set(position as usize + 1, block);
        }
        if block % 7 == 3 && thread::thread_idx_x() == block % 32 {
            order.at(usize::MAX - block as usize);
        }
    }
}

#[test]
fn one_seed_gives_the_same_run_each_time() {
    let mut outcomes = Vec::new();
    for seed in SEEDS {
        let run = || {
            let mut order = vec![0; 101];
            let args = (slice_mut(&mut order),);
            let simulator = Simulator::with_seed(seed);
            let error = launch(&simulator, &some_fail, LaunchConfig::new(100, 32), args);
            (order, error.unwrap_err().to_string())
        };
        let outcome = run();
        assert_eq!(outcome, run());
        outcomes.push(outcome);
    }
    // In plain order, block 3 is the first to fail.
    assert_eq!(outcomes[0].0[..6], [4, 0, 1, 2, 3, 0]);
    outcomes.sort();
    outcomes.dedup();
    assert_eq!(outcomes.len(), SEEDS.count());
}

#[test]
fn launches_from_several_os_threads_do_not_mix() {
    std::thread::scope(|scope| {
        for seed in SEEDS {
            scope.spawn(move || {
                let simulator = Simulator::default().seed(seed);
                let config = LaunchConfig::new(20, 64);
                launch(&simulator, &panics, config, (99, 0)).unwrap();
                let error = launch(&simulator, &panics, config, (5, seed as u32)).unwrap_err();
                assert!(error.to_string().contains("block (5, 0, 0)"), "{error}");
            });
        }
    });
}

#[test]
fn launches_may_be_made_on_threads_of_rayon() {
    use rayon::prelude::*;
    let failed = (0..64_u32).into_par_iter().filter(|&block| {
        let config = LaunchConfig::new(32, 40);
        launch(&Simulator::default(), &panics, config, (block, 7)).is_err()
    });
    assert_eq!(failed.count(), 32);
}

#[test]
fn stacks_that_cannot_be_had_are_an_error() {
    for bytes in [1 << 60, usize::MAX] {
        let simulator = Simulator::default().stack_bytes(bytes);
        let error = launch(&simulator, &nothing, LaunchConfig::new(1, 8), ()).unwrap_err();
        assert!(
            matches!(error, SimError::Stacks { threads: 8, .. }),
            "{error}"
        );
    }
}

/// Takes so long that both OS threads begin.
#[kernel]
unsafe fn takes_time() {
    if thread::thread_idx_x() == 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// In a process of its own, whose memory has room for the stacks of one of two OS threads.
#[cfg(target_os = "linux")]
#[test]
fn one_os_thread_runs_all_blocks_if_others_get_no_stacks() {
    const VARIABLE: &str = "SIMT_TEST_FEW_STACKS";
    let run = |block| {
        let simulator = Simulator::default().stack_bytes(64 << 20);
        launch(&simulator, &takes_time, LaunchConfig::new(20, block), ())
    };
    if std::env::var_os(VARIABLE).is_some() {
        run(32).unwrap();
        let error = run(96).unwrap_err();
        assert!(matches!(error, SimError::Stacks { .. }), "{error}");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let test = "one_os_thread_runs_all_blocks_if_others_get_no_stacks";
    let output = std::process::Command::new("sh")
        // In KiB: stacks of 32 threads take 2 GiB.
        .args(["-c", "ulimit -v 3500000 && exec \"$0\" \"$@\""])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs([(VARIABLE, "1"), ("RAYON_NUM_THREADS", "2")])
        .output()
        .unwrap();
    let [out, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{errors}");
    assert!(out.contains("1 passed"), "{out}");
}

/// Follows a pointer to an address that is no multiple of the type's alignment.
#[kernel]
unsafe fn misaligned(numbers: DeviceSliceMut<u64>) {
    // SAFETY: the element is there, but the address is not aligned: debug assertions end the process.
    unsafe { *numbers.address(0).wrapping_byte_add(4) = 1 };
}

/// In a process of its own, which ends: what the standard library says reaches its output.
#[cfg(debug_assertions)]
#[test]
fn a_misaligned_pointer_ends_the_process_with_its_place() {
    const VARIABLE: &str = "SIMT_TEST_MISALIGNED";
    if std::env::var_os(VARIABLE).is_some() {
        let mut numbers = [0; 2];
        let config = LaunchConfig::new(1, 1);
        launch(
            &Simulator::default(),
            &misaligned,
            config,
            (slice_mut(&mut numbers),),
        )
        .unwrap();
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_misaligned_pointer_ends_the_process_with_its_place",
        ])
        .args(["--nocapture", "--test-threads=1"])
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for part in [
        "tests/launch.rs:",
        "misaligned pointer dereference",
        "multiple of 0x8",
    ] {
        assert!(errors.contains(part), "{errors}");
    }
}

/// Calls itself until the stack is 200 000 bytes deeper than `top`; the number of calls.
#[inline(never)]
fn deep(top: usize) -> u32 {
    let frame = std::hint::black_box([1_u32; 100]);
    if top - (&raw const frame as usize) > 200_000 {
        return 0;
    }
    deep(top) + frame[top % 100]
}

#[kernel]
unsafe fn recursive(out: DeviceSliceMut<u32>) {
    let top = std::hint::black_box(0_u8);
    // SAFETY: there is an element for each thread.
    unsafe { out.set(thread::global_index(), deep(&raw const top as usize)) };
}

#[test]
fn the_default_stack_holds_200_kb() {
    let mut out = [0; 64];
    let config = LaunchConfig::new(2, 32);
    launch(
        &Simulator::default(),
        &recursive,
        config,
        (slice_mut(&mut out),),
    )
    .unwrap();
    assert!(
        out[0] > 10 && out.iter().all(|&calls| calls == out[0]),
        "{out:?}"
    );
}
