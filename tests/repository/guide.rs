//! Compares the messages in docs/guide/simulator.md with the simulator's messages.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use cuda_std::host::{AccessKind, Dim3, Kernel, KernelArgs, LaunchConfig};
use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::tensor::TensorMap;
use cuda_std::wgmma::Operand;
use cuda_std::{async_copy, mma, shared, tensor, tensor_map, wgmma};
use gridstride::device::Module;
use gridstride::{Device, Error};
use simt::{Accessed, Damage, Elements, Place, Race, RaceAccess, Side, SimError, Simulator};

const PAGE: &str = include_str!("../../docs/guide/simulator.md");

/// The messages in the page's tables, each up to the part that differs from case to case.
fn listed() -> BTreeSet<&'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_suffix(" |"));
    let messages = rows.filter_map(|row| Some(row.rsplit_once(" | ")?.1));
    messages
        .filter(|message| message.starts_with("kernel `k`") || message.starts_with("PLACE"))
        .map(|message| {
            let end = message.find(" (or: ").unwrap_or(message.len());
            message[..end].trim_end_matches(" …")
        })
        .collect()
}

/// Replaces the kernel, block and thread at the start of a message, and places in this file, by the
/// words of the page.
fn generalised(message: &str) -> String {
    let (_, rest) = message
        .strip_prefix("kernel `")
        .and_then(|rest| rest.split_once('`'))
        .expect("every message begins with the kernel");
    let thread = rest
        .strip_prefix(", block (")
        .and_then(|rest| rest.split_once("), thread ("))
        .and_then(|(_, rest)| rest.split_once(')'));
    let text = match thread {
        Some((_, rest)) => format!("PLACE{rest}"),
        None => format!("kernel `k`{rest}"),
    };
    let mut parts = text.split(concat!(file!(), ":"));
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let part = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        // The colon behind a place belongs to the message.
        let is_followed =
            part.starts_with(' ') && (text.ends_with(", at ") || text.ends_with(" panicked at "));
        text + "SITE" + if is_followed { ":" } else { "" } + part
    })
}

/// Returns the message of a launch that must fail.
fn reported<A: KernelArgs>(kernel: &Kernel<A>, config: LaunchConfig, arguments: A) -> String {
    reported_by(&Simulator::with_seed(0), kernel, config, arguments)
}

fn reported_by<A: KernelArgs>(
    simulator: &Simulator,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    arguments: A,
) -> String {
    // SAFETY: slices in arguments live as long as the test. The simulator checks the accesses of
    // the kernels.
    let result: Result<(), SimError> = unsafe { simulator.launch(kernel, config, arguments) };
    generalised(&result.expect_err("a mistake").to_string())
}

fn slice<T: Copy>(data: &mut [T]) -> DeviceSliceMut<T> {
    // SAFETY: each test keeps the data while its kernel runs, and does not use it meanwhile.
    unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) }
}

#[kernel]
unsafe fn nothing() {}

#[kernel(block = 256)]
unsafe fn of_256() {}

/// The message of a launch within a kernel.
static NESTED: Mutex<String> = Mutex::new(String::new());

#[kernel]
unsafe fn launches() {
    *NESTED.lock().unwrap() = reported(&nothing, LaunchConfig::new(1, 1), ());
}

#[kernel]
unsafe fn barrier_for_some() {
    if thread::thread_idx_x() >= 2 {
        thread::sync_threads();
    }
}

#[kernel]
#[expect(clippy::if_same_then_else, reason = "the places differ")]
unsafe fn two_barriers() {
    if thread::thread_idx_x() < 32 {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
}

#[kernel]
unsafe fn without_lane_3(instead: u32) {
    if warp::lane_id() != 3 {
        warp::shuffle_xor(warp::FULL_MASK, 0_u32, 1);
    } else if instead == 1 {
        thread::sync_threads();
    } else if instead == 2 {
        warp::ballot(1 << 3 | 1, true);
    }
}

#[kernel]
unsafe fn ballot(mask: u32) {
    warp::ballot(mask, true);
}

/// Votes of the first 20 lanes, and of lane 20 with their mask.
#[kernel]
unsafe fn ballot_of_others() {
    if warp::lane_id() == 20 {
        warp::ballot(0xffff, true);
    }
}

#[kernel]
unsafe fn shuffle_from_lane_9() {
    if warp::lane_id() < 8 {
        warp::shuffle_idx(0xff, 0_u32, 9);
    }
}

#[kernel]
unsafe fn matrix_product() {
    mma::m8n8k4_f64(&mut [0.0; 2], [0.0], [0.0]);
}

#[kernel]
unsafe fn waits_for_the_next(places: DeviceSliceMut<u32>) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: places for all blocks and one more, used atomically.
    unsafe {
        while atomic::load(places.address(block + 1)) == 0 {
            thread::nanosleep(100);
        }
    }
}

#[kernel]
unsafe fn writes_element_1000(data: DeviceSliceMut<u32>) {
    // SAFETY: the simulator checks it.
    unsafe { data.set(1000, 0) };
}

#[kernel]
unsafe fn much_shared_memory() {
    shared_array![u8; 65536];
}

/// Copies 16 bytes to a place in dynamic shared memory.
#[kernel]
unsafe fn copies_to(input: DeviceSliceMut<u32>, to: u32) {
    let target = shared::address(shared::dynamic_shared_mem::<u8>()).offset(to);
    // SAFETY: the input has this many bytes, and the simulator checks the rest.
    unsafe { async_copy::copy::<16>(target, input.address(0).cast(), true) };
}

/// The mistakes of [`group`].
const STARTS_LATE: u32 = 1;
const STAYS_AWAY: u32 = 2;
const DISAGREES: u32 = 3;
const WRITES_EARLY: u32 = 4;

/// A product of a warp group, whose thread 5 makes a mistake.
#[kernel(block = 128)]
unsafe fn group(mistake: u32) {
    let memory = shared::dynamic_shared_mem::<u32>();
    let thread = thread::thread_idx_x() as usize;
    let is_wrong = thread == 5;
    let start = if mistake == STARTS_LATE { 112 } else { 0 };
    let shift = if is_wrong && mistake == DISAGREES {
        32
    } else {
        0
    };
    // SAFETY: the launch gives 24 KiB, which A and B fill with 64 + 128 rows of 128 bytes. The
    // simulator checks the rest.
    unsafe {
        for i in 0..48 {
            memory.add(128 * i + thread).write(0);
        }
        let address = shared::address(memory);
        let a = Operand::along_k(address.offset(start), 1024).offset(shift);
        let b = Operand::along_k(address.offset(8192), 1024);
        wgmma::publish();
        thread::sync_threads();
        if is_wrong && mistake == STAYS_AWAY {
            return;
        }
        wgmma::fence();
        wgmma::m64n128k8_tf32(&mut [1.0; 64], a, b);
        wgmma::commit();
        if is_wrong && mistake == WRITES_EARLY {
            memory.write(1);
        }
        wgmma::wait::<0>();
    }
}

/// The mistakes of [`barriers`].
const NOT_INITIALISED: u32 = 1;
const ARRIVES_TWICE: u32 = 2;
const NO_MAP: u32 = 3;
const BEYOND_THE_CLUSTER: u32 = 4;
const NO_ARRIVALS: u32 = 5;
const INITIALISED_AGAIN: u32 = 6;
const MANY_BYTES: u32 = 7;
const WAITS_IN_VAIN: u32 = 8;
const WRONG_PARITY: u32 = 9;
const ELSEWHERE: u32 = 10;

/// Uses a barrier that counts arrivals, with a mistake.
#[kernel]
unsafe fn barriers(map: TensorMap, mistake: u32) {
    let memory = shared::address(shared::dynamic_shared_mem::<u8>());
    let barrier = Barrier::at(memory.offset(64));
    // SAFETY: the simulator checks it.
    unsafe {
        if mistake != NOT_INITIALISED {
            barrier.init(u32::from(mistake != NO_ARRIVALS));
        }
        if mistake == INITIALISED_AGAIN {
            barrier.init(1);
        }
        if mistake == MANY_BYTES {
            barrier.arrive_and_expect(1 << 20);
        }
        if mistake == WRONG_PARITY {
            barrier.wait(2);
        }
        if mistake == ELSEWHERE {
            Barrier::at(shared::address(shared_array![u64; 1])).init(1);
        }
        if mistake == WAITS_IN_VAIN {
            barrier.arrive_and_expect(16);
            barrier.wait(0);
        }
        if mistake == BEYOND_THE_CLUSTER {
            barrier.arrive_at(2);
        }
        if mistake == NO_MAP {
            tensor::load(memory, tensor_map!(barriers, 0, map), [0; 3], barrier);
        }
        barrier.arrive_and_expect(16);
        barrier.arrive();
    }
}

#[kernel(block = 32, cluster = 2)]
fn in_clusters() {}

#[kernel]
unsafe fn panics(length: usize) {
    std::hint::black_box([0; 4][length]);
}

/// The messages of the race detector. Its own tests see that it gives them: these are without it.
fn of_races() -> [String; 6] {
    let access = |block: u32, thread: u32, kind| RaceAccess {
        block: Dim3 {
            x: block,
            y: 0,
            z: 0,
        },
        thread: Dim3 {
            x: thread,
            y: 0,
            z: 0,
        },
        kind,
        site: "SITE".to_owned(),
    };
    let elsewhere = |access| RaceAccess {
        site: "SITE:2".to_owned(),
        ..access
    };
    let message = |is_shared, first, second| {
        let race = Race {
            kernel: "k",
            is_shared,
            bytes: 4,
            first,
            second,
        };
        let message = SimError::Race(Box::new(race)).to_string();
        message.replace("SITE:2", "SITE")
    };
    let (write, read) = (AccessKind::Write, AccessKind::Read);
    let of_block_1 = || elsewhere(access(1, 0, read));
    [
        message(true, access(0, 0, read), elsewhere(access(0, 1, write))),
        message(false, access(0, 0, write), of_block_1()),
        message(false, access(0, 0, AccessKind::AtomicWrite), of_block_1()),
        message(false, access(0, 0, write), access(0, 1, read)),
        SimError::NotInstrumented { kernel: "k" }.to_string(),
        generalised(
            &SimError::Misaligned {
                place: place(),
                access: "read",
                bytes: 4,
                site: "SITE".to_owned(),
                address: 0x7f0c_4400_1001,
                alignment: 4,
            }
            .to_string(),
        ),
    ]
}

fn place() -> Place {
    let dim = Dim3 { x: 0, y: 0, z: 0 };
    Place {
        kernel: "k",
        block: dim,
        thread: dim,
    }
}

/// The messages of accesses beside memory, and of threads that are ended. Those of threads have lines
/// only in programs with debug information. The kernels of the page of mistakes give them.
fn of_faults() -> [String; 8] {
    let f32s = |count| Elements { name: "f32", count };
    let access = |access, memory| SimError::NoMemory {
        place: place(),
        access,
        site: "SITE".to_owned(),
        memory: Box::new(memory),
    };
    let (what, bytes) = ("a static shared array", 1024);
    let (buffer, byte) = (f32s(64), 0);
    let address = Some(0);
    let errors = [
        access(
            "write",
            Accessed::Shared {
                what,
                bytes,
                byte: 1024,
            },
        ),
        access("read", Accessed::Buffer { buffer, byte: 256 }),
        access("write", Accessed::Freed { buffer, byte }),
        access("read", Accessed::Nothing { address }),
        SimError::SharedOverrun {
            kernel: "k",
            block: place().block,
            side: Side::Before,
            what,
            bytes,
        },
        SimError::BufferDamage {
            kernel: "k",
            buffer: f32s(100),
            damage: Damage::Beside(Side::Behind, 400),
        },
        SimError::StackOverflow {
            place: place(),
            site: "SITE".to_owned(),
            bytes: 262_144,
        },
        SimError::Spinning {
            place: place(),
            site: "SITE".to_owned(),
            time: Duration::from_secs(30),
        },
    ];
    errors.map(|error| generalised(&error.to_string()))
}

#[test]
fn every_mistake_has_its_message() {
    let block = |threads| LaunchConfig::new(1, threads);
    let mut data = vec![0_u32; 1000];
    let data = slice(&mut data);
    let in_group = |mistake| reported(&group, block(128).with_shared_bytes(24 << 10), (mistake,));
    let on_barrier = |mistake| {
        let map = TensorMap::from_words([0; 16]);
        reported(&barriers, block(1).with_shared_bytes(128), (map, mistake))
    };
    let copying = |to| reported(&copies_to, block(1).with_shared_bytes(1024), (data, to));
    let mut found = BTreeSet::from([
        reported(&nothing, LaunchConfig::new(0, 1), ()),
        reported(&nothing, LaunchConfig::new(1, (64, 32)), ()),
        reported(&of_256, block(64), ()),
        reported(&barrier_for_some, block(4), ()),
        reported(&two_barriers, block(64), ()),
        reported(&without_lane_3, block(32), (0,)),
        in_group(STAYS_AWAY),
        reported(&ballot_of_others, block(32), ()),
        reported(&ballot, block(8), (u32::MAX,)),
        reported(&shuffle_from_lane_9, block(32), ()),
        reported(&matrix_product, block(8), ()),
        reported(&waits_for_the_next, LaunchConfig::new(2, 1), (data,)),
        reported(&writes_element_1000, block(1), (data,)),
        reported(&much_shared_memory, block(1), ()),
        copying(1020),
        copying(4),
        in_group(STARTS_LATE),
        in_group(DISAGREES),
        in_group(WRITES_EARLY),
        on_barrier(NOT_INITIALISED),
        on_barrier(ARRIVES_TWICE),
        on_barrier(NO_MAP),
        on_barrier(BEYOND_THE_CLUSTER),
        on_barrier(NO_ARRIVALS),
        on_barrier(INITIALISED_AGAIN),
        on_barrier(MANY_BYTES),
        on_barrier(WAITS_IN_VAIN),
        on_barrier(WRONG_PARITY),
        on_barrier(ELSEWHERE),
        reported(&in_clusters, LaunchConfig::new(3, 32), ()),
        reported(&panics, block(1), (4,)),
    ]);
    found.extend(of_races());
    found.extend(of_faults());
    // SAFETY: it takes no arguments.
    unsafe { Simulator::with_seed(0).launch(&launches, block(1), ()) }.unwrap();
    found.insert(NESTED.lock().unwrap().clone());
    // Stacks of the usual size can be had.
    let (large, usual) = (1_usize << 60, 262_144);
    let simulator = Simulator::with_seed(0).stack_bytes(large);
    let stacks = reported_by(&simulator, &nothing, block(256), ());
    let stacks = stacks.replace(&large.to_string(), &usual.to_string());
    let reason = stacks.find("bytes:").expect("a reason");
    found.insert(stacks[..reason + "bytes:".len()].to_owned());

    let listed: BTreeSet<String> = listed().into_iter().map(str::to_owned).collect();
    let surplus: Vec<_> = listed.difference(&found).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(
        surplus.is_empty() && missing.is_empty(),
        "listed: {surplus:#?}\nfound: {missing:#?}"
    );
}

/// `cargo xtask guide` runs the kernels of that page, which have these messages.
#[test]
fn every_mistake_is_on_the_page_of_mistakes() {
    // Numbers differ, such as those of bytes.
    let without_digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let mistakes = without_digits(include_str!("../../docs/guide/mistakes.md"));
    let shown = |message: &&str| mistakes.contains(&format!("\"{}", without_digits(message)));
    // The crate `races` of the page on the simulator shows them, as it is compiled for the detector.
    let races = of_races();
    let of_mistakes = listed().into_iter();
    let of_mistakes = of_mistakes.filter(|message| !races.iter().any(|race| race == message));
    let missing: Vec<_> = of_mistakes.filter(|message| !shown(message)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_a_missing_lane_may_do_instead() {
    let (_, alternatives) = PAGE.split_once("lane 3 has finished (or: ").unwrap();
    let (alternatives, _) = alternatives.split_once(") |").unwrap();
    let found: Vec<String> = [1, 2]
        .map(|instead| {
            let message = reported(&without_lane_3, LaunchConfig::new(1, 32), (instead,));
            let (_, activity) = message.split_once("but lane 3 ").expect(&message);
            activity.replace("ballot with mask 0x00000009 at SITE", "… with mask …")
        })
        .into();
    assert_eq!(found.join(", "), alternatives);
}

#[test]
fn a_device_says_that_it_is_the_simulator() {
    static MODULE: Module = Module::new("guide", &[]);
    let device = Device::simulator().unwrap();
    let run = |config| {
        // SAFETY: it takes no arguments.
        unsafe { device.launch(&MODULE, &barrier_for_some, config, ()) }.unwrap_err()
    };
    let error = run(LaunchConfig::new(1, 4));
    assert!(matches!(error, Error::Simulation(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("the simulator stopped: kernel"), "{text}");
    for shape in [LaunchConfig::new(0, 1), LaunchConfig::new(1, (64, 32))] {
        assert!(matches!(run(shape), Error::Launch { .. }));
    }
}
