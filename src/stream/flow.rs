//! Chunks one after the other, several at a time.

use std::collections::VecDeque;

use super::lane::Lane;
use super::{Pipeline, STREAM};
use crate::error::During;
use crate::partition::require_devices;
use crate::{Device, Error, Result};

/// What is done with each chunk.
pub trait Work {
    /// What is to be remembered of a chunk on its way.
    type Ticket;
    type Error: From<Error>;

    /// Brings the next chunk to a lane, and puts what is to be done with it on its stream. `None` if there is no more.
    fn start(&mut self, lane: &mut Lane) -> Result<Option<Self::Ticket>, Self::Error>;

    /// Takes the results of a chunk, with which its stream is done.
    fn finish(&mut self, lane: &mut Lane, ticket: Self::Ticket) -> Result<(), Self::Error>;
}

impl Pipeline {
    /// The pipeline's bytes on each device: fewer than asked for where a device's limit leaves less.
    pub(super) fn usable_memory(&self) -> usize {
        let idle = self.lanes();
        let left = |device: &Device| {
            let left = device.limit_left()?;
            // Lanes that wait are used again, or given back.
            let of_device = |lane: &&Lane| lane.stream.device().shares_limit(device);
            let idle = idle.iter().filter(of_device);
            let bytes = left + idle.map(|lane| lane.on_device.len() as u64).sum::<u64>();
            let sharing = self
                .devices
                .iter()
                .filter(|other| other.shares_limit(device));
            Some(bytes / sharing.count() as u64)
        };
        let least = self.devices.iter().filter_map(left).min();
        least.map_or(self.memory, |least| {
            self.memory
                .min(usize::try_from(least).unwrap_or(usize::MAX))
        })
    }

    /// Starts chunks as long as there are some and lanes for them, and finishes them in order. If something fails, all
    /// that is on its way is waited for, and nothing more is started or finished.
    ///
    /// Lanes have `bytes` bytes each: a stream's share of the [usable memory](Self::usable_memory).
    pub(super) fn run<W: Work>(&self, bytes: usize, work: &mut W) -> Result<(), W::Error> {
        require_devices(&self.devices, STREAM)?;
        let mut busy: VecDeque<(Lane, W::Ticket)> = VecDeque::new();
        let mut free = Vec::new();
        let devices = self.devices.len();
        self.lanes().retain(|lane| lane.on_device.len() == bytes);
        loop {
            let mut lane = match busy.len() < self.streams * devices {
                true => self
                    .lane(&self.devices[busy.len() % devices], bytes)
                    .during(STREAM)?,
                false => {
                    let first = busy.pop_front().expect("there is at least one stream");
                    finished(work, first)?
                }
            };
            match work.start(&mut lane)? {
                Some(ticket) => busy.push_back((lane, ticket)),
                None => {
                    free.push(lane);
                    break;
                }
            }
        }
        for on_its_way in busy {
            free.push(finished(work, on_its_way)?);
        }
        self.lanes().append(&mut free);
        Ok(())
    }

    /// A lane of an earlier call, or a new one.
    fn lane(&self, device: &Device, bytes: usize) -> Result<Lane> {
        let mut idle = self.lanes();
        let fits = |lane: &Lane| {
            lane.stream.device().shares_limit(device) && lane.on_device.len() == bytes
        };
        match idle.iter().position(fits) {
            Some(index) => Ok(idle.swap_remove(index)),
            None => {
                drop(idle);
                Lane::new(device, bytes)
            }
        }
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Vec<Lane>> {
        self.idle
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Waits for a chunk and takes its results.
fn finished<W: Work>(
    work: &mut W,
    (mut lane, ticket): (Lane, W::Ticket),
) -> Result<Lane, W::Error> {
    lane.stream.synchronize()?;
    work.finish(&mut lane, ticket)?;
    Ok(lane)
}
