//! Random numbers of `gpu_rand`: every device gives those of the host, bit for bit.

use super::*;
use cuda_std_tests_kernels::random::{self, DRAWS, draw};
use gpu_rand::rand_core::{RngCore, SeedableRng};
use gpu_rand::xoroshiro::{Xoroshiro128StarStar, Xoshiro128PlusPlus, Xoshiro256StarStar};
use gpu_rand::{DefaultRand, Philox};

/// Returns the number of threads: the last block is not full.
fn threads() -> usize {
    64 * blocks() as usize - 5
}

/// Returns what a thread draws.
fn drawn(random: &mut impl RngCore) -> [u64; DRAWS] {
    let mut all = [0; DRAWS];
    draw(random, |place, bits| all[place] = bits);
    all
}

#[test]
fn states_go_on_in_the_next_launch() {
    let states = DefaultRand::initialize_states(5, threads());
    let config = LaunchConfig::for_len(threads(), 64);
    for device in with_kernels() {
        let mut on_device = device.buffer_from(&states).unwrap();
        // The same generators by another implementation, moved by its own jumps.
        let mut expected = Vec::with_capacity(threads());
        let mut next = Xoroshiro128StarStar::seed_from_u64(5);
        for _ in 0..threads() {
            expected.push(next.clone());
            next.jump();
        }
        for launches in 0..3 {
            let mut out = device.zeros::<[u64; DRAWS]>(threads()).unwrap();
            let arguments = (on_device.slice_mut().as_mut_ptr(), out.slice_mut());
            // SAFETY: a state and an element per thread.
            unsafe { launch(&device, &random::random_states, config, arguments) };
            let expected_bits = expected.iter_mut().map(drawn);
            assert_eq!(
                out.to_vec().unwrap(),
                Vec::from_iter(expected_bits),
                "{device}, {launches}"
            );
        }
    }
}

#[test]
fn streams_need_no_states() {
    let config = LaunchConfig::for_len(threads(), 64);
    for device in with_kernels() {
        for (seed, block) in [(0, 0), (u64::MAX, 1 << 33), (1 << 32, 7)] {
            let mut out = device.zeros::<[u64; DRAWS]>(threads()).unwrap();
            let arguments = (seed, block, out.slice_mut());
            // SAFETY: the slice is that of the buffer.
            unsafe { launch(&device, &random::random_streams, config, arguments) };
            let expected_bits =
                (0..threads() as u64).map(|stream| drawn(&mut Philox::new(seed, stream).at(block)));
            assert_eq!(
                out.to_vec().unwrap(),
                Vec::from_iter(expected_bits),
                "{device}"
            );
        }
    }
}

#[test]
fn kernels_take_generators_of_other_crates() {
    let config = LaunchConfig::for_len(threads(), 64);
    for device in with_kernels() {
        let mut out = device.zeros::<[u64; DRAWS]>(threads()).unwrap();
        // SAFETY: the slice is that of the buffer.
        unsafe {
            launch(
                &device,
                &random::random_others,
                config,
                (3, out.slice_mut()),
            )
        };
        let expected_bits = (0..threads() as u64).map(|i| match i % 2 {
            0 => drawn(&mut Xoshiro256StarStar::seed_from_u64(3 + i)),
            _ => drawn(&mut Xoshiro128PlusPlus::seed_from_u64(3 + i)),
        });
        assert_eq!(
            out.to_vec().unwrap(),
            Vec::from_iter(expected_bits),
            "{device}"
        );
    }
}
