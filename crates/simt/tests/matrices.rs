//! Mistakes around matrix instructions; their results are compared in tests/cuda_std of gridstride.

mod common;

use common::{SEEDS, launch, slice_mut};
use cuda_std::host::{LaunchConfig, Misuse, WarpOperation};
use cuda_std::prelude::*;
use cuda_std::wgmma::Operand;
use cuda_std::{mma, shared, wgmma};
use simt::{Activity, SimError, Simulator};

/// A product of the first `lanes` lanes.
#[kernel]
unsafe fn product_of_some(lanes: u32) {
    if warp::lane_id() < lanes {
        mma::m16n8k8_tf32(&mut [0.0; 4], [0; 4], [0; 2]);
    }
}

#[test]
fn a_product_without_all_lanes_is_an_error() {
    for seed in SEEDS {
        let run = |threads, lanes| {
            let config = LaunchConfig::new(1, threads);
            launch(
                &Simulator::with_seed(seed),
                &product_of_some,
                config,
                (lanes,),
            )
        };
        run(64, 32).unwrap();
        let error = run(64, 31).unwrap_err();
        let SimError::LanesMissing {
            operation, missing, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*operation, WarpOperation::M16n8k8Tf32);
        assert_eq!(*missing, [(31, Activity::Finished)]);
        assert!(
            error.to_string().contains("waits in m16n8k8_tf32"),
            "{error}"
        );
        let error = run(48, 32).unwrap_err();
        let SimError::BeyondBlock { threads: 16, .. } = error else {
            panic!("{error}");
        };
    }
}

/// Lanes that are in different products.
#[kernel]
unsafe fn different_products() {
    if warp::lane_id() < 4 {
        mma::m16n8k16_f16(&mut [0.0; 4], [0; 4], [0; 2]);
    } else {
        mma::m16n8k16_bf16(&mut [0.0; 4], [0; 4], [0; 2]);
    }
}

#[test]
fn lanes_must_be_in_the_same_product() {
    let config = LaunchConfig::new(1, 32);
    let error = launch(&Simulator::default(), &different_products, config, ()).unwrap_err();
    assert!(
        matches!(&error, SimError::LanesMissing { missing, .. } if missing.len() == 28),
        "{error}"
    );
}

/// Loads tiles whose rows are `stride` bytes apart.
#[kernel]
unsafe fn load_rows(stride: u32) {
    let rows = shared::address(shared::dynamic_shared_mem::<u8>());
    // SAFETY: the simulator checks it.
    unsafe { mma::load_tiles::<false>(rows.offset(stride * warp::lane_id())) };
}

#[test]
fn rows_of_tiles_are_checked() {
    let run = |bytes, stride| {
        let config = LaunchConfig::new(1, 32).with_shared_bytes(bytes);
        launch(&Simulator::default(), &load_rows, config, (stride,))
    };
    run(512, 16).unwrap();
    run(16, 0).unwrap();
    match run(511, 16).unwrap_err() {
        SimError::Misuse { place, misuse, .. } => {
            assert_eq!(place.thread.x, 31);
            assert!(
                matches!(misuse, Misuse::OutOfRange { address: 496, .. }),
                "{misuse}"
            );
        }
        error => panic!("{error}"),
    }
    match run(512, 8).unwrap_err() {
        SimError::Misuse { place, misuse, .. } => {
            assert_eq!(place.thread.x, 1);
            assert!(
                matches!(misuse, Misuse::Misaligned { value: 8, .. }),
                "{misuse}"
            );
        }
        error => panic!("{error}"),
    }
}

/// What a thread of [`group`] does wrong.
const NOTHING: u32 = 0;
const WRITES_EARLY: u32 = 1;
const STAYS_AWAY: u32 = 2;
const HAS_ITS_OWN_OPERAND: u32 = 3;
const NEVER_WAITS: u32 = 4;
const WRITES_IN_TIME: u32 = 5;

/// A product of zeros of a warp group, of whose threads the last makes a mistake; A begins at
/// `start`, and its atoms are `stride` bytes apart.
#[kernel(block = 128)]
unsafe fn group(mistake: u32, start: u32, stride: u32, out: DeviceSliceMut<f32>) {
    let memory = shared::dynamic_shared_mem::<u32>();
    let thread = thread::thread_idx_x() as usize;
    let is_last = thread == 127;
    // SAFETY: the launch gives 24 KiB, which A and B of 64 + 128 rows of 128 bytes fill. The
    // simulator checks the rest.
    unsafe {
        for i in 0..48 {
            memory.add(128 * i + thread).write(0);
        }
        let address = shared::address(memory);
        let shift = if is_last && mistake == HAS_ITS_OWN_OPERAND {
            32
        } else {
            0
        };
        let a = Operand::along_k(address.offset(start), stride).offset(shift);
        let b = Operand::along_k(address.offset(8192), 1024);
        wgmma::publish();
        thread::sync_threads();
        if is_last && mistake == STAYS_AWAY {
            return;
        }
        let mut sums = [1.0; 64];
        wgmma::fence();
        wgmma::m64n128k8_tf32(&mut sums, a, b);
        wgmma::commit();
        // B's columns 112 and after; what the instruction does not take of them may change.
        if is_last && mistake == WRITES_EARLY {
            memory.add((8192 + 14 * 1024) / 4).write(1);
        }
        if is_last && mistake == WRITES_IN_TIME {
            memory.add((8192 + 14 * 1024 + 64) / 4).write(1);
        }
        if mistake == NEVER_WAITS {
            return;
        }
        wgmma::wait::<0>();
        out.set(thread, sums[63]);
    }
}

fn run_group(
    simulator: &Simulator,
    mistake: u32,
    start: u32,
    stride: u32,
) -> Result<Vec<f32>, SimError> {
    let mut out = vec![0.0; 128];
    let config = LaunchConfig::new(1, 128).with_shared_bytes(24 << 10);
    let args = (mistake, start, stride, slice_mut(&mut out));
    launch(simulator, &group, config, args).map(|()| out)
}

fn misuse(result: Result<Vec<f32>, SimError>) -> (Misuse, String) {
    let error = result.unwrap_err();
    let text = error.to_string();
    match error {
        SimError::Misuse { misuse, .. } => (misuse, text),
        _ => panic!("{text}"),
    }
}

#[test]
fn operands_stay_until_the_wait() {
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        for fine in [NOTHING, WRITES_IN_TIME] {
            assert_eq!(run_group(&simulator, fine, 0, 1024).unwrap(), [1.0; 128]);
        }
        run_group(&simulator, NEVER_WAITS, 0, 1024).unwrap();
        let (misuse, text) = misuse(run_group(&simulator, WRITES_EARLY, 0, 1024));
        let Misuse::OperandsOverwritten { issued } = misuse else {
            panic!("{text}");
        };
        assert!(issued.file().ends_with("matrices.rs"));
        assert!(
            text.contains("overwritten before it was waited for"),
            "{text}"
        );
    }
}

#[test]
fn a_warp_group_comes_as_a_whole_and_with_one_operand() {
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let error = run_group(&simulator, STAYS_AWAY, 0, 1024).unwrap_err();
        let SimError::ThreadsMissing { missing, .. } = &error else {
            panic!("{error}");
        };
        assert!(matches!(missing[..], [(thread, Activity::Finished)] if thread.x == 127));
        assert!(
            error
                .to_string()
                .contains("thread (127, 0, 0) has finished"),
            "{error}"
        );
        let (misuse, text) = misuse(run_group(&simulator, HAS_ITS_OWN_OPERAND, 0, 1024));
        assert_eq!(misuse, Misuse::OperandsDiffer);
        assert!(text.contains("thread (127, 0, 0)"), "{text}");
    }
}

#[test]
fn operands_are_checked() {
    let run = |start, stride| misuse(run_group(&Simulator::default(), NOTHING, start, stride)).0;
    assert!(matches!(
        run(128, 1024),
        Misuse::Misaligned { value: 128, .. }
    ));
    assert!(matches!(run(0, 512), Misuse::Misaligned { value: 512, .. }));
    assert!(matches!(run(0, 4096), Misuse::OutOfRange { .. }));
    assert!(matches!(
        run(112, 1024),
        Misuse::AcrossRows { start: 112, .. }
    ));
    run_group(&Simulator::default(), NOTHING, 96, 1024).unwrap();
}

/// A product by a block that is no whole warp group.
#[kernel]
unsafe fn small_group() {
    let address = shared::address(shared::dynamic_shared_mem::<u8>());
    let operand = Operand::along_k(address, 1024);
    // SAFETY: the simulator refuses it.
    unsafe { wgmma::m64n128k16_f16::<false, false>(&mut [0.0; 64], operand, operand) };
}

#[test]
fn a_block_must_have_whole_warp_groups() {
    let config = LaunchConfig::new(1, 192).with_shared_bytes(16 << 10);
    let error = launch(&Simulator::default(), &small_group, config, ()).unwrap_err();
    let SimError::BeyondBlock {
        operation: WarpOperation::WgmmaN128,
        threads: 64,
        ..
    } = error
    else {
        panic!("{error}");
    };
}

/// Is far from any shared memory, unlike another allocation, which may be beside it.
static NOT_SHARED: [f32; 4096] = [0.0; 4096];

/// A product whose operands are not in dynamic shared memory.
#[kernel(block = 128)]
unsafe fn operands_elsewhere(offset: u32, in_static: bool) {
    // Static shared memory may be beside the dynamic one.
    let in_shared = shared_array![f32; 4096];
    let start = if in_static {
        in_shared
    } else {
        (&raw const NOT_SHARED).cast_mut().cast()
    };
    let operand = Operand::along_k(shared::address(start), 1024).offset(offset);
    // SAFETY: the simulator refuses it.
    unsafe { wgmma::m64n64k8_tf32(&mut [0.0; 32], operand, operand) };
}

#[test]
fn operands_elsewhere_are_out_of_range() {
    let config = LaunchConfig::new(1, 128).with_shared_bytes(16 << 10);
    for (offset, in_static) in [0, 32, 1024, 1 << 17]
        .into_iter()
        .flat_map(|offset| [(offset, false), (offset, true)])
    {
        let failed = launch(
            &Simulator::default(),
            &operands_elsewhere,
            config,
            (offset, in_static),
        );
        match failed.unwrap_err() {
            SimError::Misuse { misuse, .. } => {
                assert!(matches!(misuse, Misuse::OutOfRange { .. }), "{misuse}");
            }
            error => panic!("{error}"),
        }
    }
}

/// The start of the dynamic shared memory.
#[kernel]
unsafe fn beginning(out: DeviceSliceMut<usize>) {
    let memory = shared::dynamic_shared_mem::<u8>();
    // SAFETY: a byte per block is there, and an element.
    unsafe {
        memory.add((227 << 10) - 1).write(1);
        out.set(thread::block_idx_x() as usize, memory as usize);
    }
}

#[test]
fn dynamic_shared_memory_begins_with_an_atom() {
    let mut out = [1; 4];
    let config = LaunchConfig::new(4, 1).with_shared_bytes(227 << 10);
    let args = (slice_mut(&mut out),);
    launch(&Simulator::default(), &beginning, config, args).unwrap();
    assert!(out.iter().all(|start| start.is_multiple_of(1024)));
}
