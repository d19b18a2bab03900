//! Chunks one after the other, several at a time.

use std::collections::VecDeque;

use super::lane::Lane;
use super::{Pipeline, STREAM};
use crate::spread::require_devices;
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
    /// Bytes of a lane.
    pub(super) fn lane_bytes(&self) -> usize {
        self.memory / self.streams
    }

    /// Starts chunks as long as there are some and lanes for them, and finishes them in order. If something fails, all
    /// that is on its way is waited for, and nothing more is started or finished.
    pub(super) fn run<W: Work>(&self, work: &mut W) -> Result<(), W::Error> {
        require_devices(&self.devices, STREAM)?;
        let mut busy: VecDeque<(Lane, W::Ticket)> = VecDeque::new();
        let mut free = Vec::new();
        let devices = self.devices.len();
        loop {
            let mut lane = match busy.len() < self.streams * devices {
                true => self.lane(&self.devices[busy.len() % devices])?,
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
    fn lane(&self, device: &Device) -> Result<Lane> {
        let mut idle = self.lanes();
        match idle
            .iter()
            .position(|lane| lane.stream.device().same_as(device))
        {
            Some(index) => Ok(idle.swap_remove(index)),
            None => {
                drop(idle);
                Lane::new(device, self.lane_bytes())
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
