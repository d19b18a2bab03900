//! The devices of unit tests.

use super::Device;

/// Returns the simulator, or with `GRIDSTRIDE_TEST_ONLY_CUDA=1`, as under the sanitizers of CUDA,
/// the first GPU.
///
/// # Panics
/// Panics if there is no such GPU.
#[cfg(feature = "simulator")]
#[doc(hidden)]
pub fn device_for_tests() -> Device {
    let on_gpu = std::env::var("GRIDSTRIDE_TEST_ONLY_CUDA").is_ok_and(|value| value == "1");
    let device = if on_gpu {
        Device::cuda(0)
    } else {
        Device::simulator()
    };
    device.unwrap()
}

/// Returns the CPU and a GPU, if there is one.
///
/// # Panics
/// With `GRIDSTRIDE_REQUIRE_CUDA` there has to be one.
#[doc(hidden)]
pub fn cpu_and_gpu() -> impl Iterator<Item = Device> {
    let gpu = Device::cuda(0);
    assert!(gpu.is_ok() || std::env::var_os("GRIDSTRIDE_REQUIRE_CUDA").is_none());
    [Ok(Device::cpu()), gpu].into_iter().flatten()
}
