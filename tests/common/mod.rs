//! What the tests share. Each test program uses a part of it.
#![allow(dead_code)]

pub mod sketch;

use gridstride::Device;

/// Every device that can run here: each test loops over them.
pub fn devices() -> Vec<Device> {
    vec![Device::cpu()]
}

/// Whether to take smaller inputs, as under sanitizers: `GRIDSTRIDE_TEST_SMALL=1`.
pub fn small() -> bool {
    std::env::var("GRIDSTRIDE_TEST_SMALL").is_ok_and(|value| value == "1")
}

/// γ_n = n·u / (1 − n·u), for `roundings` n and unit roundoff `u`: no product of n factors
/// (1 + δ) with |δ| ≤ u is farther from 1 (Higham, 'Accuracy and Stability of Numerical
/// Algorithms', lemma 3.1).
pub fn gamma(roundings: usize, u: f64) -> f64 {
    let product = roundings as f64 * u;
    assert!(product < 1.0, "no bound holds for {roundings} roundings");
    product / (1.0 - product)
}
