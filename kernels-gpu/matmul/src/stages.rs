//! Tiles of A and B that are on their way to shared memory while earlier ones are multiplied.

use cuda_std::async_copy;
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};

use crate::loader::Loader;
use crate::product::Product;

/// The first of k that this block sums, and how many.
#[inline(always)]
pub fn part_of_k<T: Copy, S: Copy, C: Copy>(product: &Product<T, S, C>) -> (u32, u32) {
    let first = thread::block_idx_y() * product.k_part;
    (first, product.k_part.min(product.k - first))
}

/// The stages: dynamic shared memory for `STAGES` tiles of A (`ROWS`×`DEPTH`) and of B
/// (`DEPTH`×`COLUMNS`).
pub struct Stages<
    T,
    const ROWS: u32,
    const COLUMNS: u32,
    const DEPTH: u32,
    const STAGES: u32,
    const THREADS: u32,
    const PATTERN_A: u32,
    const PATTERN_B: u32,
> {
    a: Loader<T, ROWS, DEPTH, THREADS, PATTERN_A>,
    b: Loader<T, COLUMNS, DEPTH, THREADS, PATTERN_B>,
    /// How many of k have not been loaded.
    left: i32,
    /// Where the next tiles go.
    free: u32,
    /// Where those are that are multiplied now.
    current: u32,
    first: SharedAddress,
    memory: *const T,
}

impl<
    T: Copy,
    const ROWS: u32,
    const COLUMNS: u32,
    const DEPTH: u32,
    const STAGES: u32,
    const THREADS: u32,
    const PATTERN_A: u32,
    const PATTERN_B: u32,
> Stages<T, ROWS, COLUMNS, DEPTH, STAGES, THREADS, PATTERN_A, PATTERN_B>
{
    /// Elements of shared memory between rows of A and between its k.
    pub const STRIDES_A: [usize; 2] = [
        Loader::<T, ROWS, DEPTH, THREADS, PATTERN_A>::STRIDE as usize,
        Loader::<T, ROWS, DEPTH, THREADS, PATTERN_A>::STRIDE_K as usize,
    ];
    /// Elements of shared memory between columns of B and between its k.
    pub const STRIDES_B: [usize; 2] = [
        Loader::<T, COLUMNS, DEPTH, THREADS, PATTERN_B>::STRIDE as usize,
        Loader::<T, COLUMNS, DEPTH, THREADS, PATTERN_B>::STRIDE_K as usize,
    ];
    const BYTES_A: u32 = Loader::<T, ROWS, DEPTH, THREADS, PATTERN_A>::BYTES;
    /// Bytes of a stage.
    const STAGE: u32 = Self::BYTES_A + Loader::<T, COLUMNS, DEPTH, THREADS, PATTERN_B>::BYTES;
    /// Bytes of all stages.
    pub const BYTES: u32 = STAGES * Self::STAGE;

    /// Starts to load the first tiles of the block's part of k, for the tile of C that begins at
    /// `row` and `column`, and waits for the very first.
    ///
    /// # Safety
    /// The launch is as [`Product`] says, with [`BYTES`](Self::BYTES) of dynamic shared memory.
    #[inline(always)]
    pub unsafe fn start<S: Copy>(product: &Product<T, S>, row: u32, column: u32) -> Self {
        let (k, count) = part_of_k(product);
        let memory = dynamic_shared_mem::<T>();
        let mut stages = Stages {
            a: Loader::new(&product.a, row, product.m, k),
            b: Loader::new(&product.b, column, product.n, k),
            left: count as i32,
            free: 0,
            current: 0,
            first: address(memory),
            memory,
        };
        let mut stage = 1;
        while stage < STAGES {
            // SAFETY: nothing has been in that stage yet.
            unsafe { stages.load() };
            stage += 1;
        }
        Self::wait();
        stages
    }

    /// Starts to load the next tiles, or zeros if there are none.
    ///
    /// # Safety
    /// Everybody has read what was in the stage before the current one.
    #[inline(always)]
    pub unsafe fn load(&mut self) {
        // SAFETY: by the contract of this function, everybody has read what was in the stage before
        // the current one.
        unsafe {
            self.load_a();
            self.load_b();
        }
    }

    /// Starts to load the next tile of A, or zeros if there is none. [`load_b`](Self::load_b)
    /// follows.
    ///
    /// # Safety
    /// As of [`load`](Self::load).
    #[inline(always)]
    pub unsafe fn load_a(&mut self) {
        let to = self.first.offset(self.free);
        // SAFETY: the stage is free. The factor is that of the `Product` of `start`, which has
        // `left` k from here on.
        unsafe { self.a.load(to, self.left.max(0) as u32) };
    }

    /// Starts to load the next tile of B, or zeros if there is none, after that of A.
    ///
    /// # Safety
    /// As of [`load`](Self::load).
    #[inline(always)]
    pub unsafe fn load_b(&mut self) {
        let to = self.first.offset(self.free).offset(Self::BYTES_A);
        // SAFETY: the stage is free. The factor is that of the `Product` of `start`, which has
        // `left` k from here on.
        unsafe { self.b.load(to, self.left.max(0) as u32) };
        self.left -= DEPTH as i32;
        self.free = Self::next(self.free);
        async_copy::commit();
    }

    /// Waits for the next tiles, which then are the current ones.
    #[inline(always)]
    pub fn advance(&mut self) {
        Self::wait();
        self.current = Self::next(self.current);
    }

    /// The current tile of A.
    #[inline(always)]
    pub fn a(&self) -> *const T {
        self.memory
            .wrapping_add((self.current / size_of::<T>() as u32) as usize)
    }

    /// The current tile of B.
    #[inline(always)]
    pub fn b(&self) -> *const T {
        self.a()
            .wrapping_add((Self::BYTES_A / size_of::<T>() as u32) as usize)
    }

    #[inline(always)]
    fn next(stage: u32) -> u32 {
        let next = stage + Self::STAGE;
        if next == Self::BYTES { 0 } else { next }
    }

    /// Waits until all but the latest `STAGES - 2` loads have arrived, for everybody.
    #[inline(always)]
    fn wait() {
        match STAGES {
            2 => async_copy::wait::<0>(),
            3 => async_copy::wait::<1>(),
            4 => async_copy::wait::<2>(),
            5 => async_copy::wait::<3>(),
            _ => async_copy::wait::<4>(),
        }
        thread::sync_threads();
    }
}

/// Keeps reads of shared memory before this call from moving behind it.
///
/// The reads for the next iteration at the end of a loop are the same as those for the first one
/// before the loop. LLVM would make one of both at the beginning of the loop: right behind the
/// barrier, where nothing is left to multiply while they are on their way.
#[inline(always)]
pub fn keep_reads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: there is no instruction.
    unsafe {
        core::arch::asm!("", options(nostack))
    };
}

/// Returns `count`, which the compiler does not know. It unrolls no loop of so many turns.
#[inline(always)]
pub fn unknown(count: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    let count = {
        let same;
        // SAFETY: there is no instruction but a comment.
        unsafe {
            core::arch::asm!("// {0}", inout(reg32) count => same, options(pure, nomem, nostack))
        };
        same
    };
    count
}
