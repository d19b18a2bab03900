//! Random numbers of `gpu_rand`.

use cuda_std::prelude::*;
use gpu_rand::rand_core::{RngCore, SeedableRng};
use gpu_rand::xoroshiro::{Xoshiro128PlusPlus, Xoshiro256StarStar};
use gpu_rand::{DefaultRand, GpuRand, Philox};

/// Numbers that a thread draws.
pub const DRAWS: usize = 5;

/// What a thread draws of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Integers.
    pub integers: [u64; DRAWS],
    /// Uniform numbers.
    pub uniform_f32: [f32; DRAWS],
    /// Uniform numbers.
    pub uniform_f64: [f64; DRAWS],
    /// Normal numbers.
    pub normal_f32: [f32; DRAWS],
    /// Normal numbers.
    pub normal_f64: [f64; DRAWS],
    /// Both numbers of a pair.
    pub pair_f32: [f32; 2],
    /// Both numbers of a pair.
    pub pair_f64: [f64; 2],
}

/// Draws numbers of each kind.
pub fn draw(random: &mut impl RngCore) -> Drawn {
    Drawn {
        integers: core::array::from_fn(|i| match i % 2 {
            0 => random.next_u64(),
            _ => random.next_u32() as u64,
        }),
        uniform_f32: core::array::from_fn(|_| random.uniform_f32()),
        uniform_f64: core::array::from_fn(|_| random.uniform_f64()),
        normal_f32: core::array::from_fn(|_| random.normal_f32()),
        normal_f64: core::array::from_fn(|_| random.normal_f64()),
        pair_f32: random.normal_f32_2(),
        pair_f64: random.normal_f64_2(),
    }
}

/// Bits of a [`Drawn`], in its order.
pub const BITS: usize = 5 * DRAWS + 4;

/// Returns all bits, for comparisons.
pub fn bits(drawn: &Drawn) -> [u64; BITS] {
    let mut bits = [0; BITS];
    let single = |value: &f32| value.to_bits() as u64;
    let integers = drawn.integers.iter().copied();
    let values = integers
        .chain(drawn.uniform_f32.iter().map(single))
        .chain(drawn.uniform_f64.iter().map(|value| value.to_bits()))
        .chain(drawn.normal_f32.iter().map(single))
        .chain(drawn.normal_f64.iter().map(|value| value.to_bits()))
        .chain(drawn.pair_f32.iter().map(single))
        .chain(drawn.pair_f64.iter().map(|value| value.to_bits()));
    for (place, value) in bits.iter_mut().zip(values) {
        *place = value;
    }
    bits
}

/// Draws with states of the host, and stores the states.
///
/// # Safety
/// `states` has an element for each of `out`.
#[kernel]
pub unsafe fn random_states(states: *mut DefaultRand, out: &mut [[u64; BITS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        // SAFETY: the caller vouches for the length, and each thread has its own element.
        let state = unsafe { &mut *states.add(i) };
        *out = bits(&draw(state));
    }
}

/// Draws with generators of a seed and the thread's index.
#[kernel]
pub fn random_streams(seed: u64, block: u64, out: &mut [[u64; BITS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        *out = bits(&draw(&mut Philox::new(seed, i as u64).at(block)));
    }
}

/// Draws with generators of the crate `rand_xoshiro`: of one kind in even threads, of another in odd ones.
#[kernel]
pub fn random_others(seed: u64, out: &mut [[u64; BITS]]) {
    let i = thread::index_1d() as usize;
    if let Some(out) = out.get_mut(i) {
        let seed = seed + i as u64;
        *out = bits(&match i % 2 {
            0 => draw(&mut Xoshiro256StarStar::seed_from_u64(seed)),
            _ => draw(&mut Xoshiro128PlusPlus::seed_from_u64(seed)),
        });
    }
}
