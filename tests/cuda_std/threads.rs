//! Positions of threads, and grid-stride iteration.

use super::*;

#[test]
fn every_thread_knows_its_place() {
    // The blocks have 24, 105 and 96 threads: warps that cross rows, and a warp in part.
    for (grid, block) in [
        ((2, 3, 4), (4, 3, 2)),
        ((3, 1, 2), (7, 5, 3)),
        ((1, 2, 1), (1, 96, 1)),
    ] {
        let ((gw, gh, gd), (w, h, d)) = (grid, block);
        let mut expected = Vec::new();
        for (bz, by, bx) in each(grid) {
            for (z, y, x) in each(block) {
                let index = x + w * (y + h * z);
                let lane = index % 32;
                expected.push([x, y, z, bx, by, bz, w, h, d, gw, gh, gd, index, lane]);
            }
        }
        for device in with_kernels() {
            let mut out = device.zeros::<[u32; 14]>(expected.len()).unwrap();
            let config = LaunchConfig::new(grid, block);
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &kernels::threads::positions,
                    config,
                    (out.slice_mut(),),
                )
            };
            assert_eq!(out.to_vec().unwrap(), expected, "{device} {config:?}");
        }
    }
}

/// All `(z, y, x)` below a size `(x, y, z)`, x fastest.
fn each(size: (u32, u32, u32)) -> impl Iterator<Item = (u32, u32, u32)> {
    (0..size.2)
        .flat_map(move |z| (0..size.1).flat_map(move |y| (0..size.0).map(move |x| (z, y, x))))
}

#[test]
fn indices_cover_lines_and_planes() {
    for device in with_kernels() {
        let len = 37 * blocks() as usize;
        let mut line = device.zeros::<u64>(len).unwrap();
        let config = LaunchConfig::new(blocks(), 37);
        // SAFETY: an element per thread.
        unsafe {
            launch(
                &device,
                &kernels::threads::indices_1d,
                config,
                (line.slice_mut(),),
            )
        };
        assert_eq!(line.to_vec().unwrap(), (0..len as u64).collect::<Vec<_>>());

        let (width, height) = (3 * 16, 5 * 6);
        let mut plane = device.zeros::<[u64; 2]>(width * height).unwrap();
        let config = LaunchConfig::new((3, 5), (16, 6));
        let arguments = (width, plane.slice_mut());
        // SAFETY: an element per thread, `width` threads wide.
        unsafe { launch(&device, &kernels::threads::indices_2d, config, arguments) };
        for (i, place) in plane.to_vec().unwrap().into_iter().enumerate() {
            assert_eq!(place, [(i % width) as u64, (i / width) as u64]);
        }
    }
}

#[test]
fn strides_visit_every_index_once() {
    for device in with_kernels() {
        for (grid, block, len) in [(1, 1, 5), (2, 32, 63), (3, 20, 60), (2, 33, 200), (4, 8, 0)] {
            let mut visits = device.zeros::<u32>(len).unwrap();
            let mut visitors = device.zeros::<u64>(len).unwrap();
            let arguments = (visits.slice_mut(), visitors.slice_mut());
            let config = LaunchConfig::new(grid, block);
            // SAFETY: as long as each other.
            unsafe { launch(&device, &kernels::threads::strides, config, arguments) };
            assert_eq!(visits.to_vec().unwrap(), vec![1; len]);
            let all = u64::from(grid * block);
            let expected: Vec<u64> = (0..len as u64).map(|i| i % all).collect();
            assert_eq!(visitors.to_vec().unwrap(), expected);
        }
    }
}

#[test]
fn strides_end_at_the_end_of_all_indices() {
    let config = LaunchConfig::new(2, 20);
    for device in with_kernels() {
        let mut out = device.zeros::<u64>(40).unwrap();
        let arguments = (out.slice_mut(),);
        // SAFETY: an element per thread.
        unsafe {
            launch(
                &device,
                &kernels::threads::endless_strides,
                config,
                arguments,
            )
        };
        let expected: Vec<u64> = (0..40).map(|i| i + (i + 40)).collect();
        assert_eq!(out.to_vec().unwrap(), expected);
        let arguments = (33, out.slice_mut());
        // SAFETY: an element per thread.
        unsafe { launch(&device, &kernels::threads::first_strides, config, arguments) };
        let first = |i| if i < 33 { i } else { u64::MAX };
        let expected: Vec<u64> = (0..40).map(first).collect();
        assert_eq!(out.to_vec().unwrap(), expected);
    }
}

#[test]
fn fences_show_writes_to_the_last_block() {
    for device in with_kernels() {
        let count = if small() { 5 } else { 300 };
        let mut parts = device.zeros::<u32>(count + 1).unwrap();
        let mut arrived = device.zeros::<u32>(1).unwrap();
        let config = LaunchConfig::new(count as u32, 32);
        let arguments = (parts.slice_mut(), arrived.slice_mut());
        // SAFETY: an element per block and one more.
        unsafe {
            launch(
                &device,
                &kernels::threads::last_block_sums,
                config,
                arguments,
            )
        };
        let sum: u32 = (0..count as u32).map(|block| 3 * block + 1).sum();
        assert_eq!(parts.to_vec().unwrap()[count], sum);
        assert_eq!(arrived.to_vec().unwrap(), [count as u32]);
    }
}

#[test]
fn vectors_are_the_place() {
    for (grid, block) in [((2, 3, 4), (4, 3, 2)), ((3, 1, 2), (7, 5, 3))] {
        let ((gw, gh, gd), (w, h, d)) = (grid, block);
        let mut expected = Vec::new();
        for (i, (bz, by, bx)) in each(grid).enumerate() {
            for (j, (z, y, x)) in each(block).enumerate() {
                let (column, row, layer) = (bx * w + x, by * h + y, bz * d + z);
                let index = i as u32 * (w * h * d) + j as u32;
                expected.push(
                    [
                        [x, y, z].as_slice(),
                        &[
                            bx, by, bz, w, h, d, gw, gh, gd, column, row, layer, column, row,
                        ],
                        &[index, column, u32::from(index == 0), 32, j as u32],
                    ]
                    .concat(),
                );
            }
        }
        for device in with_kernels() {
            let mut out = device.zeros::<[u32; 22]>(expected.len()).unwrap();
            let config = LaunchConfig::new(grid, block);
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &kernels::threads::vectors,
                    config,
                    (out.slice_mut(),),
                )
            };
            assert_eq!(
                out.to_vec().unwrap().concat(),
                expected.concat(),
                "{device}"
            );
        }
    }
}

#[test]
fn barriers_count() {
    for device in with_kernels() {
        for (block, threads) in [((7, 10, 1), 70), ((1, 1, 1), 1), ((32, 2, 4), 256)] {
            for limit in [0, 1, 33, threads - 1, threads, 1000] {
                let count = threads * blocks();
                let mut out = device.zeros::<[u32; 6]>(count as usize).unwrap();
                let config = LaunchConfig::new(blocks(), block);
                let arguments = (limit, out.slice_mut());
                // SAFETY: an element per thread.
                unsafe {
                    launch(
                        &device,
                        &kernels::threads::counting_barriers,
                        config,
                        arguments,
                    )
                };
                let below = limit.min(threads);
                let found = |count: u32| [count, u32::from(count == threads), u32::from(count > 0)];
                let [a, b, c] = found(below);
                let [d, e, f] = found(threads - below);
                let expected = vec![[a, b, c, d, e, f]; count as usize];
                assert_eq!(
                    out.to_vec().unwrap(),
                    expected,
                    "{device}, {limit} of {threads}"
                );
            }
        }
    }
}

#[test]
fn fences_order_what_blocks_pass_on() {
    let count = if small() { 5 } else { 100 };
    let first = |value: u32| {
        let mut all = vec![0; count + 1];
        all[0] = value;
        all
    };
    let numbers = 0..=count as u32;
    let expected: Vec<u32> = numbers.map(|i| 9 + i * i.saturating_sub(1) / 2).collect();
    for device in with_kernels() {
        for kernel in [
            &kernels::threads::pass_on_device_fence,
            &kernels::threads::pass_on_grid_fence,
            &kernels::threads::pass_on_system_fence,
        ] {
            let mut values = device.buffer_from(&first(9)).unwrap();
            let mut flags = device.buffer_from(&first(1)).unwrap();
            let mut started = device.zeros::<u32>(1).unwrap();
            let arguments = (values.slice_mut(), flags.slice_mut(), started.slice_mut());
            // SAFETY: an element per block and one more, of which the first are set.
            unsafe {
                launch(
                    &device,
                    kernel,
                    LaunchConfig::new(count as u32, 1),
                    arguments,
                )
            };
            assert_eq!(values.to_vec().unwrap(), expected, "{device} {kernel:?}");
        }
    }
}
