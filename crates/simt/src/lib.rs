//! Runs GPU kernels written with cuda_std on the CPU and finds their synchronisation mistakes.
//!
//! A [`Simulator`] launches a kernel as a GPU would, with the same arguments and launch shapes.
//! Each thread of a block is a coroutine with a stack of its own. It runs until it waits for
//! others, at a barrier or in a warp operation, or ends; then the next one runs. The order is drawn
//! anew from the simulator's seed each time. Blocks run side by side on rayon's threads.
//!
//! # What it finds
//! - A barrier that some threads of the block never reach, or instead of which they wait at
//!   another one.
//! - A warp operation whose lanes do not all come, a mask without its caller or with lanes that do
//!   not exist, a shuffle from a lane outside of its mask.
//! - An access past the end of a [`DeviceSlice`](cuda_std::DeviceSlice), unless through its raw
//!   pointer; a write just past the end of an array in shared memory.
//! - A missing barrier, and a read of shared memory that nothing was written to: these give
//!   different results under different seeds, which [`differing_seeds`] looks for. The content of
//!   shared memory at the start of a block is drawn from the seed too.
//! - An asynchronous copy that is not waited for, or whose source is overwritten early: it is made when
//!   it starts or, under other seeds, as late as it can be.
//! - An asynchronous copy or a matrix instruction with addresses that are out of range or not aligned,
//!   and operands of an instruction of a warp group that change before it has been waited for.
//! - A panic, and a launch that the device or the kernel does not allow.
//!
//! Every [`SimError`] names the kernel, and block and thread where there are some.
//!
//! # What it does not find
//! Threads change only where they synchronise, so a race in which accesses of two threads must
//! interleave more finely stays unseen, as do races between blocks, save by their results. A thread
//! that waits for another in a loop around an atomic waits forever. Accesses through raw pointers
//! are not checked. Memory is as strongly ordered as the CPU's.
//!
//! # Panics
//! A panic of a kernel becomes an error. The process's panic hook sees it before that and, by
//! default, prints it. As failing blocks are unwound, this crate needs `panic = "unwind"`.

mod block;
mod collective;
mod copies;
mod error;
mod group;
mod limits;
mod order;
mod schedule;
mod schedules;
mod shared;
mod simulator;
mod stacks;
mod state;
mod thread;
mod warp;
mod watch;
mod worker;

pub use error::{Activity, Place, SimError, Site};
pub use limits::Limits;
pub use schedules::{Difference, FailedSeed, differing_seeds};
pub use simulator::Simulator;
