//! The form whose sizes are known only at run time.

use cuda_std::prelude::*;

/// The sizes of tables and sketches.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub struct RunTimeSizes {
    /// Letters of the alphabet.
    pub letters: u32,
    /// The length t of tuples: threads of a block along y.
    pub tuple: u32,
    /// The numbers D of a row.
    pub dim: u32,
    /// Places of a thread.
    pub places: u32,
}

impl RunTimeSizes {
    /// Threads of a block along a row.
    pub fn threads_along(self) -> u32 {
        self.dim.div_ceil(self.places)
    }

    /// The dynamic shared memory: two layers of rows, signs, hashes, and a letter for each thread.
    pub fn shared_bytes(self) -> u32 {
        4 * (2 * self.layer() + 2 * self.entries()) + self.threads_along() * self.tuple
    }

    /// Numbers of T\[0\] to T\[t\].
    #[inline(always)]
    fn layer(self) -> u32 {
        (self.tuple + 1) * self.dim
    }

    /// Entries of a table.
    #[inline(always)]
    fn entries(self) -> u32 {
        self.letters * self.tuple
    }
}

/// V15: V11 with the sizes as arguments, in dynamic shared memory that is cut into parts. One
/// kernel serves every alphabet and sketch, but the compiler unrolls nothing and divides nothing
/// ahead.
///
/// # Safety
/// As of [`sketch_consecutive_6`](super::sketch_consecutive_6) with other sizes; the block and its
/// dynamic shared memory are those that the sizes give.
#[kernel]
pub unsafe fn sketch_run_time_sizes(
    sizes: RunTimeSizes,
    letters: DeviceSlice<u8>,
    offsets: DeviceSlice<u64>,
    hashes: DeviceSlice<i32>,
    signs: DeviceSlice<f32>,
    sketches: DeviceSliceMut<f32>,
) {
    let RunTimeSizes {
        tuple, dim, places, ..
    } = sizes;
    let (layer, entries) = (sizes.layer(), sizes.entries());
    let sequence = thread::block_idx_x() as usize;
    let (me, threads) = (
        thread::index_in_block(),
        thread::block_dim_x() * thread::block_dim_y(),
    );
    let row = thread::thread_idx_y();
    let first = thread::thread_idx_x() * places;
    let end = core::cmp::min(first + places, dim);
    // SAFETY: the parts are as long as what is written to them, places are below the lengths,
    // barriers separate what one thread writes from what another reads, and slices are what the
    // caller says.
    unsafe {
        let mut now = shared::dynamic_shared_mem::<f32>();
        let mut next = now.add(layer as usize);
        let shared_signs = next.add(layer as usize);
        let shared_hashes = shared_signs.add(entries as usize).cast::<i32>();
        let staged = shared_hashes.add(entries as usize).cast::<u8>();
        let mut i = me;
        while i < 2 * layer {
            let is_one = i == 0 || i == layer;
            now.add(i as usize).write(is_one as u32 as f32);
            i += threads;
        }
        let mut i = me;
        while i < entries {
            shared_hashes.add(i as usize).write(hashes.at(i as usize));
            shared_signs.add(i as usize).write(signs.at(i as usize));
            i += threads;
        }
        thread::sync_threads();
        let (mut begin, past) = (offsets.at(sequence), offsets.at(sequence + 1));
        while begin < past {
            let count = core::cmp::min(past - begin, threads as u64) as u32;
            if me < count {
                staged
                    .add(me as usize)
                    .write(letters.at(begin as usize + me as usize));
            }
            thread::sync_threads();
            for i in 0..count {
                let entry = (staged.add(i as usize).read() as u32 * tuple + row) as usize;
                let sign = shared_signs.add(entry).read();
                let mut from = first as i32 - shared_hashes.add(entry).read();
                if from < 0 {
                    from += dim as i32;
                }
                for place in first..end {
                    let own = ((row + 1) * dim + place) as usize;
                    let rolled = now.add((row * dim + from as u32) as usize).read();
                    next.add(own).write(now.add(own).read() + sign * rolled);
                    from += 1;
                    if from == dim as i32 {
                        from = 0;
                    }
                }
                thread::sync_threads();
                (now, next) = (next, now);
            }
            begin += threads as u64;
        }
        let mut place = me;
        while place < dim {
            let out = sequence * dim as usize + place as usize;
            sketches.set(out, now.add((tuple * dim + place) as usize).read());
            place += threads;
        }
    }
}
