//! The order in which chunks start and finish, with several in flight.
//!
//! A lane carries one chunk at a time. A lane is refilled as soon as its results are taken, so a fast device does more
//! chunks than a slow one. Where results are taken in order, early ones wait in their lanes for those of slow devices, so
//! a fast device then does at most about twice as many chunks: more would need memory for results beside the lanes.
//!
//! The pipeline does not take chunks from the queue of [`partition`](crate::partition), which runs each job on a thread
//! of the job's device until the job is done. Here the caller's closures must run on the calling thread, the number of
//! chunks is not known in advance, and each device has several chunks in flight.

use std::collections::VecDeque;
use std::time::Duration;

use super::Pipeline;
use super::lane::Lane;
use crate::error::During;
use crate::{Device, Error, Result};

/// Between two looks at lanes of several devices. Other lanes keep the devices busy meanwhile.
const POLL_INTERVAL: Duration = Duration::from_micros(20);

/// What is done with each chunk.
pub trait Work<L = Lane> {
    /// What is remembered of a chunk in flight.
    type Ticket;
    type Error: From<Error>;

    /// Whether chunks are finished in the order of their starts.
    const IN_ORDER: bool;

    /// Starts the next chunk on a lane that is free. Returns `None` if there are no more chunks.
    fn start(&mut self, lane: &mut L) -> Result<Option<Self::Ticket>, Self::Error>;

    /// Takes the results of a chunk that the lane's stream has done.
    fn finish(&mut self, lane: &mut L, ticket: Self::Ticket) -> Result<(), Self::Error>;
}

/// What the order of chunks depends on in a lane.
pub trait Progress {
    /// Whether the lane has done its chunk, or has failed.
    fn is_idle(&self) -> bool;

    /// Waits for the lane's chunk.
    fn wait(&self) -> Result<()>;
}

impl Progress for Lane {
    fn is_idle(&self) -> bool {
        self.stream.is_idle()
    }

    fn wait(&self) -> Result<()> {
        self.stream.synchronize()
    }
}

impl Pipeline {
    /// Returns the pipeline's bytes on each device: fewer than requested where a device's limit leaves less.
    pub(super) fn usable_memory(&self) -> usize {
        let idle = self.idle();
        let left = |device: &Device| {
            let left = device.limit_left()?;
            // Lanes that wait are used again, or given back.
            let of_device = |lane: &&Lane| lane.stream.device().shares_limit(device);
            let idle = idle.iter().filter(of_device);
            let bytes = left + idle.map(|lane| lane.on_device.len() as u64).sum::<u64>();
            let sharing = (self.devices.iter()).filter(|other| other.shares_limit(device));
            Some(bytes / sharing.count() as u64)
        };
        let least = self.devices.iter().filter_map(left).min();
        let least = least.map(|least| usize::try_from(least).unwrap_or(usize::MAX));
        least.map_or(self.memory, |least| self.memory.min(least))
    }

    /// Runs `work` to its end. After an error nothing more is started or finished, and all chunks in flight are waited
    /// for.
    ///
    /// Lanes have `bytes` bytes each: a stream's share of the [usable memory](Self::usable_memory).
    pub(super) fn run<W: Work>(
        &self,
        operation: &'static str,
        bytes: usize,
        work: &mut W,
    ) -> Result<(), W::Error> {
        self.idle().retain(|lane| lane.on_device.len() == bytes);
        let lane = |device: usize| self.lane(&self.devices[device], bytes).during(operation);
        let lanes = run(self.devices.len(), self.streams, lane, work)?;
        self.idle().extend(lanes);
        Ok(())
    }

    /// Returns a lane of an earlier call, or a new one.
    fn lane(&self, device: &Device, bytes: usize) -> Result<Lane> {
        let mut idle = self.idle();
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
}

/// Runs `work` on up to `streams` lanes of each device, which `make` returns, and returns the lanes.
fn run<L: Progress, W: Work<L>>(
    devices: usize,
    streams: usize,
    make: impl Fn(usize) -> Result<L>,
    work: &mut W,
) -> Result<VecDeque<L>, W::Error> {
    // Oldest chunk first.
    let mut in_flight = VecDeque::new();
    let mut free = VecDeque::new();
    let mut made = 0;
    loop {
        let mut lane = match free.pop_front() {
            Some(lane) => lane,
            None if made < devices * streams => {
                made += 1;
                make((made - 1) % devices)?
            }
            None => {
                finish_some(devices, &mut in_flight, &mut free, work)?;
                continue;
            }
        };
        match work.start(&mut lane)? {
            Some(ticket) => in_flight.push_back((lane, ticket)),
            None => {
                free.push_back(lane);
                break;
            }
        }
    }
    while !in_flight.is_empty() {
        finish_some(devices, &mut in_flight, &mut free, work)?;
    }
    Ok(free)
}

/// Waits until a chunk can be finished, and moves its lane to `free`; those of the fastest devices stand first there.
fn finish_some<L: Progress, W: Work<L>>(
    devices: usize,
    in_flight: &mut VecDeque<(L, W::Ticket)>,
    free: &mut VecDeque<L>,
    work: &mut W,
) -> Result<(), W::Error> {
    let mut finish = |(mut lane, ticket): (L, W::Ticket)| {
        lane.wait()?;
        work.finish(&mut lane, ticket)?;
        Ok::<L, W::Error>(lane)
    };
    let is_idle = |(lane, _): &(L, W::Ticket)| lane.is_idle();
    let mut next = 0;
    // Chunks of a single device are done in about the order of their starts.
    if !W::IN_ORDER && devices > 1 {
        next = loop {
            match in_flight.iter().position(is_idle) {
                Some(index) => break index,
                None => std::thread::sleep(POLL_INTERVAL),
            }
        };
    }
    let last = finish(in_flight.remove(next).expect("a chunk is in flight"))?;
    // The chunks that have waited for this one were done earlier.
    while W::IN_ORDER && devices > 1 && in_flight.front().is_some_and(is_idle) {
        let early = in_flight.pop_front().expect("there is a first one");
        free.push_back(finish(early)?);
    }
    free.push_back(last);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How long a chunk takes on each of two devices.
    const TIMES: [u32; 2] = [10, 100];

    /// Two devices that each do one chunk after the other, in a time that each look at a lane advances.
    #[derive(Default)]
    struct Clock {
        now: Cell<u32>,
        free_at: [Cell<u32>; 2],
    }

    struct Fake<'a> {
        clock: &'a Clock,
        device: usize,
        done_at: u32,
    }

    impl Progress for Fake<'_> {
        fn is_idle(&self) -> bool {
            self.clock.now.set(self.clock.now.get() + 1);
            self.clock.now.get() >= self.done_at
        }

        fn wait(&self) -> Result<()> {
            let now = self.clock.now.get().max(self.done_at);
            self.clock.now.set(now);
            Ok(())
        }
    }

    /// Counts chunks.
    struct Chunks<const IN_ORDER: bool> {
        started: usize,
        finished: Vec<usize>,
        of_device: [usize; 2],
        most_in_flight: usize,
    }

    impl<'a, const IN_ORDER: bool> Work<Fake<'a>> for Chunks<IN_ORDER> {
        type Ticket = usize;
        type Error = Error;

        const IN_ORDER: bool = IN_ORDER;

        fn start(&mut self, lane: &mut Fake<'a>) -> Result<Option<usize>> {
            if self.started == 200 {
                return Ok(None);
            }
            let free_at = &lane.clock.free_at[lane.device];
            lane.done_at = lane.clock.now.get().max(free_at.get()) + TIMES[lane.device];
            free_at.set(lane.done_at);
            self.started += 1;
            self.most_in_flight = (self.most_in_flight).max(self.started - self.finished.len());
            Ok(Some(self.started - 1))
        }

        fn finish(&mut self, lane: &mut Fake, ticket: usize) -> Result<()> {
            assert!(lane.done_at <= lane.clock.now.get());
            self.finished.push(ticket);
            self.of_device[lane.device] += 1;
            Ok(())
        }
    }

    /// Returns the order of the chunks, and how many each device did.
    fn run_all<const IN_ORDER: bool>(streams: usize) -> (Vec<usize>, [usize; 2]) {
        let clock = Clock::default();
        let mut chunks = Chunks::<IN_ORDER> {
            started: 0,
            finished: Vec::new(),
            of_device: [0; 2],
            most_in_flight: 0,
        };
        let lane = |device| {
            Ok(Fake {
                clock: &clock,
                device,
                done_at: 0,
            })
        };
        let lanes = run(2, streams, lane, &mut chunks).unwrap();
        assert_eq!(
            (lanes.len(), chunks.most_in_flight),
            (2 * streams, 2 * streams)
        );
        (chunks.finished, chunks.of_device)
    }

    #[test]
    fn a_slow_device_takes_few_of_the_chunks() {
        let (mut finished, [fast, slow]) = run_all::<false>(2);
        finished.sort_unstable();
        assert!(finished.into_iter().eq(0..200));
        assert!(fast > 5 * slow, "{fast} and {slow}");
    }

    #[test]
    fn results_that_wait_for_a_slow_device_stay_in_order() {
        for streams in [1, 2, 4] {
            let (finished, [fast, slow]) = run_all::<true>(streams);
            assert!(finished.into_iter().eq(0..200));
            assert!(fast > slow, "{fast} and {slow}");
        }
    }
}
