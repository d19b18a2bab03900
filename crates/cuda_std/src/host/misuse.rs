//! Mistakes in asynchronous copies, their barriers, and matrix instructions.

use core::fmt;
use core::panic::Location;

use crate::shared::ELSEWHERE;

/// The largest count of 14 bits. A cluster of 8 blocks has at most 8192 threads.
pub(super) const MOST_ARRIVALS: u64 = 0x3fff;

/// The most bytes that a phase can wait for, as on GPUs.
pub(super) const MOST_BYTES: i32 = 0xf_ffff;

/// A mistake in an asynchronous copy, its barrier, or a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// It touches what is not dynamic shared memory.
    OutOfRange {
        /// The access, as a noun.
        access: &'static str,
        /// Where it begins, counted from the start of the dynamic shared memory.
        address: usize,
        /// The length of the access in bytes.
        bytes: usize,
        /// The bytes that there are.
        length: usize,
    },
    /// An address or a distance is not a multiple of what it must be.
    Misaligned {
        /// The misaligned value, as a noun.
        what: &'static str,
        /// The address or distance.
        value: usize,
        /// The number that the value must be a multiple of.
        alignment: usize,
    },
    /// An operand whose rows run along k is cut by the end of its rows.
    AcrossRows {
        /// Which operand.
        operand: &'static str,
        /// The byte of the row at which it begins.
        start: usize,
    },
    /// The threads of a warp group gave different operands.
    OperandsDiffer,
    /// Memory that is used as a barrier has not been initialised as one, or was overwritten.
    NotABarrier {
        /// Its place in the dynamic shared memory.
        address: usize,
    },
    /// A wait for the end of a phase of another parity than 0 and 1.
    Parity {
        /// The parity.
        parity: u32,
    },
    /// A barrier got more arrivals in a phase than it was initialised for.
    TooManyArrivals {
        /// Its place in the dynamic shared memory.
        address: usize,
    },
    /// A barrier was initialised where there is one that has not been invalidated.
    InitialisedAgain {
        /// Its place in the dynamic shared memory.
        address: usize,
    },
    /// A phase of a barrier was to wait for more bytes than a barrier can count.
    TooManyBytes {
        /// Its place in the dynamic shared memory.
        address: usize,
        /// The bytes that were added to those that it waits for.
        bytes: u32,
    },
    /// A barrier was to wait for more arrivals than it can count, or for none.
    Arrivals {
        /// The arrivals that were asked for.
        arrivals: u32,
    },
    /// A block of the cluster was named that it does not have.
    BeyondCluster {
        /// The rank of the block.
        rank: u32,
    },
    /// The parameter from which a tile was to be copied is no tensor map of the simulator.
    NotATensorMap,
    /// Operands changed between a matrix instruction and the wait for it.
    OperandsOverwritten {
        /// Where the instruction was called.
        issued: &'static Location<'static>,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                access,
                address,
                bytes,
                length,
            } if *address == ELSEWHERE as usize => write!(
                f,
                "{access} of {bytes} bytes outside of the dynamic shared memory, which has {length} bytes; other \
                 memory has no such addresses in the simulator"
            ),
            Self::OutOfRange {
                access,
                address,
                bytes,
                length,
            } => write!(
                f,
                "{access} of {bytes} bytes at {address} of the dynamic shared memory, which has {length} bytes"
            ),
            Self::Misaligned {
                what,
                value,
                alignment,
            } => write!(
                f,
                "{what} is {value:#x}, which is no multiple of {alignment}"
            ),
            Self::AcrossRows { operand, start } => write!(
                f,
                "{operand} begins at byte {start} of rows of 128 bytes and goes on past their end"
            ),
            Self::NotABarrier { address } => write!(
                f,
                "no barrier was initialised at {address} of the dynamic shared memory, or it was overwritten"
            ),
            Self::Parity { parity } => {
                write!(f, "a wait for the phase of parity {parity}, not of 0 or 1")
            }
            Self::TooManyArrivals { address } => write!(
                f,
                "the barrier at {address} of the dynamic shared memory got more arrivals in a phase than it waits for"
            ),
            Self::InitialisedAgain { address } => write!(
                f,
                "there is a barrier at {address} of the dynamic shared memory, which was initialised and not invalidated"
            ),
            Self::TooManyBytes { address, bytes } => write!(
                f,
                "with {bytes} more bytes, the barrier at {address} of the dynamic shared memory waits for more than {MOST_BYTES} in a phase"
            ),
            Self::Arrivals { arrivals } => write!(
                f,
                "a barrier that waits for {arrivals} arrivals, not for 1 to {MOST_ARRIVALS}"
            ),
            Self::BeyondCluster { rank } => {
                write!(f, "the cluster has no block of rank {rank}")
            }
            Self::NotATensorMap => f.write_str(
                "the parameter is no tensor map of the simulator: make it with Device::tensor_map of the device of the launch"
            ),
            Self::OperandsDiffer => {
                f.write_str("the threads of a warp group gave different operands")
            }
            Self::OperandsOverwritten { issued } => write!(
                f,
                "operands of the wgmma at {issued} overwritten before it was waited for"
            ),
        }
    }
}
