//! The limits of launches: checked here, for GPUs and for the simulator.

use super::kernel::{BlockBound, Dim3, LaunchConfig};
use core::fmt;

/// CUDA's limits for all compute capabilities from 7.0.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK_DEPTH: u32 = 64;

/// The most threads that a block has on any GPU.
pub const MAX_THREADS: u32 = 1024;

/// The limit that a launch breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchError {
    /// A size is 0.
    NoExtent {
        /// `grid` or `block`.
        of: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
    },
    /// A size is larger than the device allows.
    TooLarge {
        /// `grid` or `block`.
        of: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// The size.
        size: u32,
        /// The largest one.
        limit: u32,
    },
    /// A block has more threads than the device allows.
    TooManyThreads {
        /// The block.
        block: Dim3,
        /// The most threads.
        limit: u32,
    },
    /// The kernel was not written for such blocks.
    WrongBlock {
        /// The block.
        block: Dim3,
        /// The kernel's bound.
        bound: BlockBound,
    },
    /// The blocks along x are not whole clusters.
    CutCluster {
        /// Blocks along x.
        blocks: u32,
        /// Blocks of a cluster.
        cluster: u32,
    },
    /// A block has more dynamic shared memory than the device allows.
    SharedMemory {
        /// Bytes of a block.
        bytes: u32,
        /// The most bytes.
        limit: u32,
    },
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoExtent { of, axis } => write!(f, "its {of} has no extent along {axis}"),
            Self::TooLarge {
                of,
                axis,
                size,
                limit,
            } => write!(f, "its {of} has {size} along {axis}, more than {limit}"),
            Self::TooManyThreads { block, limit } => {
                let threads = block.count();
                write!(
                    f,
                    "its block {block} has {threads} threads, more than {limit}"
                )
            }
            Self::WrongBlock { block, bound } => match bound {
                BlockBound::Any => write!(f, "its block is {block}"),
                BlockBound::Exactly(shape) | BlockBound::Cluster { block: shape, .. } => {
                    write!(
                        f,
                        "its block is {block}, but it runs in blocks of {shape} alone"
                    )
                }
                BlockBound::AtMost(threads) => write!(
                    f,
                    "its block {block} has more than the {threads} threads that it allows"
                ),
            },
            Self::CutCluster { blocks, cluster } => write!(
                f,
                "its grid has {blocks} blocks along x, no multiple of its clusters of {cluster}"
            ),
            Self::SharedMemory { bytes, limit } => write!(
                f,
                "it needs {bytes} bytes of shared memory per block, and the device has {limit}"
            ),
        }
    }
}

impl LaunchConfig {
    /// Checks the limits of CUDA, of the kernel, and of a device whose blocks have at most
    /// `max_threads` threads and `max_shared_bytes` bytes of shared memory.
    ///
    /// # Errors
    /// The first limit that the launch breaks.
    pub fn check(
        &self,
        bound: BlockBound,
        max_threads: u32,
        max_shared_bytes: u32,
    ) -> Result<(), LaunchError> {
        let LaunchConfig {
            grid,
            block,
            shared_bytes,
        } = *self;
        let max_block = [max_threads, max_threads, MAX_BLOCK_DEPTH];
        for (of, sizes, limits) in [("grid", grid, MAX_GRID), ("block", block, max_block)] {
            let sizes = [('x', sizes.x), ('y', sizes.y), ('z', sizes.z)];
            for ((axis, size), limit) in sizes.into_iter().zip(limits) {
                if size == 0 {
                    return Err(LaunchError::NoExtent { of, axis });
                }
                if size > limit {
                    return Err(LaunchError::TooLarge {
                        of,
                        axis,
                        size,
                        limit,
                    });
                }
            }
        }
        if block.count() > max_threads.into() {
            let limit = max_threads;
            return Err(LaunchError::TooManyThreads { block, limit });
        }
        let fits = match bound {
            BlockBound::Any => true,
            BlockBound::Exactly(shape) => block == shape,
            BlockBound::AtMost(threads) => block.count() <= threads.into(),
            BlockBound::Cluster { block: shape, .. } => block == shape,
        };
        if !fits {
            return Err(LaunchError::WrongBlock { block, bound });
        }
        let cluster = bound.cluster();
        if !grid.x.is_multiple_of(cluster) {
            return Err(LaunchError::CutCluster {
                blocks: grid.x,
                cluster,
            });
        }
        if shared_bytes > max_shared_bytes {
            return Err(LaunchError::SharedMemory {
                bytes: shared_bytes,
                limit: max_shared_bytes,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bound: BlockBound, config: LaunchConfig) -> String {
        let checked = config.check(bound, MAX_THREADS, 1000);
        checked.expect_err("the shape breaks a limit").to_string()
    }

    #[test]
    fn shapes_within_the_limits_pass() {
        let config = LaunchConfig::new(i32::MAX as u32, (32, 32)).with_shared_bytes(1000);
        let check = |bound, max_shared_bytes| config.check(bound, MAX_THREADS, max_shared_bytes);
        assert_eq!(check(BlockBound::Any, 1000), Ok(()));
        assert_eq!(check(BlockBound::AtMost(1024), u32::MAX), Ok(()));
        assert_eq!(
            check(BlockBound::Exactly(Dim3::from((32, 32))), u32::MAX),
            Ok(())
        );
    }

    #[test]
    fn broken_limits_are_named_with_the_value() {
        let any = BlockBound::Any;
        assert!(message(any, LaunchConfig::new(0, 1)).contains("grid has no extent along x"));
        assert!(
            message(any, LaunchConfig::new(1, (1, 1, 65))).contains("65 along z, more than 64")
        );
        assert!(message(any, LaunchConfig::new((1, 70_000), 1)).contains("70000 along y"));
        assert!(
            message(any, LaunchConfig::new(1, (64, 32))).contains("2048 threads, more than 1024")
        );
        let shared = LaunchConfig::new(1, 1).with_shared_bytes(1001);
        assert!(message(any, shared).contains("1001 bytes"));
        let exact = BlockBound::Exactly(Dim3::from(64));
        assert!(message(exact, LaunchConfig::new(1, 65)).contains("blocks of (64, 1, 1) alone"));
        let clusters = BlockBound::Cluster {
            block: Dim3::from(64),
            blocks: 2,
        };
        assert!(message(clusters, LaunchConfig::new(3, 64)).contains("clusters of 2"));
        assert!(message(clusters, LaunchConfig::new(2, 32)).contains("blocks of (64, 1, 1) alone"));
        assert!(message(BlockBound::AtMost(64), LaunchConfig::new(1, 65)).contains("64 threads"));
    }
}
