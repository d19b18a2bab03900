//! What the tests share. Each test program uses a part of it.
#![allow(dead_code)]

pub mod boxes;
pub mod example;
pub mod matrices;
pub mod sketch;
pub mod time_series;

use std::sync::OnceLock;

use gridstride::Device;
use gridstride::device::DeviceKind;

/// Every device that can run here: each test loops over them.
///
/// - The simulator draws its schedule from `GRIDSTRIDE_SIMULATOR_SEED` (default 1).
/// - The first GPU, in builds with `cuda`. Where there is none its part of a test is skipped, which
///   is said on stderr; with `GRIDSTRIDE_REQUIRE_CUDA=1` that is a failure. With
///   `GRIDSTRIDE_TEST_ONLY_CUDA=1`, as under sanitizers, it is the only one.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu(), simulator()];
    if is_set("GRIDSTRIDE_TEST_ONLY_CUDA") {
        devices.clear();
    }
    devices.extend(cuda());
    devices
}

/// The devices that run kernels.
pub fn with_kernels() -> impl Iterator<Item = Device> {
    devices()
        .into_iter()
        .filter(|device| device.kind() != DeviceKind::Cpu)
}

/// So many devices of the same kind: simulators under other schedules, and as many GPUs as there are, over and over.
pub fn several(device: &Device, count: usize) -> Vec<Device> {
    let all: Vec<Device> = match device.kind() {
        DeviceKind::Simulator => {
            let simulator = |seed| Device::simulator_with(simt::Simulator::default().seed(seed));
            (0..count as u64).map(simulator).collect()
        }
        DeviceKind::Cuda { .. } => Device::gpus(),
        _ => vec![device.clone()],
    };
    all.into_iter().cycle().take(count).collect()
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "1")
}

/// The simulator under the schedule that the environment asks for.
pub fn simulator() -> Device {
    let seed = std::env::var("GRIDSTRIDE_SIMULATOR_SEED").map_or(1, |seed| {
        seed.parse().expect("GRIDSTRIDE_SIMULATOR_SEED is a number")
    });
    Device::simulator_with(simt::Simulator::default().seed(seed))
}

/// The first GPU, if there is one. It stays open: opening it takes a tenth of a second.
pub fn cuda() -> Option<Device> {
    static CUDA: OnceLock<Option<Device>> = OnceLock::new();
    CUDA.get_or_init(open_cuda).clone()
}

/// The same, opened unless something holds it.
pub fn open_cuda() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(
                !is_set("GRIDSTRIDE_REQUIRE_CUDA"),
                "GRIDSTRIDE_REQUIRE_CUDA is set, but {error}"
            );
            eprintln!("skipped on CUDA: {error}");
            None
        }
    }
}

/// Whether to take smaller inputs, as under sanitizers: `GRIDSTRIDE_TEST_SMALL=1`.
pub fn small() -> bool {
    is_set("GRIDSTRIDE_TEST_SMALL")
}

/// γ_n = n·u / (1 − n·u), for `roundings` n and unit roundoff `u`: no product of n factors
/// (1 + δ) with |δ| ≤ u is farther from 1 (Higham, 'Accuracy and Stability of Numerical
/// Algorithms', lemma 3.1).
pub fn gamma(roundings: usize, u: f64) -> f64 {
    let product = roundings as f64 * u;
    assert!(product < 1.0, "no bound holds for {roundings} roundings");
    product / (1.0 - product)
}
