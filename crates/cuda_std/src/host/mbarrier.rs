//! Barriers that count arrivals and bytes: [`crate::mbarrier`] on the host.

use super::Misuse;
use super::access::Ordered;
use super::lane::{BlockOfCluster, Lane, lane, own_block};
use crate::shared::SharedAddress;
use core::fmt;
use core::panic::Location;
use std::collections::BTreeMap;

/// The barriers in a block's dynamic shared memory, by their addresses: at first none.
#[derive(Debug, Default)]
pub struct Barriers {
    known: BTreeMap<usize, Known>,
    changes: u64,
}

/// What the 8 bytes of a barrier do not hold.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Where it was initialised.
    site: &'static Location<'static>,
    /// The number of phases that have ended.
    ended: u64,
}

impl Barriers {
    /// The number of arrivals and copies so far, at all barriers.
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

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
struct State {
    /// The number of arrivals that ends a phase, and of those that are missing in this one.
    arrivals: u16,
    missing: u16,
    /// Expected bytes that have not been copied. Bytes may come before they are expected.
    bytes: i32,
    /// The parity of the phase.
    parity: u32,
}

/// Marks a barrier that nothing has overwritten: other bytes are seldom these.
const MARK: u64 = 0xb5 << 56;

const BYTES: &str = "a barrier that counts arrivals";

/// The largest count of 14 bits. A cluster of 8 blocks has at most 8192 threads.
pub(super) const MOST_ARRIVALS: u64 = 0x3fff;

/// The most bytes that a phase can wait for, as on GPUs.
pub(super) const MOST_BYTES: i32 = 0xf_ffff;

impl State {
    fn read(block: BlockOfCluster<'_>, address: usize) -> Result<State, Misuse> {
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

    fn write(self, block: BlockOfCluster<'_>, address: usize) -> Result<(), Misuse> {
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
fn change(
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

/// Performs `operation` for the calling thread, or reports its mistake. Does nothing while the
/// thread unwinds: a second failure, in a destructor of a failed thread, would abort the process.
fn perform(
    site: &'static Location<'static>,
    operation: impl FnOnce(&dyn Lane) -> Result<(), Misuse>,
) {
    let lane = lane();
    if !lane.is_unwinding()
        && let Err(misuse) = operation(lane)
    {
        lane.misuse(misuse, site);
    }
}

pub(crate) fn init(at: SharedAddress, arrivals: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        if !(1..=MOST_ARRIVALS).contains(&u64::from(arrivals)) {
            return Err(Misuse::Arrivals { arrivals });
        }
        let (block, address) = (own_block(lane), at.bits() as usize);
        if State::read(block, address).is_ok() {
            return Err(Misuse::InitialisedAgain { address });
        }
        let state = State {
            arrivals: arrivals as u16,
            missing: arrivals as u16,
            bytes: 0,
            parity: 0,
        };
        state.write(block, address)?;
        let known = Known { site, ended: 0 };
        block.barriers.borrow_mut().known.insert(address, known);
        Ok(())
    });
}

pub(crate) fn invalidate(at: SharedAddress, site: &'static Location<'static>) {
    perform(site, |lane| {
        let (block, address) = (own_block(lane), at.bits() as usize);
        State::read(block, address)?;
        block.barriers.borrow_mut().known.remove(&address);
        block.shared().write(BYTES, address, [0xff; 8])
    });
}

pub(crate) fn arrive(at: SharedAddress, bytes: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        arrive_in(lane, own_block(lane), at, bytes, site)
    });
}

pub(crate) fn arrive_at(at: SharedAddress, rank: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        let block = lane.block_of_cluster(rank);
        arrive_in(
            lane,
            block.ok_or(Misuse::BeyondCluster { rank })?,
            at,
            0,
            site,
        )
    });
}

/// What the lane did happens before what those do that wait at the barrier.
pub(super) fn release(lane: &dyn Lane, block: BlockOfCluster<'_>, address: usize) {
    lane.order(Ordered::Release {
        address: block.shared().address(address),
        is_relaxed: false,
        keeps: true,
    });
}

fn arrive_in(
    lane: &dyn Lane,
    block: BlockOfCluster<'_>,
    at: SharedAddress,
    bytes: u32,
    site: &'static Location<'static>,
) -> Result<(), Misuse> {
    let address = at.bits() as usize;
    release(lane, block, address);
    change(block, address, |state| {
        let missing = state.missing.checked_sub(1);
        let missing = missing.ok_or(Misuse::TooManyArrivals { address })?;
        let expected = state.bytes.checked_add_unsigned(bytes);
        let expected = expected.filter(|&expected| expected <= MOST_BYTES);
        Ok(State {
            missing,
            bytes: expected.ok_or(Misuse::TooManyBytes { address, bytes })?,
            ..state
        })
    })?;
    lane.arrived(site);
    Ok(())
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

pub(crate) fn wait(at: SharedAddress, parity: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        if parity > 1 {
            return Err(Misuse::Parity { parity });
        }
        let (block, address) = (own_block(lane), at.bits() as usize);
        let is_over = || Ok(State::read(block, address)?.parity != parity);
        while !is_over()? {
            // Copies that are as late as they may be are made now.
            super::tensor::finish(block, address)?;
            if is_over()? {
                break;
            }
            lane.pause(Some(address), site);
        }
        lane.order(Ordered::Acquire {
            address: block.shared().address(address),
            is_relaxed: false,
        });
        Ok(())
    });
}
