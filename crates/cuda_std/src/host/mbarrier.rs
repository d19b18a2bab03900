//! Barriers that count arrivals and bytes: [`crate::mbarrier`] on the host.

use super::Misuse;
use super::access::Ordered;
use super::lane::{BlockOfCluster, Lane, lane, own_block};
use crate::shared::SharedAddress;
use core::fmt;
use core::panic::Location;
use std::collections::BTreeSet;

/// The addresses in a block's dynamic shared memory at which there are barriers: at first none.
#[derive(Debug, Default)]
pub struct Barriers(BTreeSet<usize>);

/// The current phase of a [barrier](crate::mbarrier), as the 8 bytes of the barrier hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierPhase {
    /// The parity of the phase: 0 for the first phase.
    pub parity: u32,
    /// The number of arrivals that ends a phase.
    pub arrivals: u16,
    /// The number of arrivals that this phase still lacks.
    pub missing: u16,
    /// The number of expected bytes that have not been copied; negative if more bytes were copied
    /// than have been expected so far.
    pub bytes: i32,
}

/// Says what is missing: `its phase of parity 0 lacks 1 of 2 arrivals and 64 bytes`.
impl fmt::Display for BarrierPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BarrierPhase {
            parity,
            arrivals,
            missing,
            bytes,
        } = self;
        write!(
            f,
            "its phase of parity {parity} lacks {missing} of {arrivals} arrivals and "
        )?;
        match bytes {
            0.. => write!(f, "{bytes} bytes"),
            _ => write!(
                f,
                "has {} bytes more than were expected",
                bytes.unsigned_abs()
            ),
        }
    }
}

/// Marks a barrier that nothing has overwritten: other bytes are seldom these.
const MARK: u64 = 0xb5 << 56;

const BYTES: &str = "a barrier that counts arrivals";

/// The largest count of 14 bits. A cluster of 8 blocks has at most 8192 threads.
pub(super) const MOST_ARRIVALS: u64 = 0x3fff;

/// The most bytes that a phase can wait for, as on GPUs.
pub(super) const MOST_BYTES: i32 = 0xf_ffff;

impl BarrierPhase {
    /// Returns the phase of the barrier at `address` of the dynamic shared memory of the lane's block,
    /// or `None` if there is no barrier. No other thread of the block may run meanwhile.
    pub fn at(lane: &dyn Lane, address: usize) -> Option<BarrierPhase> {
        BarrierPhase::read(own_block(lane), address).ok()
    }

    fn read(block: BlockOfCluster<'_>, address: usize) -> Result<BarrierPhase, Misuse> {
        let bits = u64::from_le_bytes(block.shared().read(BYTES, address)?);
        // Uninitialised memory has the mark now and then, where no barrier is.
        if bits >> 56 << 56 != MARK || !block.barriers.borrow().0.contains(&address) {
            return Err(Misuse::NotABarrier { address });
        }
        Ok(BarrierPhase {
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

    /// Begins the next phase if this one is over.
    fn turned(self) -> BarrierPhase {
        match (self.missing, self.bytes) {
            (0, 0) => BarrierPhase {
                missing: self.arrivals,
                parity: self.parity ^ 1,
                ..self
            },
            _ => self,
        }
    }
}

/// Changes a barrier.
fn change(
    block: BlockOfCluster<'_>,
    address: usize,
    change: impl FnOnce(BarrierPhase) -> Result<BarrierPhase, Misuse>,
) -> Result<(), Misuse> {
    change(BarrierPhase::read(block, address)?)?
        .turned()
        .write(block, address)
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
        if BarrierPhase::read(block, address).is_ok() {
            return Err(Misuse::InitialisedAgain { address });
        }
        let phase = BarrierPhase {
            arrivals: arrivals as u16,
            missing: arrivals as u16,
            bytes: 0,
            parity: 0,
        };
        phase.write(block, address)?;
        block.barriers.borrow_mut().0.insert(address);
        Ok(())
    });
}

pub(crate) fn invalidate(at: SharedAddress, site: &'static Location<'static>) {
    perform(site, |lane| {
        let (block, address) = (own_block(lane), at.bits() as usize);
        BarrierPhase::read(block, address)?;
        block.barriers.borrow_mut().0.remove(&address);
        block.shared().write(BYTES, address, [0xff; 8])
    });
}

pub(crate) fn arrive(at: SharedAddress, bytes: u32, site: &'static Location<'static>) {
    perform(site, |lane| arrive_in(lane, own_block(lane), at, bytes));
}

pub(crate) fn arrive_at(at: SharedAddress, rank: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        let block = lane.block_of_cluster(rank);
        arrive_in(lane, block.ok_or(Misuse::BeyondCluster { rank })?, at, 0)
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
) -> Result<(), Misuse> {
    let address = at.bits() as usize;
    release(lane, block, address);
    change(block, address, |phase| {
        let missing = phase.missing.checked_sub(1);
        let missing = missing.ok_or(Misuse::TooManyArrivals { address })?;
        let expected = phase.bytes.checked_add_unsigned(bytes);
        let expected = expected.filter(|&expected| expected <= MOST_BYTES);
        Ok(BarrierPhase {
            missing,
            bytes: expected.ok_or(Misuse::TooManyBytes { address, bytes })?,
            ..phase
        })
    })
}

/// Counts bytes that have been copied.
pub(super) fn complete(
    block: BlockOfCluster<'_>,
    address: usize,
    bytes: usize,
) -> Result<(), Misuse> {
    change(block, address, |phase| {
        Ok(BarrierPhase {
            bytes: phase.bytes.wrapping_sub(bytes as i32),
            ..phase
        })
    })
}

pub(crate) fn wait(at: SharedAddress, parity: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        let (block, address) = (own_block(lane), at.bits() as usize);
        let is_over = || Ok(BarrierPhase::read(block, address)?.parity != parity & 1);
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
