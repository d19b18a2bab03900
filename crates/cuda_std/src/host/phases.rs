//! The phases of barriers.

use super::access::Ordered;
use super::lane::{BlockOfCluster, Lane, own_block};
use super::misuse::{MOST_ARRIVALS, Misuse};
use core::fmt;
use core::panic::Location;

/// The current phase of a [barrier](crate::mbarrier).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierPhase {
    /// The place of the barrier, in bytes from the start of the dynamic shared memory.
    pub address: usize,
    /// Where it was initialised.
    pub initialised: &'static Location<'static>,
    /// The number of the phase: 0 for the first phase. Its parity is that of the number.
    pub number: u64,
    /// The number of arrivals that ends a phase.
    pub arrivals: u16,
    /// The number of arrivals that this phase still lacks.
    pub missing: u16,
    /// The number of expected bytes that have not been copied; negative if more bytes were copied
    /// than have been expected so far.
    pub bytes: i32,
}

impl BarrierPhase {
    /// Returns the phases of all barriers of the lane's block. No other thread of the block may run
    /// meanwhile.
    pub fn all(lane: &dyn Lane) -> Vec<BarrierPhase> {
        let block = own_block(lane);
        let known = block.barriers.borrow().known.clone();
        let phases = known.into_iter().filter_map(|(address, known)| {
            let state = State::read(block, address).ok()?;
            Some(BarrierPhase {
                address,
                initialised: known.site,
                number: known.ended,
                arrivals: state.arrivals,
                missing: state.missing,
                bytes: state.bytes,
            })
        });
        phases.collect()
    }

    /// Whether something has arrived in this phase.
    pub fn has_begun(&self) -> bool {
        self.missing < self.arrivals || self.bytes != 0
    }
}

/// Says what is missing: `phase 2 (parity 0) of the barrier at 64, initialised at src/lib.rs:9:9,
/// lacks 1 of 2 arrivals and 16 bytes`.
impl fmt::Display for BarrierPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BarrierPhase {
            address,
            initialised,
            number,
            arrivals,
            missing,
            bytes,
        } = self;
        write!(
            f,
            "phase {number} (parity {}) of the barrier at {address}, initialised at {initialised}, ",
            number % 2
        )?;
        if *missing > 0 {
            write!(f, "lacks {missing} of {arrivals} arrivals")?;
        }
        let and = if *missing > 0 { " and " } else { "" };
        match (bytes, missing) {
            (0, _) => Ok(()),
            (1.., 0) => write!(f, "lacks {bytes} bytes"),
            (1.., _) => write!(f, "{and}{bytes} bytes"),
            _ => write!(
                f,
                "{and}has {} bytes more than were expected",
                bytes.unsigned_abs()
            ),
        }
    }
}

/// The content of a barrier, 8 bytes of shared memory.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The number of arrivals that ends a phase, and of those that are missing in this one.
    pub(super) arrivals: u16,
    pub(super) missing: u16,
    /// Expected bytes that have not been copied. Bytes may come before they are expected.
    pub(super) bytes: i32,
    /// The parity of the phase.
    pub(super) parity: u32,
}

/// Marks a barrier that nothing has overwritten: other bytes are seldom these.
const MARK: u64 = 0xb5 << 56;

pub(super) const BYTES: &str = "a barrier that counts arrivals";

impl State {
    pub(super) fn read(block: BlockOfCluster<'_>, address: usize) -> Result<State, Misuse> {
        let bits = u64::from_le_bytes(block.shared().read(BYTES, address)?);
        // Uninitialised memory has the mark now and then, where no barrier is.
        if bits >> 56 << 56 != MARK || !block.barriers.borrow().known.contains_key(&address) {
            return Err(Misuse::NotABarrier { address });
        }
        Ok(State {
            arrivals: (bits & MOST_ARRIVALS) as u16,
            missing: (bits >> 14 & MOST_ARRIVALS) as u16,
            // 25 bits with a sign.
            bytes: ((bits >> 28) as u32 as i32) << 7 >> 7,
            parity: (bits >> 55 & 1) as u32,
        })
    }

    pub(super) fn write(self, block: BlockOfCluster<'_>, address: usize) -> Result<(), Misuse> {
        let bits = MARK
            | u64::from(self.parity) << 55
            | u64::from(self.bytes as u32 & 0x1ff_ffff) << 28
            | u64::from(self.missing) << 14
            | u64::from(self.arrivals);
        block.shared().write(BYTES, address, bits.to_le_bytes())
    }

    fn is_over(self) -> bool {
        self.missing == 0 && self.bytes == 0
    }

    /// The beginning of the next phase.
    fn next(self) -> State {
        State {
            missing: self.arrivals,
            parity: self.parity ^ 1,
            ..self
        }
    }
}

/// Changes a barrier, whose next phase begins if this one is over.
pub(super) fn change(
    block: BlockOfCluster<'_>,
    address: usize,
    change: impl FnOnce(State) -> Result<State, Misuse>,
) -> Result<(), Misuse> {
    let state = change(State::read(block, address)?)?;
    let mut barriers = block.barriers.borrow_mut();
    barriers.changes += 1;
    if !state.is_over() {
        return state.write(block, address);
    }
    if let Some(known) = barriers.known.get_mut(&address) {
        known.ended += 1;
    }
    state.next().write(block, address)
}

/// Orders the lane's accesses before those of the threads that wait at the barrier.
pub(super) fn release(lane: &dyn Lane, block: BlockOfCluster<'_>, address: usize) {
    lane.order(Ordered::Release {
        address: block.shared().address(address),
        is_relaxed: false,
        keeps: true,
    });
}

/// Counts bytes that have been copied.
pub(super) fn complete(
    block: BlockOfCluster<'_>,
    address: usize,
    bytes: usize,
) -> Result<(), Misuse> {
    change(block, address, |state| {
        Ok(State {
            bytes: state.bytes.wrapping_sub(bytes as i32),
            ..state
        })
    })
}
