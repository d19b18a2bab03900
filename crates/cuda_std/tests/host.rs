//! The host's side: kernels as values, launch shapes, and what happens outside of a kernel.

use cuda_std::host::{self, BlockBound, Dim3, Kernel, KernelArgs, LaunchConfig};
use cuda_std::host::{
    BlockOfCluster, Lane, Misuse, PendingWgmma, Perform, Position, WarpOperation, is_inside_kernel,
};
use cuda_std::prelude::*;
use cuda_std::{GpuFloat, async_copy, mma};
use std::alloc::Layout;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};

/// The message that `f` panics with.
fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("a panic");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn functions_outside_of_a_kernel_panic_clearly() {
    let calls: [(&str, fn()); 10] = [
        ("thread_idx_x", || _ = thread::thread_idx_x()),
        ("grid_dim_z", || _ = thread::grid_dim_z()),
        ("index_1d", || _ = thread::index_1d()),
        ("global_index", || _ = thread::global_index()),
        ("grid_stride", || _ = thread::grid_stride(3)),
        ("sync_threads", thread::sync_threads),
        ("ballot", || _ = warp::ballot(1, true)),
        ("shuffle_xor", || _ = warp::shuffle_xor(1, 0_u64, 0)),
        ("shared_array", || _ = shared_array![u32; 4]),
        ("dynamic_shared_mem", || {
            _ = shared::dynamic_shared_mem::<u32>()
        }),
    ];
    for (name, call) in calls {
        let message = panic_message(call);
        assert!(message.contains("outside of a kernel"), "{name}: {message}");
    }
    assert!(!is_inside_kernel());
}

#[test]
fn slices_are_checked_outside_of_a_kernel_too() {
    let mut data = [1_u32, 2, 3];
    // SAFETY: the slice covers `data`, and the accesses past its end panic.
    unsafe {
        let slice = DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len());
        slice.set(2, slice.at(0) + 4);
        assert_eq!(slice.at(2), 5);
        let message = panic_message(|| slice.set(3, 0));
        assert!(message.starts_with("write of element 3"), "{message}");
        assert!(
            message.contains("slice of 3") && message.contains("host.rs"),
            "{message}"
        );
    }
    // SAFETY: the slice covers the first two elements of `data`.
    let slice = unsafe { DeviceSlice::from_raw_parts(data.as_ptr(), 2) };
    // SAFETY: the elements live on this stack.
    assert_eq!(unsafe { (slice.get(1), slice.get(2)) }, (Some(2), None));
    assert_eq!((slice.len(), slice.is_empty()), (2, false));
}

#[test]
fn fences_and_atomics_need_no_kernel() {
    thread::device_fence();
    let mut value = 5_u32;
    // SAFETY: a live variable that only this thread uses.
    assert_eq!(unsafe { atomic::add(&raw mut value, 2) }, 5);
    assert_eq!(value, 7);
}

#[test]
fn for_len_covers_the_length() {
    let blocks = |len, block| LaunchConfig::for_len(len, block).grid;
    for (len, block, expected) in [
        (0, 256, 1),
        (1, 256, 1),
        (255, 256, 1),
        (256, 256, 1),
        (257, 256, 2),
        (1000, 1, 1000),
        (usize::MAX, 1, i32::MAX as u32),
        (usize::MAX, 1024, i32::MAX as u32),
        // A block of 0 is refused at the launch; here it must not divide by 0.
        (10, 0, 10),
    ] {
        assert_eq!(blocks(len, block), Dim3::from(expected), "{len} by {block}");
    }
    let config = LaunchConfig::for_len(10, 4).with_shared_bytes(64);
    assert_eq!((config.block, config.shared_bytes), (Dim3::from(4), 64));
}

#[test]
fn sizes_count_without_wrapping() {
    assert_eq!(Dim3::from((2, 3)).count(), 6);
    assert_eq!(Dim3::from((2, 0, 5)).count(), 0);
    assert_eq!(Dim3::from((u32::MAX, u32::MAX, u32::MAX)).count(), u64::MAX);
    assert_eq!(Dim3::from((1, 2, 3)).to_string(), "(1, 2, 3)");
}

/// A parameter that is not a number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, DeviceParam)]
struct Pair(u8, f64);

#[test]
fn arguments_keep_their_order() {
    let mut target = 0_u16;
    let args = (1_u8, &raw mut target, Pair(3, 4.5), -5_i64, 6.25_f32);
    let (byte, pointer, pair, long, float) = args.with_addresses(|addresses| {
        assert_eq!(addresses.len(), 5);
        // SAFETY: each address is that of the argument at its place, of that type.
        unsafe {
            (
                addresses[0].cast::<u8>().read(),
                addresses[1].cast::<*mut u16>().read(),
                addresses[2].cast::<Pair>().read(),
                addresses[3].cast::<i64>().read(),
                addresses[4].cast::<f32>().read(),
            )
        }
    });
    assert_eq!((byte, pointer, pair, long, float), args);
    ().with_addresses(|addresses| assert!(addresses.is_empty()));
}

#[test]
fn slices_are_two_parameters() {
    #[kernel]
    unsafe fn sum(_: u8, a: &[u32], b: DeviceSlice<u32>, c: &mut [u64], _: &u32) {
        assert_eq!((a.len(), b.len(), c.len()), (3, 3, 1));
    }
    let (a, mut c, d) = ([1, 2, 3], [5], 6);
    // SAFETY: arrays that live longer.
    let args = unsafe {
        let a = DeviceSlice::from_raw_parts(a.as_ptr(), a.len());
        let c = DeviceSliceMut::from_raw_parts(c.as_mut_ptr(), c.len());
        (7, a, a, c, &raw const d)
    };
    sum.with_addresses(args, |addresses| {
        assert_eq!(addresses.len(), 7);
        // SAFETY: each address is that of the parameter at its place, of that type.
        unsafe {
            assert_eq!(addresses[0].cast::<u8>().read(), 7);
            assert_eq!(addresses[1].cast::<*const u32>().read(), a.as_ptr());
            assert_eq!(addresses[2].cast::<usize>().read(), 3);
            assert_eq!(addresses[3].cast::<DeviceSlice<u32>>().read().len(), 3);
            assert_eq!(addresses[4].cast::<*const u64>().read(), c.as_ptr());
            assert_eq!(addresses[5].cast::<usize>().read(), 1);
            assert_eq!(addresses[6].cast::<*const u32>().read(), &raw const d);
        }
    });
    // SAFETY: the slices are valid.
    unsafe { sum.run_thread(args) };
}

#[test]
fn there_may_be_24_arguments() {
    #[kernel]
    #[allow(clippy::too_many_arguments)]
    unsafe fn many(
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u8,
        _: u64,
    ) {
    }
    fn count<A: KernelArgs>(kernel: &Kernel<A>, args: A) -> usize {
        kernel.with_addresses(args, |addresses| addresses.len())
    }
    let args = (
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1 << 40,
    );
    assert_eq!(count(&many, args), 24);
}

#[test]
fn numbers_of_16_bits_are_elements_of_buffers() {
    fn is_element<T: bytemuck::Pod>() {}
    is_element::<cuda_std::f16>();
    is_element::<cuda_std::bf16>();
}

#[test]
fn functions_of_floats_are_those_of_the_trait() {
    // On the host the methods are those of `std`, and some of these results differ.
    for i in 1..=10_000_u16 {
        let x = f32::from(i) * 0.01;
        let (power, sine) = (GpuFloat::powf(x, 2.3), GpuFloat::sin(x));
        assert_eq!(float::powf(x, 2.3).to_bits(), power.to_bits());
        assert_eq!(float::sin(x).to_bits(), sine.to_bits());
    }
}

#[kernel]
unsafe fn any() {}
#[kernel(block = 256)]
unsafe fn line() {}
#[kernel(block = (16, 8))]
unsafe fn plane() {}
#[kernel(block = (4, 4, 64,))]
unsafe fn cube() {}
#[kernel(max_block = 512)]
unsafe fn at_most() {}
#[kernel(max_block = 512, min_blocks = 2)]
unsafe fn resident() {}

#[test]
fn kernels_know_their_names_and_bounds() {
    let exactly = |shape: (u32, u32, u32)| BlockBound::Exactly(Dim3::from(shape));
    for (kernel, name, bound) in [
        (&any, "any", BlockBound::Any),
        (&line, "line", exactly((256, 1, 1))),
        (&plane, "plane", exactly((16, 8, 1))),
        (&cube, "cube", exactly((4, 4, 64))),
        (&at_most, "at_most", BlockBound::AtMost(512)),
        (&resident, "resident", BlockBound::AtMost(512)),
    ] {
        assert_eq!((kernel.name(), kernel.bound()), (name, bound));
        assert_eq!(kernel.package(), Some("gridstride_cuda_std"));
    }
    assert_eq!(
        format!("{any:?}"),
        r#"Kernel { name: "any", package: Some("gridstride_cuda_std"), bound: Any, .. }"#
    );
}

/// An executor of a single thread.
struct Alone(Position);

impl Alone {
    fn at(x: u32) -> Self {
        Self(Position {
            thread: Dim3::from((x, 0, 0)),
            block: Dim3::from((2, 0, 0)),
            block_dim: Dim3::from(8),
            grid_dim: Dim3::from(3),
        })
    }
}

// SAFETY: it hands out no shared memory.
unsafe impl Lane for Alone {
    fn position(&self) -> &Position {
        &self.0
    }
    fn sync_threads(&self, site: &'static Location<'static>) {
        panic!("barrier at {site}");
    }
    fn pause(&self, _: Option<usize>, site: &'static Location<'static>) {
        panic!("pause at {site}");
    }
    fn warp(
        &self,
        operation: WarpOperation,
        mask: u32,
        value: u32,
        argument: u32,
        site: &'static Location<'static>,
    ) -> u32 {
        assert!(site.file().ends_with("host.rs"));
        panic!("{operation} {mask} {value} {argument}");
    }
    fn collective(
        &self,
        operation: WarpOperation,
        words: &mut [u32],
        _: &Perform<'_>,
        site: &'static Location<'static>,
    ) {
        assert!(site.file().ends_with("host.rs"));
        panic!("{operation} {words:?}");
    }
    unsafe fn copy_async(
        &self,
        to: u32,
        from: Option<*const u8>,
        bytes: usize,
        site: &'static Location<'static>,
    ) {
        assert!(site.file().ends_with("host.rs"));
        panic!("copy {to} {from:?} {bytes}");
    }
    fn commit_copies(&self) {
        panic!("commit")
    }
    fn wait_for_copies(&self, pending: u32) {
        panic!("wait {pending}")
    }
    fn pending_wgmma(&self) -> &RefCell<PendingWgmma> {
        panic!("no matrix instructions")
    }
    fn cluster_rank(&self) -> u32 {
        0
    }
    fn cluster_sync(&self, site: &'static Location<'static>) {
        panic!("cluster at {site}")
    }
    fn block_of_cluster(&self, _: u32) -> Option<BlockOfCluster<'_>> {
        None
    }
    fn misuse(&self, misuse: Misuse, site: &'static Location<'static>) -> ! {
        panic!("{misuse} at {site}")
    }
    fn shared_static(&self, _: usize, _: Layout) -> *mut u8 {
        panic!("no shared memory")
    }
    fn shared_dynamic(&self) -> *mut u8 {
        panic!("no shared memory")
    }
    fn shared_dynamic_bytes(&self) -> usize {
        0
    }
    fn out_of_bounds(
        &self,
        access: &'static str,
        index: usize,
        length: usize,
        _: &'static Location<'static>,
    ) -> ! {
        panic!("{access} {index} {length}")
    }
}

/// Enters a lane; nothing here suspends, so calls end in order.
fn enter<R>(lane: &Alone, run: impl FnOnce() -> R) -> R {
    // SAFETY: nothing here suspends, so calls end in order, and the lane is borrowed for the whole
    // call.
    unsafe { host::enter(lane, run) }
}

#[test]
fn a_lane_is_current_while_it_is_entered() {
    let (outer, inner) = (Alone::at(3), Alone::at(5));
    enter(&outer, || {
        assert!(is_inside_kernel());
        assert_eq!(thread::global_index(), 2 * 8 + 3);
        assert_eq!(enter(&inner, thread::thread_idx_x), 5);
        // Also back when it unwinds.
        panic_message(|| enter(&inner, || panic!("on purpose")));
        assert_eq!(thread::thread_idx_x(), 3);
        let elsewhere = std::thread::spawn(is_inside_kernel).join();
        assert!(!elsewhere.expect("no panic"), "each OS thread has its own");
    });
    assert!(!is_inside_kernel());
}

#[test]
fn calls_reach_the_lane_with_their_place() {
    let lane = Alone::at(0);
    let message = |call: fn()| panic_message(|| enter(&lane, call));
    let barrier = message(thread::sync_threads);
    assert!(barrier.starts_with("barrier at"), "{barrier}");
    let calls: [(fn(), &str); 5] = [
        (
            || _ = warp::shuffle_up(7, -1_i32, 2),
            "shuffle_up 7 4294967295 2",
        ),
        (
            || _ = warp::shuffle_idx(7, 1_u64 << 32 | 9, 2),
            "shuffle_idx 7 9 2",
        ),
        (|| _ = warp::all(7, true), "ballot 7 1 0"),
        (|| _ = warp::match_any(7, 4), "match_any 7 4 0"),
        (
            || _ = warp::reduce_sum(4_u32),
            "shuffle_xor 4294967295 4 16",
        ),
    ];
    for (call, expected) in calls {
        assert_eq!(message(call), expected);
    }
    let product = message(|| mma::m16n8k16_bf16(&mut [1.0; 4], [2; 4], [3; 2]));
    assert_eq!(
        product,
        "m16n8k16_bf16 [1065353216, 1065353216, 1065353216, 1065353216, 2, 2, 2, 2, 3, 3]"
    );
    assert_eq!(message(async_copy::commit), "commit");
    assert_eq!(message(async_copy::wait::<3>), "wait 3");
    // SAFETY: the lane refuses the access.
    let read = message(|| unsafe {
        DeviceSlice::<u32>::from_raw_parts(std::ptr::null(), 4).at(6);
    });
    assert_eq!(read, "read 6 4");
}

/// Compiles without a warning.
#[deny(unused)]
mod of_gpus {
    #[cuda_std::gpu_only]
    pub fn plus_one(mut number: u32, _: u32) -> u32 {
        number += 1;
        number
    }
}

#[test]
fn functions_of_gpus_panic() {
    let message = panic_message(|| of_gpus::plus_one(1, 2));
    assert_eq!(message, "`plus_one` runs on a GPU only");
}

/// Statics that the program does not have. The condition is below the macro's attribute, so the macro
/// sees it.
#[cuda_std::address_space(shared)]
#[cfg(any())]
static mut NO_TILE: [f32; 4] = [0.0; 4];

#[cuda_std::address_space(constant)]
#[cfg(any())]
static mut NO_WEIGHTS: [f32; 4] = [0.0; 4];

#[test]
fn statics_that_are_configured_out_are_not_listed() {
    assert!(host::SHARED_STATICS.is_empty());
    assert!(host::CONSTANT_STATICS.is_empty());
}
