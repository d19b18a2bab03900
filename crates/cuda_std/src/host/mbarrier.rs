//! Barriers that count arrivals and bytes: [`crate::mbarrier`] on the host.

use super::Misuse;
use super::access::Ordered;
use super::lane::{Lane, dynamic_shared, lane};
use super::shared::DynamicShared;
use crate::shared::SharedAddress;
use core::panic::Location;

/// The content of a barrier, 8 bytes of shared memory.
#[derive(Clone, Copy)]
struct State {
    /// Arrivals that end a phase, and those that are still missing in this one.
    arrivals: u16,
    missing: u16,
    /// Expected bytes that have not been copied. Bytes may come before they are expected.
    bytes: i32,
    /// The parity of the present phase.
    parity: bool,
}

/// Marks a barrier: the bytes of uninitialised memory are hardly ever these.
const MARK: u64 = 0xb5 << 56;

const BYTES: &str = "a barrier that counts arrivals";

/// The largest count of 14 bits. A cluster of 8 blocks has at most 8192 threads.
pub(super) const MOST_ARRIVALS: u64 = 0x3fff;

impl State {
    fn read(shared: DynamicShared, address: usize) -> Result<State, Misuse> {
        let bits = u64::from_le_bytes(shared.read(BYTES, address)?);
        if bits >> 56 << 56 != MARK {
            return Err(Misuse::NotABarrier { address });
        }
        Ok(State {
            arrivals: (bits & MOST_ARRIVALS) as u16,
            missing: (bits >> 14 & MOST_ARRIVALS) as u16,
            // 25 bits with a sign.
            bytes: ((bits >> 28) as u32 as i32) << 7 >> 7,
            parity: bits >> 55 & 1 == 1,
        })
    }

    fn write(self, shared: DynamicShared, address: usize) -> Result<(), Misuse> {
        let bits = MARK
            | u64::from(self.parity) << 55
            | u64::from(self.bytes as u32 & 0x1ff_ffff) << 28
            | u64::from(self.missing) << 14
            | u64::from(self.arrivals);
        shared.write(BYTES, address, bits.to_le_bytes())
    }

    /// Begins the next phase if this one is over.
    fn turned(self) -> State {
        match (self.missing, self.bytes) {
            (0, 0) => State {
                missing: self.arrivals,
                parity: !self.parity,
                ..self
            },
            _ => self,
        }
    }
}

/// Changes a barrier.
fn change(
    shared: DynamicShared,
    address: usize,
    change: impl FnOnce(State) -> Result<State, Misuse>,
) -> Result<(), Misuse> {
    change(State::read(shared, address)?)?
        .turned()
        .write(shared, address)
}

pub(crate) fn init(at: SharedAddress, arrivals: u32, site: &'static Location<'static>) {
    let lane = lane();
    if !(1..=MOST_ARRIVALS).contains(&u64::from(arrivals)) {
        lane.misuse(Misuse::Arrivals { arrivals }, site);
    }
    let state = State {
        arrivals: arrivals as u16,
        missing: arrivals as u16,
        bytes: 0,
        parity: false,
    };
    if let Err(misuse) = state.write(dynamic_shared(lane), at.bits() as usize) {
        lane.misuse(misuse, site);
    }
}

pub(crate) fn invalidate(at: SharedAddress, site: &'static Location<'static>) {
    let (lane, address) = (lane(), at.bits() as usize);
    let shared = dynamic_shared(lane);
    let invalidated = State::read(shared, address)
        .and_then(|_| shared.write(BYTES, address, u64::MAX.to_le_bytes()));
    if let Err(misuse) = invalidated {
        lane.misuse(misuse, site);
    }
}

pub(crate) fn arrive(at: SharedAddress, bytes: u32, site: &'static Location<'static>) {
    let lane = lane();
    let shared = dynamic_shared(lane);
    release(lane, shared, at.bits() as usize);
    if let Err(misuse) = arrive_in(shared, at, bytes) {
        lane.misuse(misuse, site);
    }
}

pub(crate) fn arrive_at(at: SharedAddress, rank: u32, site: &'static Location<'static>) {
    let lane = lane();
    let block = lane.block_of_cluster(rank);
    let block = block.ok_or(Misuse::BeyondCluster { rank });
    let arrived = block.and_then(|block| {
        release(lane, block.shared(), at.bits() as usize);
        arrive_in(block.shared(), at, 0)
    });
    if let Err(misuse) = arrived {
        lane.misuse(misuse, site);
    }
}

/// What the lane did happens before what those do that wait at the barrier.
pub(super) fn release(lane: &dyn Lane, shared: DynamicShared, address: usize) {
    lane.order(Ordered::Release {
        address: shared.address(address),
        is_relaxed: false,
        keeps: true,
    });
}

fn arrive_in(shared: DynamicShared, at: SharedAddress, bytes: u32) -> Result<(), Misuse> {
    let address = at.bits() as usize;
    change(shared, address, |state| {
        let missing = state.missing.checked_sub(1);
        let missing = missing.ok_or(Misuse::TooManyArrivals { address })?;
        Ok(State {
            missing,
            bytes: state.bytes.wrapping_add(bytes as i32),
            ..state
        })
    })
}

/// Counts bytes that have been copied.
pub(super) fn complete(shared: DynamicShared, address: usize, bytes: usize) -> Result<(), Misuse> {
    change(shared, address, |state| {
        Ok(State {
            bytes: state.bytes.wrapping_sub(bytes as i32),
            ..state
        })
    })
}

pub(crate) fn wait(at: SharedAddress, parity: u32, site: &'static Location<'static>) {
    let (lane, address) = (lane(), at.bits() as usize);
    // A second failure, in a destructor of a failed thread, would abort the process.
    if lane.is_unwinding() {
        return;
    }
    let is_over = || match State::read(dynamic_shared(lane), address) {
        Ok(state) => state.parity != (parity & 1 == 1),
        Err(misuse) => lane.misuse(misuse, site),
    };
    while !is_over() {
        // Copies that are as late as they may be are made now.
        if let Err(misuse) = super::tensor::finish(lane, address) {
            lane.misuse(misuse, site);
        }
        if is_over() {
            break;
        }
        lane.pause(site);
    }
    lane.order(Ordered::Acquire {
        address: dynamic_shared(lane).address(address),
        is_relaxed: false,
    });
}
