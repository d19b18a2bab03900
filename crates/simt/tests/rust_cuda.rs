//! Kernels as Rust-CUDA has them: slices and references as parameters, statics in shared memory.

use cuda_std::address_space;
use cuda_std::host::LaunchConfig;
use cuda_std::prelude::*;
use simt::{SimError, Simulator};

#[repr(C)]
#[derive(Clone, Copy)]
struct Scale {
    factor: u32,
    offset: u32,
}

/// `b[i] = a[i] · factor + offset`, without a check of `b`'s length.
#[kernel]
fn scale(a: &[u32], scale: &Scale, b: &mut [u32]) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        b[i] = a[i] * scale.factor + scale.offset;
    }
}

fn launch_scale(seed: u64, b: &mut [u32]) -> Result<(), SimError> {
    let a: Vec<u32> = (0..100).collect();
    let factors = Scale {
        factor: 3,
        offset: 1,
    };
    // SAFETY: slices of memory that is there until the launch has ended, and that nobody else uses.
    unsafe {
        let a = DeviceSlice::from_raw_parts(a.as_ptr(), a.len());
        let b = DeviceSliceMut::from_raw_parts(b.as_mut_ptr(), b.len());
        let config = LaunchConfig::new(4, 32);
        Simulator::with_seed(seed).launch(&scale, config, (a, &raw const factors, b))
    }
}

#[test]
fn slices_and_references_are_parameters() {
    for seed in 0..3 {
        let mut b = [0; 100];
        launch_scale(seed, &mut b).unwrap();
        assert!((0..100).all(|i| b[i as usize] == 3 * i + 1));
    }
}

#[test]
fn an_index_past_the_end_names_thread_and_line() {
    let error = launch_scale(0, &mut [0; 70]).unwrap_err();
    let SimError::Panic { place, site, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((place.block.x, place.thread.x), (2, 6));
    let site = site.as_deref().unwrap();
    assert!(site.starts_with(&format!("{}:20:", file!())), "{site}");
    assert_eq!(
        error.to_string(),
        format!(
            "kernel `scale`, block (2, 0, 0), thread (6, 0, 0) panicked at {site}: index out of bounds: the len is 70 \
             but the index is 70"
        )
    );
}

/// Turns each block of 64 values round.
#[kernel]
fn reverse(data: DeviceSliceMut<u32>, count: DeviceSliceMut<u32>) {
    #[address_space(shared)]
    static mut TILE: [u32; 64] = [0; 64];
    #[address_space(shared)]
    static mut ODD: u32 = 0;
    let (i, at) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: barriers separate writes from reads.
    unsafe {
        TILE[i] = data.at(at);
        if i == 0 {
            ODD = 0;
        }
        thread::sync_threads();
        atomic::add(&raw mut ODD, data.at(at) % 2);
        data.set(at, TILE[63 - i]);
        thread::sync_threads();
        if i == 0 {
            count.set(at / 64, ODD);
        }
    }
}

#[kernel]
fn uninitialised(out: DeviceSliceMut<u32>) {
    #[address_space(shared)]
    static mut VALUE: u32 = 7;
    // SAFETY: one thread.
    unsafe { out.set(0, VALUE) };
}

#[test]
fn shared_statics_are_those_of_a_block() {
    for simulator in [Simulator::default(), Simulator::with_seed(5)] {
        let (mut data, mut count): (Vec<u32>, _) = ((0..640).collect(), [0; 10]);
        // SAFETY: slices of memory that is there until the launch has ended, and that nobody else
        // uses.
        unsafe {
            let data = DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), 640);
            let count = DeviceSliceMut::from_raw_parts(count.as_mut_ptr(), 10);
            (simulator.launch(&reverse, LaunchConfig::new(10, 64), (data, count))).unwrap();
        }
        assert!((0..640).all(|i| data[i] as usize == i / 64 * 64 + 63 - i % 64));
        assert_eq!(count, [32; 10]);
    }
}

#[test]
fn shared_statics_have_no_initial_value() {
    let mut value = 7;
    // SAFETY: slices of memory that is there until the launch has ended, and that nobody else uses.
    unsafe {
        let out = DeviceSliceMut::from_raw_parts(&raw mut value, 1);
        let simulator = Simulator::default();
        (simulator.launch(&uninitialised, LaunchConfig::new(1, 1), (out,))).unwrap();
    }
    // What the simulator fills memory with that nothing has written.
    assert_eq!(value, u32::MAX);
}

/// The three barriers that count.
#[kernel]
fn counts(out: DeviceSliceMut<[u32; 3]>) {
    let thread = thread::index_in_block();
    for limit in [0, 1, 33, 70] {
        let below = u32::from(thread < limit);
        let found = [
            thread::sync_threads_count(below),
            thread::sync_threads_and(below),
            thread::sync_threads_or(below),
        ];
        let at = limit as usize * 70 + thread as usize;
        // SAFETY: an element for each thread.
        unsafe { out.set(at, found) };
    }
}

#[test]
fn barriers_count() {
    let mut found = vec![[9; 3]; 71 * 70];
    // SAFETY: slices of memory that is there until the launch has ended, and that nobody else uses.
    unsafe {
        let out = DeviceSliceMut::from_raw_parts(found.as_mut_ptr(), found.len());
        let simulator = Simulator::with_seed(3);
        (simulator.launch(&counts, LaunchConfig::new(1, (7, 10)), (out,))).unwrap();
    }
    for (limit, expected) in [
        (0, [0, 0, 0]),
        (1, [1, 0, 1]),
        (33, [33, 0, 1]),
        (70, [70, 1, 1]),
    ] {
        assert_eq!(found[limit * 70..][..70], [expected; 70]);
    }
}
