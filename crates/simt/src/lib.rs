//! Runs GPU kernels written with cuda_std on the CPU and finds their synchronisation mistakes.
//!
//! A [`Simulator`] launches a kernel as a GPU would, with the same arguments and launch shapes.
//! Each thread of a block is a coroutine with its own stack. A thread runs until it ends, or waits
//! for others at a barrier or in a warp operation; then the next thread runs. The order of threads
//! is random, drawn from the simulator's seed. Blocks run side by side on rayon's threads.
//!
//! # Detected mistakes
//! - A barrier that some threads of the block never reach, or threads that wait at different
//!   barriers.
//! - A warp operation that some lanes of its mask do not reach, a mask without the caller or with
//!   lanes that do not exist, a shuffle from a lane outside of the mask.
//! - An access past the end of a [`DeviceSlice`](cuda_std::DeviceSlice); an access through a pointer
//!   that is beside an array in shared memory or a buffer of [`GlobalMemory`], in a freed buffer, or
//!   nowhere. On Linux most of these name the thread and the line.
//! - A stack overflow, and a thread that never waits for others, on Linux.
//! - A missing barrier, and a read of uninitialised shared memory: they give different results
//!   under different seeds, which [`differing_seeds`] looks for. The initial content of shared
//!   memory is drawn from the seed too.
//! - An asynchronous copy that is not waited for, or whose source is overwritten early: depending
//!   on the seed, copies are made when they start or as late as possible.
//! - An asynchronous copy or a matrix instruction with addresses that are out of range or not
//!   aligned, and operands of a warp group's instruction that change before the instruction has
//!   finished.
//! - With the feature `race-detector`, in crates compiled with `race-rustc` as `RUSTC_WRAPPER`: two
//!   accesses to the same memory that race, and misaligned accesses.
//! - A panic, and a launch that the device or the kernel does not allow.
//!
//! Every [`SimError`] names the kernel, and the block and thread if they are known.
//!
//! # Undetected mistakes
//! Threads change only where they synchronise, so without the race detector a race is not detected if
//! accesses of two threads must interleave more finely, and races between blocks show only in
//! results. A thread that waits for another in a loop around an atomic never lets it run, unless the
//! loop calls [`nanosleep`](cuda_std::thread::nanosleep). Accesses through raw pointers that hit
//! another buffer are not noticed. Memory is as strongly ordered as the CPU's.
//!
//! # Panics
//! A panic of a kernel becomes an error. The process's panic hook runs first and prints the panic
//! by default. Failing blocks are unwound, so this crate needs `panic = "unwind"`.

mod block;
mod collective;
mod copies;
mod error;
mod faults;
mod global;
mod group;
mod guard;
mod limits;
mod order;
mod pages;
mod panics;
mod race;
mod schedule;
mod schedules;
mod shared;
mod simulator;
mod source;
mod spin;
mod stacks;
mod state;
mod thread;
mod warp;
mod watch;
mod worker;

pub use error::{Accessed, Activity, Place, SimError, Site};
pub use global::{Damage, Elements, GlobalBuffer, GlobalMemory};
pub use guard::Side;
pub use limits::Limits;
pub use race::{Race, RaceAccess};
pub use schedules::{Difference, FailedSeed, differing_seeds};
pub use simulator::Simulator;
