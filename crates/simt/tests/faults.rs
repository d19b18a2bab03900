//! Accesses to memory that a thread does not have, and threads that use up their stack or never wait.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    // It also notices races and reads of guard zones: its own tests are in race.rs.
    not(feature = "race-detector")
))]

mod common;

use common::{SEEDS, launch, slice_mut};
use cuda_std::host::{Dim3, KernelArgs, LaunchConfig};
use cuda_std::prelude::*;
use simt::{
    Accessed, Damage, Elements, GlobalBuffer, GlobalMemory, Place, Side, SimError, Simulator,
};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Whether the processor tells reads from writes.
const TELLS: bool = cfg!(target_arch = "x86_64");

#[track_caller]
fn no_memory(error: SimError) -> (Place, &'static str, Accessed) {
    match error {
        SimError::NoMemory {
            place,
            access,
            memory,
            ..
        } => (place, access, *memory),
        other => panic!("{other}"),
    }
}

fn along_x(x: u32) -> Dim3 {
    Dim3 { x, y: 0, z: 0 }
}

fn expected(access: &'static str) -> &'static str {
    if TELLS { access } else { "access" }
}

/// Thread 3 of block 1 accesses an element of a shared array that is not there.
#[kernel]
unsafe fn shared_element(index: isize, writes: bool, out: DeviceSliceMut<u32>) {
    let array = shared_array![u32; 256];
    if (thread::block_idx_x(), thread::thread_idx_x()) == (1, 3) {
        let element = array.wrapping_offset(index);
        // SAFETY: not given, which the test is about.
        unsafe {
            match writes {
                true => element.write(1),
                false => out.set(0, element.read()),
            }
        }
    }
}

#[test]
fn accesses_past_the_end_of_shared_arrays_name_the_thread() {
    let mut out = [0];
    for seed in SEEDS {
        for (parallel, writes) in [(false, false), (false, true), (true, false), (true, true)] {
            let simulator = Simulator::default().seed(seed).parallel(parallel);
            for index in [256, 257, 5000] {
                let (config, arguments) = (
                    LaunchConfig::new(4, 32),
                    (index, writes, slice_mut(&mut out)),
                );
                let error = launch(&simulator, &shared_element, config, arguments).unwrap_err();
                let (place, access, memory) = no_memory(error);
                assert_eq!(place.kernel, "shared_element");
                assert_eq!((place.block, place.thread), (along_x(1), along_x(3)));
                assert_eq!(access, expected(if writes { "write" } else { "read" }));
                let (what, bytes) = ("a static shared array", 1024);
                assert_eq!(
                    memory,
                    Accessed::Shared {
                        what,
                        bytes,
                        byte: 4 * index
                    }
                );
            }
        }
    }
}

/// What alignment leaves before an array is a zone of bytes that must not change.
#[test]
fn accesses_before_shared_arrays_are_found() {
    let mut out = [0];
    let mut run = |index, writes| {
        let (config, arguments) = (
            LaunchConfig::new(2, 32),
            (index, writes, slice_mut(&mut out)),
        );
        launch(&Simulator::with_seed(3), &shared_element, config, arguments)
    };
    run(-1, false).unwrap();
    match run(-1, true).unwrap_err() {
        SimError::SharedOverrun {
            side: Side::Before,
            bytes: 1024,
            block,
            ..
        } => {
            assert_eq!(block.x, 1);
        }
        other => panic!("{other}"),
    }
    // Before the page of the array.
    for writes in [false, true] {
        let (_, _, memory) = no_memory(run(-5000, writes).unwrap_err());
        assert!(
            matches!(memory, Accessed::Shared { byte: -20_000, .. }),
            "{memory}"
        );
    }
}

/// Accesses an element of global memory.
#[kernel]
unsafe fn global_element(data: *mut f32, index: isize, writes: bool, out: DeviceSliceMut<f32>) {
    if thread::global_index() == 40 {
        let element = data.wrapping_offset(index);
        // SAFETY: not given, which the test is about.
        unsafe {
            match writes {
                true => element.write(1.0),
                false => out.set(0, element.read()),
            }
        }
    }
}

fn access(
    memory: &GlobalMemory,
    buffer: *mut u8,
    index: isize,
    writes: bool,
) -> (Result<(), SimError>, f32) {
    let mut out = [0.0];
    let arguments = (buffer.cast(), index, writes, slice_mut(&mut out));
    let simulator = Simulator::with_seed(0);
    // SAFETY: a mistake that the simulator finds.
    let result = unsafe {
        simulator.launch_in(memory, &global_element, LaunchConfig::new(2, 32), arguments)
    };
    (result, out[0])
}

#[test]
fn accesses_beside_buffers_are_found() {
    let memory = GlobalMemory::new();
    // 100 floats are followed by 112 bytes of a zone, 64 by a page that cannot be accessed.
    let (first, second) = (
        memory.allocate::<f32>(100).unwrap(),
        memory.allocate::<f32>(64).unwrap(),
    );
    let of = |count| Elements { name: "f32", count };
    let (result, _) = access(&memory, first.as_mut_ptr(), 99, true);
    result.unwrap();
    // New memory and zones are NaN.
    for index in [0, 98, 100, 127, -1] {
        let (result, value) = access(&memory, first.as_mut_ptr(), index, false);
        result.unwrap();
        assert!(value.is_nan(), "{index}");
    }
    for (index, side) in [
        (100, Side::Behind),
        (127, Side::Behind),
        (-1, Side::Before),
        (-200, Side::Before),
    ] {
        let (result, _) = access(&memory, first.as_mut_ptr(), index, true);
        match result.unwrap_err() {
            SimError::BufferDamage {
                kernel,
                buffer,
                damage: Damage::Beside(found, byte),
            } => {
                assert_eq!((kernel, buffer, found), ("global_element", of(100), side));
                // A byte of the element: others may have been the same.
                assert!((4 * index..4 * index + 4).contains(&byte), "{byte}");
            }
            other => panic!("{other}"),
        }
        // Reported once.
        access(&memory, first.as_mut_ptr(), 0, true).0.unwrap();
    }
    for (index, writes) in [(64, false), (64, true), (60_000, true), (-3000, false)] {
        let (result, _) = access(&memory, second.as_mut_ptr(), index, writes);
        let (place, name, accessed) = no_memory(result.unwrap_err());
        assert_eq!((place.block.x, place.thread.x), (1, 8));
        assert_eq!(name, expected(if writes { "write" } else { "read" }));
        assert_eq!(
            accessed,
            Accessed::Buffer {
                buffer: of(64),
                byte: 4 * index
            }
        );
    }
}

#[test]
fn accesses_to_freed_buffers_are_found() {
    let memory = GlobalMemory::new();
    let buffers: Vec<GlobalBuffer> = (0..20)
        .map(|_| memory.allocate::<f32>(64).unwrap())
        .collect();
    let addresses: Vec<_> = buffers.iter().map(GlobalBuffer::as_mut_ptr).collect();
    drop(buffers);
    // Their addresses are not used again.
    let _others: Vec<_> = (0..20)
        .map(|_| memory.allocate::<f32>(64).unwrap())
        .collect();
    for (&address, writes) in addresses.iter().zip([false, true].into_iter().cycle()) {
        let (result, _) = access(&memory, address, 5, writes);
        let (_, _, accessed) = no_memory(result.unwrap_err());
        let buffer = Elements {
            name: "f32",
            count: 64,
        };
        assert_eq!(accessed, Accessed::Freed { buffer, byte: 20 });
    }
}

/// What was written when no kernel ran is found by the next launch, also if the buffer is freed.
#[test]
fn writes_of_the_host_are_found() {
    let memory = GlobalMemory::new();
    let (first, second) = (
        memory.allocate::<u8>(10).unwrap(),
        memory.allocate::<f32>(64).unwrap(),
    );
    // SAFETY: a byte of the zone behind the buffer.
    unsafe { first.as_mut_ptr().add(10).write(7) };
    drop(first);
    let (result, _) = access(&memory, second.as_mut_ptr(), 0, true);
    let message =
        "kernel `global_element`: something wrote past the end of a buffer of 10 u8, at byte 10";
    assert_eq!(result.unwrap_err().to_string(), message);
}

#[test]
fn null_pointers_are_found() {
    let memory = GlobalMemory::new();
    let (result, _) = access(&memory, std::ptr::null_mut(), 2, false);
    let error = result.unwrap_err().to_string();
    let end = "at the address 0x8, where there is no memory";
    assert!(
        error.starts_with("kernel `global_element`, block (1, 0, 0), thread (8, 0, 0): "),
        "{error}"
    );
    assert!(error.ends_with(end), "{error}");
}

#[kernel]
unsafe fn recursive(depth: u32, out: DeviceSliceMut<u32>) {
    #[expect(unconditional_recursion, reason = "it is the mistake")]
    fn down(depth: u32) -> u32 {
        let array = black_box([depth; 64]);
        array[(depth % 64) as usize] + down(depth + 1)
    }
    if thread::thread_idx_x() == 7 {
        // SAFETY: there is an element.
        unsafe { out.set(0, down(depth)) };
    }
}

#[kernel]
unsafe fn large_array(out: DeviceSliceMut<u32>) {
    let mut array = [0_u32; 1 << 18];
    black_box(&mut array)[thread::thread_idx_x() as usize] = 1;
    // SAFETY: there is an element.
    unsafe { out.set(0, array[0]) };
}

#[test]
fn stacks_end() {
    fn fails<A: KernelArgs>(kernel: &cuda_std::host::Kernel<A>, arguments: A) -> (Place, usize) {
        let simulator = Simulator::default().stack_bytes(64 << 10);
        match launch(&simulator, kernel, LaunchConfig::new(2, 32), arguments).unwrap_err() {
            SimError::StackOverflow { place, bytes, .. } => (place, bytes),
            other => panic!("{other}"),
        }
    }
    for _ in 0..20 {
        let mut out = [0];
        let (place, bytes) = fails(&recursive, (1, slice_mut(&mut out)));
        assert_eq!((place.thread.x, bytes), (7, 64 << 10));
        let (place, _) = fails(&large_array, (slice_mut(&mut out),));
        assert_eq!((place.kernel, place.thread.x), ("large_array", 0));
        // The stacks are used again.
        let simulator = Simulator::default().stack_bytes(4 << 20);
        let config = LaunchConfig::new(2, 32);
        launch(&simulator, &large_array, config, (slice_mut(&mut out),)).unwrap();
    }
}

/// Other threads of a failed block are unwound, and the values of the thread that failed are lost.
#[kernel]
unsafe fn drops(count: DeviceSliceMut<u32>) {
    struct Counts(DeviceSliceMut<u32>);
    impl Drop for Counts {
        fn drop(&mut self) {
            // SAFETY: there is an element, and all accesses are atomic.
            unsafe { atomic::add(self.0.address(0), 1) };
        }
    }
    let _counts = Counts(count);
    if thread::thread_idx_x() == 2 {
        // SAFETY: not given, which the test is about.
        unsafe { black_box(std::ptr::null_mut::<u32>()).write_volatile(1) };
    }
    thread::sync_threads();
}

#[test]
fn other_threads_are_unwound() {
    let mut count = [0];
    let simulator = Simulator::with_seed(0);
    let error = launch(
        &simulator,
        &drops,
        LaunchConfig::new(1, 8),
        (slice_mut(&mut count),),
    );
    no_memory(error.unwrap_err());
    assert_eq!(count, [2]);
}

/// Waits for thread 1 without letting it run.
#[kernel(block = 2)]
unsafe fn spins(flag: DeviceSliceMut<u32>) {
    // SAFETY: all accesses are atomic.
    unsafe {
        match thread::thread_idx_x() {
            0 => while atomic::load(flag.address(0)) == 0 {},
            _ => _ = atomic::exchange(flag.address(0), 1),
        }
    }
}

#[test]
#[cfg(target_env = "gnu")]
fn threads_that_never_wait_are_ended() {
    let begin = Instant::now();
    for parallel in [false, true] {
        let limit = Duration::from_millis(300);
        let simulator = Simulator::default().parallel(parallel).spin_limit(limit);
        let mut flag = [0];
        let error = launch(
            &simulator,
            &spins,
            LaunchConfig::new(3, 2),
            (slice_mut(&mut flag),),
        );
        match error.unwrap_err() {
            SimError::Spinning { place, time, .. } => {
                assert_eq!((place.kernel, place.thread.x, time), ("spins", 0, limit));
            }
            other => panic!("{other}"),
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// Accesses a null pointer while the thread unwinds, which ends the process.
#[kernel]
unsafe fn drops_badly() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            // SAFETY: not given, which the test is about.
            unsafe { black_box(std::ptr::null_mut::<u32>()).write_volatile(1) };
        }
    }
    let _bad = (thread::thread_idx_x() == 5).then(|| Bad);
    assert_ne!(thread::thread_idx_x(), 5, "on purpose");
}

#[test]
fn faults_of_destructors_are_printed() {
    const VARIABLE: &str = "FAULT_OF_A_DESTRUCTOR";
    if std::env::var_os(VARIABLE).is_some() {
        let config = LaunchConfig::new(1, 8);
        _ = launch(&Simulator::default(), &drops_badly, config, ());
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "faults_of_destructors_are_printed",
        "--nocapture",
    ]);
    let output = command.env(VARIABLE, "1").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{message}");
    let start =
        "the simulator: kernel `drops_badly`, block (0, 0, 0), thread (5, 0, 0) accessed memory";
    assert!(message.contains(start), "{message}");
}

/// Faults of the host go to the handler that the standard library has installed. A signal that was
/// sent ends the process too.
#[test]
fn faults_of_the_host_end_the_process() {
    const VARIABLE: &str = "FAULT_OF_THE_HOST";
    fn down(depth: u64) -> u64 {
        black_box([depth; 512])[0]
            + if depth == u64::MAX {
                0
            } else {
                down(depth + 1)
            }
    }
    match std::env::var(VARIABLE).as_deref() {
        Err(_) => {}
        Ok(which) => {
            if which == "sent" {
                // SAFETY: the default action, before any other handler is expected.
                unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
            }
            // Installs the simulator's handler.
            let mut out = [0];
            let arguments = (0, true, slice_mut(&mut out));
            launch(
                &Simulator::default(),
                &shared_element,
                LaunchConfig::new(2, 32),
                arguments,
            )
            .unwrap();
            match which {
                "stack" => _ = black_box(down(1)),
                // SAFETY: sends a signal to this thread.
                "sent" => _ = unsafe { libc::raise(libc::SIGSEGV) },
                // SAFETY: not given, which the test is about.
                _ => unsafe { black_box(std::ptr::null_mut::<u32>()).write_volatile(1) },
            }
            return;
        }
    }
    for (which, signal) in [
        ("stack", libc::SIGABRT),
        ("null", libc::SIGSEGV),
        ("sent", libc::SIGSEGV),
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "faults_of_the_host_end_the_process",
            "--nocapture",
        ]);
        let output = command.env(VARIABLE, which).output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            message.contains("has overflowed its stack"),
            which == "stack",
            "{message}"
        );
    }
}
