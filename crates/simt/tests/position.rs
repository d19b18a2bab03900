//! Where threads stand, and how they share work.

mod common;

use common::{launch, slice_mut, under_all_schedules};
use cuda_std::host::{Dim3, LaunchConfig};
use cuda_std::prelude::*;
use proptest::prelude::*;
use simt::Simulator;

/// Twelve numbers a thread: index and size in all dimensions.
#[kernel]
unsafe fn positions(out: DeviceSliceMut<[u32; 12]>) {
    let (x, y) = (thread::block_idx_x(), thread::block_idx_y());
    let (width, height) = (thread::grid_dim_x(), thread::grid_dim_y());
    let block = x + width * (y + height * thread::block_idx_z());
    let threads = thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z();
    let position = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        x,
        y,
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        width,
        height,
        thread::grid_dim_z(),
    ];
    let index = block * threads + thread::index_in_block();
    // SAFETY: there is an element for each thread of the grid.
    unsafe { out.set(index as usize, position) };
}

#[test]
fn every_thread_knows_its_place_in_three_dimensions() {
    let (grid, block) = (Dim3::from((3, 2, 4)), Dim3::from((5, 7, 2)));
    let mut expected = Vec::new();
    let indices = |shape: Dim3| {
        (0..shape.z)
            .flat_map(move |z| (0..shape.y).flat_map(move |y| (0..shape.x).map(move |x| [x, y, z])))
    };
    for b in indices(grid) {
        for t in indices(block) {
            expected.push([
                t[0], t[1], t[2], b[0], b[1], b[2], block.x, block.y, block.z, grid.x, grid.y,
                grid.z,
            ]);
        }
    }
    under_all_schedules(|simulator| {
        let mut out = vec![[u32::MAX; 12]; expected.len()];
        let config = LaunchConfig::new((grid.x, grid.y, grid.z), (block.x, block.y, block.z));
        launch(simulator, &positions, config, (slice_mut(&mut out),)).unwrap();
        assert_eq!(out, expected);
    });
}

#[kernel]
unsafe fn index_2d(out: DeviceSliceMut<u32>) {
    let (x, y) = thread::index_2d().as_usizevec2().into();
    let width = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    // SAFETY: there is an element for each thread of the grid.
    unsafe { out.set(y * width + x, (y * 1000 + x) as u32) };
}

#[test]
fn two_dimensional_indices_cover_the_plane() {
    let (width, height) = (3 * 8, 5 * 4);
    let mut out = vec![0; width * height];
    let config = LaunchConfig::new((3, 5), (8, 4));
    launch(
        &Simulator::default(),
        &index_2d,
        config,
        (slice_mut(&mut out),),
    )
    .unwrap();
    for (i, &value) in out.iter().enumerate() {
        assert_eq!(value as usize, i / width * 1000 + i % width);
    }
}

#[kernel]
unsafe fn count_visits(visits: DeviceSliceMut<u32>) {
    for i in thread::grid_stride(visits.len()) {
        // SAFETY: `i` is below the length, and only atomics touch the element.
        unsafe { atomic::add(visits.address(i), 1) };
    }
}

/// Nothing but `grid_stride` at the end of the index range.
#[kernel]
unsafe fn end_of_range(count: DeviceSliceMut<u64>) {
    let visits = thread::grid_stride(usize::MAX).map(|i| i as u64);
    // The first two only: all would take years.
    let sum = visits.take(2).sum::<u64>();
    // SAFETY: there is an element for each thread.
    unsafe { count.set(thread::global_index(), sum) };
}

#[test]
fn lengths_at_the_end_of_the_range_do_not_overflow() {
    let mut sums = [0; 8];
    let config = LaunchConfig::new(2, 4);
    launch(
        &Simulator::default(),
        &end_of_range,
        config,
        (slice_mut(&mut sums),),
    )
    .unwrap();
    assert!(sums.iter().zip(0..).all(|(&sum, i)| sum == 2 * i + 8));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn grid_stride_visits_every_index_once(
        len in 0_usize..3000,
        grid in 1_u32..40,
        block in 1_u32..130,
        seed in 0_u64..4,
    ) {
        let mut visits = vec![0; len];
        let config = LaunchConfig::new(grid, block);
        let simulator = Simulator::default().seed(seed);
        launch(&simulator, &count_visits, config, (slice_mut(&mut visits),)).unwrap();
        prop_assert!(visits.iter().all(|&count| count == 1));
    }
}
