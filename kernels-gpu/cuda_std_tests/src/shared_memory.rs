//! Shared arrays, dynamic shared memory and the barrier.

use cuda_std::prelude::*;

/// Threads in a block of these kernels.
pub const BLOCK: u32 = 64;

const LEN: usize = BLOCK as usize;

/// Bytes with padding between them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Padded {
    /// Some number.
    pub number: f64,
    /// And a byte behind it.
    pub byte: u8,
}

/// Each thread reads what its neighbour wrote into five arrays of different elements.
///
/// # Safety
/// `input` and `out` have an element per thread.
#[kernel(block = 64)]
pub unsafe fn shared_arrays(input: DeviceSlice<u32>, out: DeviceSliceMut<[u64; 5]>) {
    let bytes = shared_array![u8; LEN];
    let words = shared_array![u32; LEN];
    let longs = shared_array![u64; LEN];
    let singles = shared_array![f32; LEN];
    let structs = shared_array![Padded; LEN];
    let (i, global) = (thread::thread_idx_x() as usize, thread::global_index());
    let next = (i + 1) % LEN;
    // SAFETY: `i` and `next` are below LEN, and the barrier separates the writes from the reads.
    unsafe {
        let value = input.at(global);
        bytes.add(i).write(value as u8);
        words.add(i).write(value);
        longs.add(i).write(value as u64 * 0x1_0000_0001);
        singles.add(i).write(value as f32);
        let (number, byte) = (value as f64 + 0.5, !value as u8);
        structs.add(i).write(Padded { number, byte });
        thread::sync_threads();
        let Padded { number, byte } = structs.add(next).read();
        let read = [
            bytes.add(next).read() as u64,
            words.add(next).read() as u64,
            longs.add(next).read(),
            singles.add(next).read() as u64,
            (number * 2.0) as u64 * 256 + byte as u64,
        ];
        out.set(global, read);
    }
}

/// The value of the neighbour, through an array of this function's own.
#[inline(always)]
fn from_neighbour(value: u32) -> u32 {
    let tile = shared_array![u32; LEN];
    let i = thread::thread_idx_x() as usize;
    // SAFETY: below LEN, with barriers between the writes and the reads, and behind the reads.
    unsafe {
        tile.add(i).write(value);
        thread::sync_threads();
        let read = tile.add((i + 1) % LEN).read();
        thread::sync_threads();
        read
    }
}

/// The same as a function of the GPU that is called.
#[inline(never)]
fn from_neighbour_called(value: u32) -> u32 {
    from_neighbour(value)
}

/// Calls a function with a shared array twice: the value moves by two threads.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn shared_in_a_helper(data: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { data.set(i, from_neighbour(from_neighbour(data.at(i)))) };
}

/// The same through a function that is not inlined.
///
/// # Safety
/// `data` has an element per thread.
#[kernel(block = 64)]
pub unsafe fn shared_in_a_call(data: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe {
        data.set(i, from_neighbour_called(from_neighbour_called(data.at(i))));
    }
}

/// Moves values by `steps` threads, one at a time, in dynamic shared memory that holds them twice.
///
/// # Safety
/// `data` has an element per thread; dynamic shared memory has 16 bytes per thread.
#[kernel]
pub unsafe fn dynamic_ring(steps: u32, data: DeviceSliceMut<u64>) {
    let threads = thread::block_dim_x() as usize;
    let (i, global) = (thread::thread_idx_x() as usize, thread::global_index());
    // SAFETY: two rows of `threads` elements; one is read while the other is written, and the
    // barrier stands between.
    unsafe {
        let mut source = shared::dynamic_shared_mem::<u64>();
        let mut target = shared::dynamic_shared_mem::<u64>().add(threads);
        source.add(i).write(data.at(global));
        for _ in 0..steps {
            thread::sync_threads();
            target.add(i).write(source.add((i + 1) % threads).read());
            (source, target) = (target, source);
        }
        data.set(global, source.add(i).read());
    }
}

/// Static and dynamic shared memory side by side; the latter seen as words and as bytes.
///
/// # Safety
/// `out` has an element per thread; dynamic shared memory has 4 bytes per thread.
#[kernel(block = 64)]
pub unsafe fn static_and_dynamic(out: DeviceSliceMut<u32>) {
    let words = shared::dynamic_shared_mem::<u32>();
    let bytes = shared::dynamic_shared_mem::<u8>();
    let tile = shared_array![u32; LEN];
    let (i, global) = (thread::thread_idx_x(), thread::global_index());
    // SAFETY: `i` is below LEN, and barriers stand between writes and reads of others' elements.
    unsafe {
        words
            .add(i as usize)
            .write((i + 1).wrapping_mul(0x0403_0201));
        tile.add(i as usize).write(1000 * i);
        thread::sync_threads();
        // GPUs are little-endian, and so are the hosts that have them.
        let other = LEN - 1 - i as usize;
        let low = bytes.add(4 * other).read() as u32;
        out.set(global, tile.add(other).read() + low);
    }
}

/// The sum of a block: a tree with a barrier in a branch that the whole block takes.
///
/// # Safety
/// `input` has an element per thread, `sums` one per block.
#[kernel(block = 64)]
pub unsafe fn block_sums(input: DeviceSlice<i64>, sums: DeviceSliceMut<i64>) {
    let tile = shared_array![i64; LEN];
    let (i, block) = (thread::thread_idx_x(), thread::block_idx_x());
    // SAFETY: `i + half` is below LEN, and a barrier stands between the levels.
    unsafe {
        tile.add(i as usize).write(input.at(thread::global_index()));
        let mut half = thread::block_dim_x() / 2;
        while half > 0 {
            thread::sync_threads();
            if i < half {
                let own = tile.add(i as usize);
                own.write(own.read() + tile.add((i + half) as usize).read());
            }
            half /= 2;
        }
        if i == 0 {
            sums.set(block as usize, tile.read());
        }
    }
}
