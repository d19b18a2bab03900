//! Shared memory and the block's barrier.

use super::*;

const LEN: usize = kernels::shared_memory::BLOCK as usize;

/// Returns the index of the element `steps` after that of thread i, within its block of LEN.
fn neighbour(i: usize, steps: usize) -> usize {
    i - i % LEN + (i + steps) % LEN
}

#[test]
fn arrays_of_all_elements_are_apart() {
    let count = LEN * blocks() as usize;
    let input: Vec<u32> = random_u32(1, count).iter().map(|v| v >> 9).collect();
    for device in with_kernels() {
        let values = device.buffer_from(&input).unwrap();
        let mut out = device.zeros::<[u64; 5]>(count).unwrap();
        let config = LaunchConfig::new(blocks(), LEN as u32);
        let arguments = (values.slice(), out.slice_mut());
        // SAFETY: an element per thread.
        unsafe {
            launch(
                &device,
                &kernels::shared_memory::shared_arrays,
                config,
                arguments,
            )
        };
        for (i, read) in out.to_vec().unwrap().into_iter().enumerate() {
            let value = u64::from(input[neighbour(i, 1)]);
            let (byte, inverse) = (value % 256, 255 - value % 256);
            // The values are below 2²³, so that they are exact as floats.
            let expected = [
                byte,
                value,
                value << 32 | value,
                value,
                (2 * value + 1) * 256 + inverse,
            ];
            assert_eq!(read, expected, "{device}, thread {i}");
        }
    }
}

#[test]
fn functions_have_arrays_and_barriers() {
    let count = LEN * blocks() as usize;
    let input = random_u32(2, count);
    let expected: Vec<u32> = (0..count).map(|i| input[neighbour(i, 2)]).collect();
    for device in with_kernels() {
        for kernel in [
            &kernels::shared_memory::shared_in_a_helper,
            &kernels::shared_memory::shared_in_a_call,
        ] {
            let mut data = device.buffer_from(&input).unwrap();
            let config = LaunchConfig::new(blocks(), LEN as u32);
            // SAFETY: an element per thread.
            unsafe { launch(&device, kernel, config, (data.slice_mut(),)) };
            assert_eq!(data.to_vec().unwrap(), expected, "{device} {kernel:?}");
        }
    }
}

#[test]
fn dynamic_memory_is_as_large_as_the_launch_says() {
    for device in with_kernels() {
        for (block, steps) in [(1, 3), (33, 40), (64, 0), (100, 7)] {
            let count = block * blocks() as usize;
            let input = random(3, count);
            let mut data = device.buffer_from(&input).unwrap();
            let config = LaunchConfig::new(blocks(), block as u32);
            let config = config.with_shared_bytes(16 * block as u32);
            let arguments = (steps, data.slice_mut());
            // SAFETY: an element and 16 bytes per thread.
            unsafe {
                launch(
                    &device,
                    &kernels::shared_memory::dynamic_ring,
                    config,
                    arguments,
                )
            };
            let from = |i| i - i % block + (i + steps as usize) % block;
            let expected: Vec<u64> = (0..count).map(|i| input[from(i)]).collect();
            assert_eq!(data.to_vec().unwrap(), expected, "{device}");
        }
    }
}

#[test]
fn static_and_dynamic_memory_are_apart() {
    for device in with_kernels() {
        let count = LEN * blocks() as usize;
        let mut out = device.zeros::<u32>(count).unwrap();
        let config = LaunchConfig::new(blocks(), LEN as u32).with_shared_bytes(4 * LEN as u32);
        let kernel = &kernels::shared_memory::static_and_dynamic;
        // SAFETY: an element and 4 bytes per thread.
        unsafe { launch(&device, kernel, config, (out.slice_mut(),)) };
        let expected: Vec<u32> = (0..count)
            .map(|i| (LEN - 1 - i % LEN) as u32)
            .map(|other| 1000 * other + (other + 1) % 256)
            .collect();
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn trees_add_up_blocks() {
    let count = LEN * blocks() as usize;
    let input: Vec<i64> = random(4, count).iter().map(|&v| v as i64 >> 8).collect();
    let expected: Vec<i64> = input.chunks(LEN).map(|block| block.iter().sum()).collect();
    for device in with_kernels() {
        let values = device.buffer_from(&input).unwrap();
        let mut sums = device.zeros::<i64>(blocks() as usize).unwrap();
        let config = LaunchConfig::new(blocks(), LEN as u32);
        let arguments = (values.slice(), sums.slice_mut());
        // SAFETY: an element per thread, and one per block.
        unsafe {
            launch(
                &device,
                &kernels::shared_memory::block_sums,
                config,
                arguments,
            )
        };
        assert_eq!(sums.to_vec().unwrap(), expected, "{device}");
    }
}
