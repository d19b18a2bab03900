//! Barriers that count arrivals and bytes: [`crate::mbarrier`] on the host.

use super::access::Ordered;
use super::barriers::Known;
use super::lane::{BlockOfCluster, Lane, lane, own_block};
use super::misuse::{MOST_ARRIVALS, MOST_BYTES, Misuse};
use super::phases::{BYTES, State, change, release};
use super::tensor_copies;
use crate::shared::SharedAddress;
use core::panic::Location;

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

pub(crate) fn wait(at: SharedAddress, parity: u32, site: &'static Location<'static>) {
    perform(site, |lane| {
        if parity > 1 {
            return Err(Misuse::Parity { parity });
        }
        let (block, address) = (own_block(lane), at.bits() as usize);
        let is_over = || Ok(State::read(block, address)?.parity != parity);
        while !is_over()? {
            // Copies that are as late as they may be are made now.
            tensor_copies::finish(block, address)?;
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
