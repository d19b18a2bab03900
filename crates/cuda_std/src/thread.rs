//! Where a thread stands in its block and grid, grid-stride iteration, and the block's barrier.
//!
//! In the simulator every function asks the executor; outside of any executor on the host they
//! panic, since there is no thread of a kernel to speak of.

#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

macro_rules! position {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident, $field:ident . $axis:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                // SAFETY: reading a special register has no preconditions.
                unsafe { nvptx::$intrinsic() as u32 }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                crate::host::lane().position().$field.$axis
            }
        }
    )*};
}

position! {
    /// Index of the thread in its block along x.
    thread_idx_x = _thread_idx_x, thread.x;
    /// Index of the thread in its block along y.
    thread_idx_y = _thread_idx_y, thread.y;
    /// Index of the thread in its block along z.
    thread_idx_z = _thread_idx_z, thread.z;
    /// Index of the block in the grid along x.
    block_idx_x = _block_idx_x, block.x;
    /// Index of the block in the grid along y.
    block_idx_y = _block_idx_y, block.y;
    /// Index of the block in the grid along z.
    block_idx_z = _block_idx_z, block.z;
    /// Threads in a block along x.
    block_dim_x = _block_dim_x, block_dim.x;
    /// Threads in a block along y.
    block_dim_y = _block_dim_y, block_dim.y;
    /// Threads in a block along z.
    block_dim_z = _block_dim_z, block_dim.z;
    /// Blocks in the grid along x.
    grid_dim_x = _grid_dim_x, grid_dim.x;
    /// Blocks in the grid along y.
    grid_dim_y = _grid_dim_y, grid_dim.y;
    /// Blocks in the grid along z.
    grid_dim_z = _grid_dim_z, grid_dim.z;
}

/// Index of the thread in a one-dimensional grid: `block_idx_x · block_dim_x + thread_idx_x`.
///
/// It is 32 bits wide and wraps around beyond: see [`global_index`] for larger grids.
#[inline(always)]
pub fn index_1d() -> u32 {
    along(block_idx_x(), block_dim_x(), thread_idx_x())
}

/// Index of the thread in a one-dimensional grid, 64 bits wide: a grid can have 2³¹ blocks of 1024
/// threads.
#[inline(always)]
pub fn global_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// Index of the thread in its grid, unique for any shape of the grid and its blocks. It wraps
/// around beyond 32 bits.
///
/// Threads of a block are neighbours, x fastest, then y, then z; then blocks in the same order.
#[inline(always)]
pub fn index() -> u32 {
    let block = along(
        along(block_idx_z(), grid_dim_y(), block_idx_y()),
        grid_dim_x(),
        block_idx_x(),
    );
    let threads = block_dim_x() * block_dim_y() * block_dim_z();
    along(block, threads, index_in_block())
}

#[inline(always)]
fn along(block: u32, size: u32, thread: u32) -> u32 {
    block.wrapping_mul(size).wrapping_add(thread)
}

/// Whether the thread is the first of the grid.
#[inline(always)]
pub fn first() -> bool {
    let indices = [
        block_idx_x(),
        block_idx_y(),
        block_idx_z(),
        thread_idx_x(),
        thread_idx_y(),
        thread_idx_z(),
    ];
    indices.iter().all(|&index| index == 0)
}

/// Threads in a warp: 32 on every GPU.
#[inline(always)]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

#[cfg(feature = "glam")]
mod vectors {
    use super::*;
    use glam::{UVec2, UVec3};

    /// Index of the thread in its block.
    #[inline(always)]
    pub fn thread_idx() -> UVec3 {
        UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
    }

    /// Index of the block in its grid.
    #[inline(always)]
    pub fn block_idx() -> UVec3 {
        UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
    }

    /// Threads in a block along each axis.
    #[inline(always)]
    pub fn block_dim() -> UVec3 {
        UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
    }

    /// Blocks in the grid along each axis.
    #[inline(always)]
    pub fn grid_dim() -> UVec3 {
        UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
    }

    /// Indices of the thread in a two-dimensional grid.
    #[inline(always)]
    pub fn index_2d() -> UVec2 {
        let y = along(block_idx_y(), block_dim_y(), thread_idx_y());
        UVec2::new(index_1d(), y)
    }

    /// Indices of the thread in a three-dimensional grid.
    #[inline(always)]
    pub fn index_3d() -> UVec3 {
        let z = along(block_idx_z(), block_dim_z(), thread_idx_z());
        index_2d().extend(z)
    }
}
#[cfg(feature = "glam")]
pub use vectors::*;

/// Index of the thread in its block, x fastest, then y, then z: threads of a warp are neighbours.
#[inline(always)]
pub fn index_in_block() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// The indices of `0..len` that fall to this thread of a one-dimensional grid: its own, then each
/// one a grid further. Together the threads visit every index once, whatever the launch shape.
#[inline(always)]
pub fn grid_stride(len: usize) -> GridStride {
    GridStride {
        next: global_index(),
        len,
        stride: grid_dim_x() as usize * block_dim_x() as usize,
    }
}

/// The iterator of [`grid_stride`].
#[derive(Clone, Debug)]
pub struct GridStride {
    next: usize,
    len: usize,
    stride: usize,
}

impl Iterator for GridStride {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.next >= self.len {
            return None;
        }
        let index = self.next;
        // Saturating, so that a length close to the end of the index range terminates.
        self.next = index.saturating_add(self.stride);
        Some(index)
    }
}

/// Waits until every thread of the block is here; what they wrote to shared and global memory
/// before is then visible to the whole block.
///
/// Every thread of the block must reach the same barrier: one inside a branch that only part of
/// the block takes hangs or corrupts on a GPU, and is an error in the simulator.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier touches no memory; that all threads reach it is the caller's part, and
    // its breach hangs the launch without touching memory either.
    unsafe {
        nvptx::_syncthreads()
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().sync_threads(core::panic::Location::caller());
}

macro_rules! sync_threads_with {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal, $result:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub fn $name(predicate: u32) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: u32;
                // SAFETY: as in `sync_threads`.
                unsafe {
                    core::arch::asm!(
                        concat!("{{ .reg .pred %in; setp.ne.u32 %in, {predicate}, 0; ", $instruction, " }}"),
                        predicate = in(reg32) predicate, result = out(reg32) result,
                    );
                }
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let (count, threads) =
                    crate::host::sync_threads_count(predicate != 0, core::panic::Location::caller());
                let result: fn(u32, u32) -> u32 = $result;
                result(count, threads)
            }
        }
    )*};
}

sync_threads_with! {
    /// [`sync_threads`], which also returns the number of threads whose `predicate` is not 0.
    sync_threads_count = "bar.red.popc.u32 {result}, 0, %in;", |count, _| count;
    /// [`sync_threads`], which also returns whether the `predicate` of every thread is not 0: 1 or
    /// 0.
    sync_threads_and = "{{ .reg .pred %all; bar.red.and.pred %all, 0, %in; selp.u32 {result}, 1, 0, %all; }}",
        |count, threads| u32::from(count == threads);
    /// [`sync_threads`], which also returns whether the `predicate` of some thread is not 0: 1 or
    /// 0.
    sync_threads_or = "{{ .reg .pred %any; bar.red.or.pred %any, 0, %in; selp.u32 {result}, 1, 0, %any; }}",
        |count, _| u32::from(count > 0);
}

macro_rules! fence {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: a fence has no preconditions.
            unsafe {
                core::arch::asm!($instruction)
            };
            #[cfg(not(target_arch = "nvptx64"))]
            core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        }
    )*};
}

fence! {
    /// Orders this thread's earlier memory accesses before its later ones for every thread of the
    /// device. It waits for nobody.
    device_fence = "membar.gl;";
    /// Orders this thread's earlier memory accesses before its later ones for every thread of the
    /// grid: the same as [`device_fence`].
    grid_fence = "membar.gl;";
    /// Orders this thread's earlier memory accesses before its later ones for every thread of all
    /// devices and of the host.
    system_fence = "membar.sys;";
}

/// Lets other threads run for up to `2 · nanoseconds`, within a loop that waits for what another
/// block writes.
///
/// A GPU runs as many blocks at once as fit, in an order of its own: a block may wait only for one
/// that is known to have started, for example because it has drawn a lower number from an atomic
/// counter. The simulator reports a launch in which all blocks wait.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn nanosleep(nanoseconds: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory of its own, but what other threads write in the meantime is to
    // be seen.
    unsafe {
        core::arch::asm!("nanosleep.u32 {};", in(reg32) nanoseconds)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = nanoseconds;
        crate::host::lane().pause(None, core::panic::Location::caller());
    }
}
