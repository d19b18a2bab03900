//! Random numbers of `gpu_rand`.

use cuda_std::prelude::*;
use gpu_rand::rand_core::{RngCore, SeedableRng};
use gpu_rand::xoroshiro::{Xoshiro128PlusPlus, Xoshiro256StarStar};
use gpu_rand::{DefaultRand, GpuRand, Philox};

/// Numbers that a thread draws.
pub const DRAWS: usize = 18;

/// Draws numbers of each kind, and gives their bits to `put` with their places.
pub fn draw(random: &mut impl RngCore, mut put: impl FnMut(usize, u64)) {
    for round in 0..3 {
        put(6 * round, random.next_u64());
        put(6 * round + 1, random.next_u32() as u64);
        put(6 * round + 2, random.uniform_f32().to_bits() as u64);
        put(6 * round + 3, random.uniform_f64().to_bits());
        put(6 * round + 4, random.normal_f32().to_bits() as u64);
        put(6 * round + 5, random.normal_f64().to_bits());
    }
}

/// Draws with states of the host, and stores the states.
///
/// # Safety
/// `states` has an element for each of `out`.
#[kernel]
pub unsafe fn random_states(states: *mut DefaultRand, out: &mut [[u64; DRAWS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        // SAFETY: the caller vouches for the length, and each thread has its own element.
        let state = unsafe { &mut *states.add(i) };
        draw(state, |place, bits| out[place] = bits);
    }
}

/// Draws with generators of a seed and the thread's index.
#[kernel]
pub fn random_streams(seed: u64, block: u64, out: &mut [[u64; DRAWS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        let mut random = Philox::new(seed, i as u64).at(block);
        draw(&mut random, |place, bits| out[place] = bits);
    }
}

/// Draws with generators of the crate `rand_xoshiro`: of one kind in even threads, of another in
/// odd ones.
#[kernel]
pub fn random_others(seed: u64, out: &mut [[u64; DRAWS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        let seed = seed + i as u64;
        let put = |place, bits| out[place] = bits;
        match i % 2 {
            0 => draw(&mut Xoshiro256StarStar::seed_from_u64(seed), put),
            _ => draw(&mut Xoshiro128PlusPlus::seed_from_u64(seed), put),
        }
    }
}
