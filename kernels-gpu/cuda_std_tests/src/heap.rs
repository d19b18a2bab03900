//! Allocations in kernels, and the sizes of shared memory.

use cuda_std::mem;
use cuda_std::prelude::*;

/// The numbers below the thread's value, their squares in a list of lists, a text, and a value on
/// the heap with a large alignment: what became of them.
///
/// # Safety
/// `out` has an element per element of `values`.
#[kernel]
pub unsafe fn collections(values: &[u32], out: DeviceSliceMut<[u64; 6]>) {
    /// Aligned to more than the heap's 16 bytes.
    #[repr(align(256))]
    struct Aligned(u64);
    for i in thread::grid_stride(values.len()) {
        let value = values[i] % 50;
        let numbers: Vec<u64> = (0..value as u64).collect();
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for &number in &numbers {
            lists.push(vec![number * number; 3]);
        }
        // Grows while it is filled.
        let mut text = String::new();
        for number in &numbers {
            text.push_str(&format!("{number},"));
        }
        let aligned = Box::new(Aligned(value as u64 + 1));
        let shared = Rc::new(numbers.len());
        let other = Rc::clone(&shared);
        let results = [
            numbers.iter().sum(),
            lists.iter().flatten().sum(),
            text.len() as u64,
            aligned.0 + (&raw const *aligned as u64 % 256),
            *other as u64 + Rc::strong_count(&shared) as u64,
            "text".to_owned().len() as u64 + value.to_string().len() as u64,
        ];
        // SAFETY: below the length.
        unsafe { out.set(i, results) };
    }
}

/// Allocates and frees `rounds` times `bytes`, which all together are more than the heap.
///
/// # Safety
/// `out` has an element per thread.
#[kernel]
pub unsafe fn many_allocations(rounds: u32, bytes: usize, out: DeviceSliceMut<u64>) {
    let mut sum = 0;
    for round in 0..rounds {
        let mut block: Vec<u8> = Vec::with_capacity(bytes);
        block.push(round as u8);
        sum += core::hint::black_box(&block)[0] as u64;
    }
    // SAFETY: an element per thread.
    unsafe { out.set(thread::global_index(), sum) };
}

/// One block of the heap for each thread, freed by the next thread: whether it was there, and what
/// it held.
///
/// # Safety
/// `out` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn mallocs(bytes: usize, out: DeviceSliceMut<u64>) {
    let pointers = shared_array![*mut u64; 64];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: below 64; barriers separate the writes from the reads, and each block of the heap is
    // freed once.
    unsafe {
        let pointer = mem::malloc(bytes) as *mut u64;
        if !pointer.is_null() {
            pointer.write(100 + i as u64);
        }
        pointers.add(i).write(pointer);
        thread::sync_threads();
        let next = pointers.add((i + 1) % 64).read();
        out.set(i, if next.is_null() { 0 } else { next.read() });
        mem::free(next.cast());
    }
}

/// An allocation that no heap has room for.
#[kernel(block = 1)]
pub fn out_of_heap(bytes: usize) {
    let block: Vec<u8> = Vec::with_capacity(bytes);
    core::hint::black_box(block);
}

/// Bytes of shared memory: dynamic, and static and dynamic.
///
/// # Safety
/// `out` has two elements.
#[kernel]
pub unsafe fn shared_sizes(out: DeviceSliceMut<u32>) {
    let tile = shared_array![u32; 256];
    // SAFETY: below the lengths; all threads write the same.
    unsafe {
        tile.write(mem::dynamic_smem_size());
        out.set(0, tile.read_volatile());
        out.set(1, mem::total_smem_size());
    }
}
