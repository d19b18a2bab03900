//! A generic kernel: an entry for each list of arguments.

use super::*;
use cuda_std::DeviceParam;
use cuda_std::host::Instance;
use gridstride::device::Element;
use kernels::generics::{block_sums, block_sums_of_integers};

/// Launches the kernel of a type and a number of threads on whole numbers, whose sums are exact in any order.
fn sums<T, A>(
    device: &Device,
    kernel: &Kernel<A>,
    threads: u32,
    number: impl Fn(usize) -> T,
) -> Vec<T>
where
    T: Element,
    A: KernelArgs + From<(DeviceSlice<T>, DeviceSliceMut<T>)>,
{
    let values: Vec<T> = (0..blocks() as usize * threads as usize)
        .map(number)
        .collect();
    let input = device.buffer_from(&values).unwrap();
    let mut out = device.zeros::<T>(blocks() as usize).unwrap();
    let arguments = A::from((input.slice(), out.slice_mut()));
    // SAFETY: an element per thread, and one per block.
    unsafe {
        launch_of(
            &COMMON,
            device,
            kernel,
            LaunchConfig::new(blocks(), threads),
            arguments,
        )
    };
    out.to_vec().unwrap()
}

/// The kernels are found by their arguments.
fn of_type<T: DeviceParam, const N: u32>() -> &'static str
where
    block_sums<T, N>: Instance,
{
    block_sums::<T, N>().name()
}

#[test]
fn each_instance_has_its_types_and_its_shape() {
    let expected = |threads: usize| -> Vec<usize> {
        let sum = |block| (0..threads).map(|i| (block * threads + i) % 100).sum();
        (0..blocks() as usize).map(sum).collect()
    };
    for device in with_kernels() {
        let found = sums(&device, block_sums::<f32, 64>(), 64, |i| (i % 100) as f32);
        assert!(
            found.iter().zip(expected(64)).all(|(&a, b)| a == b as f32),
            "{device}"
        );
        let found = sums(&device, block_sums::<f64, 32>(), 32, |i| (i % 100) as f64);
        assert!(
            found.iter().zip(expected(32)).all(|(&a, b)| a == b as f64),
            "{device}"
        );
        let found = sums(&device, &block_sums_of_integers, 128, |i| (i % 100) as u32);
        assert!(
            found
                .iter()
                .zip(expected(128))
                .all(|(&a, b)| a as usize == b),
            "{device}"
        );
    }
    assert_eq!(of_type::<f32, 64>(), "block_sums_f32_64");
    assert_eq!(block_sums::<u32, 128>().name(), "block_sums_of_integers");
}
