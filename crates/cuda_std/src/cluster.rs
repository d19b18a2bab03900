//! Clusters: blocks that run at the same time and reach each other's shared memory, for compute
//! capability 9.0.
//!
//! A kernel says how many blocks a cluster has, `#[kernel(block = 128, cluster = 2)]`, at most 8:
//! blocks that follow each other along x. A block can [arrive](crate::mbarrier::Barrier::arrive_at)
//! at another one's barriers, and a copy can [bring a tile](crate::tensor::load_to) to several blocks.
//!
//! Before a block uses another one's shared memory, that block must have begun, and it must not end
//! before: [`sync`] at the begin and at the end of the kernel sees to both.

/// The number of this block in its cluster.
#[inline(always)]
pub fn rank() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let rank: u32;
        // SAFETY: reads a register.
        unsafe {
            core::arch::asm!("mov.u32 {rank}, %cluster_ctarank;", rank = out(reg32) rank, options(pure, nomem))
        };
        rank
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().cluster_rank()
}

/// Waits until all threads of all blocks of the cluster have called this. What they did before has
/// happened then.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!("barrier.cluster.arrive; barrier.cluster.wait;")
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::host::lane().cluster_sync(core::panic::Location::caller());
}
