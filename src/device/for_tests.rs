//! The device of the unit tests that launch kernels.

use super::Device;

/// Returns the simulator, or with `GRIDSTRIDE_TEST_ONLY_CUDA=1`, as under the sanitizers of CUDA,
/// the first GPU.
pub(crate) fn device_for_tests() -> Device {
    let on_gpu = std::env::var("GRIDSTRIDE_TEST_ONLY_CUDA").is_ok_and(|value| value == "1");
    let device = if on_gpu {
        Device::cuda(0)
    } else {
        Device::simulator()
    };
    device.unwrap()
}
