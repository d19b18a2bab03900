//! Statics in shared, constant and global memory.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::address_space;
use cuda_std::atomic::BlockAtomicF32;
use cuda_std::prelude::*;
use cuda_std::ptr::{AddressSpace, is_in_address_space};

/// Threads of a block.
pub const BLOCK: usize = 64;

/// The values that constant memory begins with.
#[address_space(constant)]
static PRIMES: [u16; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// Alone, and not an array.
#[address_space(constant)]
static OFFSET: f64 = -0.25;

/// Counts the threads of all launches.
#[address_space(global)]
static LAUNCHED: AtomicU32 = AtomicU32::new(1000);

/// Turns round each block of `data`, and adds up its values in a float.
///
/// # Safety
/// `data` has an element per thread, `sums` one per block.
#[kernel(block = 64)]
pub unsafe fn shared_statics(data: DeviceSliceMut<u32>, sums: DeviceSliceMut<f32>) {
    #[address_space(shared)]
    static mut TILE: [u32; BLOCK] = [0; BLOCK];
    #[address_space(shared)]
    static SUM: BlockAtomicF32 = BlockAtomicF32::new(0.0);
    let (i, at) = (thread::thread_idx_x() as usize, thread::global_index());
    // SAFETY: barriers separate the writes from the reads; the sum is of this block.
    unsafe {
        TILE[i] = data.at(at);
        if i == 0 {
            SUM.store(0.5, Ordering::Relaxed);
        }
        thread::sync_threads();
        SUM.fetch_add(TILE[i] as f32, Ordering::Relaxed);
        data.set(at, TILE[BLOCK - 1 - i]);
        thread::sync_threads();
        if i == 0 {
            sums.set(at / BLOCK, SUM.load(Ordering::Relaxed));
        }
    }
}

/// Constants that each thread looks up for itself.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn constant_statics(out: DeviceSliceMut<f64>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { out.set(i, PRIMES[i % PRIMES.len()] as f64 + OFFSET) };
}

/// A static that lasts from launch to launch: the first thread of each writes what it was.
///
/// # Safety
/// `out` has an element.
#[kernel]
pub unsafe fn global_statics(out: DeviceSliceMut<u32>) {
    let before = LAUNCHED.fetch_add(1, Ordering::Relaxed);
    if thread::first() {
        // SAFETY: one thread.
        unsafe { out.set(0, before) };
    }
}

/// Whether each kind of static, a variable and a parameter's memory are in global, shared, constant
/// and local memory.
///
/// # Safety
/// `out` has five elements.
#[kernel(block = 1)]
pub unsafe fn memories(out: DeviceSliceMut<[u32; 4]>) {
    #[address_space(shared)]
    static mut SHARED: u32 = 0;
    let mut local = core::hint::black_box([thread::grid_dim_x(); 4]);
    let addresses = [
        (&raw const LAUNCHED).cast(),
        &raw const SHARED,
        (&raw const PRIMES).cast(),
        (&raw mut local).cast_const().cast(),
        out.as_mut_ptr().cast_const().cast(),
    ];
    let spaces = [
        AddressSpace::Global,
        AddressSpace::Shared,
        AddressSpace::Constant,
        AddressSpace::Local,
    ];
    for (i, address) in addresses.into_iter().enumerate() {
        // SAFETY: the addresses are of statics and variables, and there are five elements.
        unsafe {
            out.set(
                i,
                spaces.map(|space| is_in_address_space::<u32>(address, space) as u32),
            )
        };
    }
}

/// Writes through addresses of each memory that are converted there and back, and reads the values
/// themselves.
///
/// # Safety
/// `out` has four elements.
#[kernel(block = 1)]
pub unsafe fn converted_addresses(out: DeviceSliceMut<u32>) {
    use cuda_std::ptr::{
        convert_generic_to_specific_address_space as specific,
        convert_specific_address_space_to_generic as generic,
    };
    #[address_space(shared)]
    static mut SHARED: u32 = 0;
    let mut local = core::hint::black_box([7, thread::grid_dim_x()]);
    // SAFETY: the conversions are between the memory that an address is in and generic ones; there
    // are four elements.
    unsafe {
        let there_and_back = |address: *const u32, space| generic(specific(address, space), space);
        let shared = there_and_back(&raw const SHARED, AddressSpace::Shared).cast_mut();
        shared.write_volatile(21);
        let in_local = there_and_back((&raw mut local).cast(), AddressSpace::Local).cast_mut();
        in_local.write_volatile(22);
        let constant = there_and_back((&raw const PRIMES).cast(), AddressSpace::Constant);
        let global = there_and_back(out.as_mut_ptr().cast_const(), AddressSpace::Global).cast_mut();
        global.write_volatile((&raw const SHARED).read_volatile());
        out.set(1, core::hint::black_box(&local)[0]);
        let [first, second] = constant.cast::<[u16; 2]>().read_volatile();
        out.set(2, u32::from(first) | u32::from(second) << 16);
        out.set(3, local[1]);
    }
}
