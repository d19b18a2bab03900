//! Code that tests and fuzz targets share: devices, the list of all calls, references and error bounds.
#![allow(missing_docs, reason = "it is read by those who write tests")]

pub mod boxes;
#[cfg(feature = "time-series")]
pub mod buckets;
#[cfg(feature = "all")]
pub mod calls;
pub mod exact;
#[cfg(feature = "matmul")]
pub mod products;
#[cfg(feature = "distances")]
pub mod rows;
#[cfg(feature = "tensor-sketch")]
pub mod sketch;

use std::sync::OnceLock;

use gridstride::device::DeviceKind;
use gridstride::{Device, Error, Result};
use proptest::prelude::ProptestConfig;

/// Returns every device that can run here. Each test loops over them.
///
/// - The simulator draws its schedule from `GRIDSTRIDE_SIMULATOR_SEED` (default 1). With
///   `GRIDSTRIDE_TEST_ONLY_SIMULATOR=1`, as under other seeds, it is the only device.
/// - With `GRIDSTRIDE_TEST_ONLY_CPU=1`, as under ThreadSanitizer, the CPU is the only device.
/// - The first GPU, in builds with `cuda`. Without a GPU the tests say on stderr that they skip it;
///   with `GRIDSTRIDE_REQUIRE_CUDA=1` they fail. With `GRIDSTRIDE_TEST_ONLY_CUDA=1`, as under
///   sanitizers, the GPU is the only device.
pub fn devices() -> Vec<Device> {
    if is_set("GRIDSTRIDE_TEST_ONLY_SIMULATOR") {
        return vec![simulator()];
    }
    if is_set("GRIDSTRIDE_TEST_ONLY_CPU") {
        return vec![Device::cpu()];
    }
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

/// Returns `count` devices of the same kind: simulators under different schedules, or the GPUs,
/// repeated if there are fewer.
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

/// Returns the first GPU, if there is one. The GPU stays open, since opening takes a tenth of a
/// second.
pub fn cuda() -> Option<Device> {
    static CUDA: OnceLock<Option<Device>> = OnceLock::new();
    CUDA.get_or_init(open_cuda).clone()
}

/// As [`cuda`], but opens the GPU unless something holds it open.
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

/// Whether a device is too slow for large inputs, or the run is to be short.
pub fn is_slow(device: &Device) -> bool {
    small() || device.kind() == DeviceKind::Simulator
}

/// Declares tests that call generic functions with each type.
#[macro_export]
macro_rules! in_every_type {
    (@ $module:ident $type:ty {$($test:ident)*}) => {
        mod $module {
            $(#[test] fn $test() { super::$test::<$type>() })*
        }
    };
    ($($module:ident $type:ty),*: $tests:tt) => {
        $($crate::in_every_type! { @ $module $type $tests })*
    };
}

/// Declares tests that each consist of one call.
#[macro_export]
macro_rules! tests {
    ($($test:ident => $call:expr;)*) => {
        $(#[test] fn $test() { $call })*
    };
}

/// Configures properties with `usual` cases, or `small` cases in a short run.
pub fn cases(usual: u32, small: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if self::small() { small } else { usual },
        // Failures are printed with their input; files beside the tests would be litter.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Pseudo-random numbers, different for each seed.
pub struct Random(pub u64);

impl Random {
    /// The next state of Knuth's MMIX generator, whose higher bits are the more random ones.
    pub fn state(&mut self) -> u64 {
        self.0 = (self.0)
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0
    }

    /// The next state with its higher bits mixed into the lower ones.
    pub fn bits(&mut self) -> u64 {
        let state = self.state();
        (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// A number from `start` up to and without `end`.
    pub fn within(&mut self, start: i64, end: i64) -> i64 {
        let wide = u128::from(self.state() >> 16) * (end - start) as u128;
        start + (wide >> 48) as i64
    }
}

/// Returns about the least memory limit with which `work` succeeds. Checks that lower limits give
/// allocation errors.
pub fn least_memory<R>(device: &Device, work: impl Fn(&Device) -> Result<R>) -> u64 {
    let mut limit = 0;
    loop {
        match work(&device.with_memory_limit(limit)) {
            Ok(_) => return limit,
            Err(Error::Allocation { .. }) => limit += limit / 8 + 128,
            Err(error) => panic!("{error} within {limit} bytes"),
        }
        assert!(limit < 1 << 30);
    }
}

/// Returns the message of an error.
pub fn message<T>(result: Result<T>) -> Option<String> {
    result.err().map(|error| error.to_string())
}

/// Expects an error whose message has all of `parts` in it.
#[track_caller]
pub fn fails<T>(result: Result<T>, parts: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

/// Expects an error with this message.
#[track_caller]
pub fn fails_with<T>(result: Result<T>, message: impl AsRef<str>) {
    let error = result.err().expect("an error");
    assert_eq!(error.to_string(), message.as_ref());
}

/// The message for a set of no devices, behind the name of the call.
pub const NO_DEVICE: &str =
    "there is no device in the set (Device::gpus() is empty without a GPU: use Device::auto())";

/// Expects an error of the kind of a pattern.
#[macro_export]
macro_rules! assert_error {
    ($result:expr, $error:pat $(if $condition:expr)?) => {
        match &$result {
            Err($error) $(if $condition)? => {}
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("no error"),
        }
    };
}

/// A module of checked-in PTX: its name, the files in the package without their endings, and the
/// architectures.
#[macro_export]
macro_rules! module {
    ($name:literal, $files:literal, $($arch:literal),*) => {
        gridstride::device::Module::new($name, &[$(gridstride::device::Image::new(
            $arch,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/", $files, ".", $arch, ".ptx"
            )),
        )),*])
    };
}

/// Returns `number · 2^exponent`, in two steps, since `2^exponent` alone may be zero or infinite.
pub fn scaled(number: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    number * 2f64.powi(half) * 2f64.powi(exponent - half)
}

/// γ_n = n·u / (1 − n·u), for `roundings` n and unit roundoff `u`: no product of n factors
/// (1 + δ) with |δ| ≤ u is farther from 1 (Higham, 'Accuracy and Stability of Numerical
/// Algorithms', lemma 3.1).
pub fn gamma(roundings: usize, u: f64) -> f64 {
    let product = roundings as f64 * u;
    assert!(product < 1.0, "no bound holds for {roundings} roundings");
    product / (1.0 - product)
}
