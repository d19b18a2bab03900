//! Barriers in shared memory that count arrivals of threads and bytes of copies, for compute
//! capability 9.0.
//!
//! A barrier goes through phases, 0 first. A phase ends when as many arrivals have come as
//! [`init`](Barrier::init) said, and all bytes that were [expected](Barrier::arrive_and_expect)
//! have been copied to the block's shared memory; then the next phase begins. Threads
//! [wait](Barrier::wait) for the end of a phase by its parity, so that no thread may be more than a
//! phase behind. What threads did before they arrived has happened for threads of their block
//! that have waited, and by [`arrive_at`](Barrier::arrive_at) and
//! [`wait_cluster`](Barrier::wait_cluster) for those of another block of the cluster.
//!
//! On a fresh barrier, a wait for parity 1 returns at once, as if a phase before the first had
//! ended: a producer that waits for empty places needs no special case for the first round.
//!
//! [`tensor`](crate::tensor) has an example.

use crate::shared::SharedAddress;

/// A barrier: 8 bytes of dynamic shared memory, at a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier(SharedAddress);

/// Bytes of a barrier.
pub const BYTES: u32 = 8;

/// Waits for the end of a phase, with an order of memory.
#[cfg(target_arch = "nvptx64")]
macro_rules! wait_for {
    ($order:literal, $barrier:ident, $parity:ident) => {{
        // A call waits for a time that the GPU chooses, so that the loop seldom repeats.
        let mut is_over = 0u32;
        while is_over == 0 {
            // SAFETY: by the contract of the caller, the barrier has been initialised.
            unsafe {
                core::arch::asm!(
                    concat!(
                        "{{ .reg .pred %over; mbarrier.try_wait.parity", $order,
                        ".shared::cta.b64 %over, [{at}], {parity}; selp.u32 {is_over}, 1, 0, %over; }}",
                    ),
                    at = in(reg32) $barrier.0.bits(), parity = in(reg32) $parity, is_over = out(reg32) is_over,
                )
            };
        }
    }};
}

impl Barrier {
    /// The barrier at an address.
    #[inline(always)]
    pub fn at(address: SharedAddress) -> Barrier {
        Barrier(address)
    }

    /// Where the barrier is.
    #[inline(always)]
    pub fn address(self) -> SharedAddress {
        self.0
    }

    /// Makes a barrier whose phases end after `arrivals` arrivals, 1 to 2²⁰ − 1, in the simulator
    /// 16 383. One thread calls this, then [`publish`]; others may use the barrier after a barrier
    /// of the block.
    ///
    /// # Safety
    /// No barrier is there, and nobody uses the 8 bytes for anything else, another barrier
    /// included, before [`invalidate`](Self::invalidate) or the end of the block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn init(self, arrivals: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: by the contract of this function, no barrier is there, and nobody uses the 8
        // bytes for anything else before it is invalidated.
        unsafe {
            core::arch::asm!(
                "mbarrier.init.shared::cta.b64 [{at}], {arrivals};",
                at = in(reg32) self.0.bits(), arrivals = in(reg32) arrivals,
            )
        };
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::init(self.0, arrivals, core::panic::Location::caller());
    }

    /// Ends the barrier, whose bytes may then be used for something else. One thread calls this;
    /// others may use the bytes after a barrier of the block.
    ///
    /// # Safety
    /// The barrier has been initialised, and nobody uses it any more.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn invalidate(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: by the contract of this function, there is a barrier, which nobody uses any more.
        unsafe {
            core::arch::asm!("mbarrier.inval.shared::cta.b64 [{at}];", at = in(reg32) self.0.bits())
        };
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::invalidate(self.0, core::panic::Location::caller());
    }

    /// Arrives.
    ///
    /// # Safety
    /// The barrier has been initialised, and this arrival is one that the phase waits for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn arrive(self) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: by the contract of this function, the barrier has been initialised, and this
        // arrival is one that the phase waits for.
        unsafe {
            core::arch::asm!("mbarrier.arrive.shared::cta.b64 _, [{at}];", at = in(reg32) self.0.bits())
        };
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::arrive(self.0, 0, core::panic::Location::caller());
    }

    /// Arrives at the barrier at the same place in block `rank` of the [cluster](crate::cluster).
    ///
    /// # Safety
    /// As of [`arrive`](Self::arrive); that block has begun and has not ended.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn arrive_at(self, rank: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: by the contract of this function, the barrier has been initialised, this arrival
        // is one that its phase waits for, and the other block has begun and has not ended.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 %there; mapa.shared::cluster.u32 %there, {at}, {rank}; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%there]; }}",
                at = in(reg32) self.0.bits(), rank = in(reg32) rank,
            )
        };
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::arrive_at(self.0, rank, core::panic::Location::caller());
    }

    /// Arrives, and makes the phase wait for `bytes` more bytes of copies.
    ///
    /// # Safety
    /// As of [`arrive`](Self::arrive); copies of as many bytes are started in this phase. A phase
    /// waits for at most 2²⁰ − 1 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn arrive_and_expect(self, bytes: u32) {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: by the contract of this function, the barrier has been initialised, this arrival
        // is one that its phase waits for, and copies of as many bytes are started in the phase.
        unsafe {
            core::arch::asm!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{at}], {bytes};",
                at = in(reg32) self.0.bits(), bytes = in(reg32) bytes,
            )
        };
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::arrive(self.0, bytes, core::panic::Location::caller());
    }

    /// Waits until the phase of this parity, 0 or 1, has ended: the present one, or the one before,
    /// for which nothing is waited.
    ///
    /// # Safety
    /// The barrier has been initialised.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn wait(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        wait_for!("", self, parity);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::wait(self.0, parity, core::panic::Location::caller());
    }

    /// Waits as [`wait`](Self::wait). What threads of other blocks of the
    /// [cluster](crate::cluster) did before [`arrive_at`](Self::arrive_at) has then happened too,
    /// also in global memory.
    ///
    /// # Safety
    /// The barrier has been initialised.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn wait_cluster(self, parity: u32) {
        #[cfg(target_arch = "nvptx64")]
        wait_for!(".acquire.cluster", self, parity);
        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::mbarrier::wait(self.0, parity, core::panic::Location::caller());
    }
}

/// Makes the barriers that this thread has initialised visible to other threads and to copies.
#[inline(always)]
pub fn publish() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only orders.
    unsafe {
        core::arch::asm!("fence.mbarrier_init.release.cluster;")
    };
}
