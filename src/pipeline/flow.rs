//! The order in which chunks start and finish, with several in flight.
//!
//! A slot holds one chunk at a time, and gets the next chunk as soon as its results are taken, so a
//! fast device processes more chunks than a slow one. Where results are taken in order, early
//! results wait in their slots for those of slow devices. A fast device then processes at most
//! about twice as many chunks: more would need memory for results besides the slots.
//!
//! The pipeline does not use the queue of [`partition`](gridstride_runtime::partition), which runs each job on a
//! thread of the job's device until the job is done. Here the caller's closures must run on the
//! calling thread, the number of chunks is unknown, and each device has several chunks in flight.

use std::collections::VecDeque;
use std::time::Duration;

use super::Pipeline;
use super::slot::Slot;
use gridstride_runtime::error::During;
use gridstride_runtime::{Device, Error, Result};

/// The interval between polls of the slots of several devices. Other slots keep the devices busy.
const POLL_INTERVAL: Duration = Duration::from_micros(20);

/// The work on chunks.
pub trait Work<S = Slot> {
    /// The data of a chunk in flight.
    type Ticket;
    type Error: From<Error>;

    /// Whether chunks are finished in the order of their starts.
    const IN_ORDER: bool;

    /// Starts the next chunk in a free slot. Returns `None` if there are no more chunks.
    fn start(&mut self, slot: &mut S) -> Result<Option<Self::Ticket>, Self::Error>;

    /// Takes the results of a chunk that is done.
    fn finish(&mut self, slot: &mut S, ticket: Self::Ticket) -> Result<(), Self::Error>;
}

/// The progress of a slot, which the order of chunks depends on.
pub trait Progress {
    /// Whether the chunk is done or has failed.
    fn is_idle(&self) -> bool;

    /// Waits for the chunk.
    fn wait(&self) -> Result<()>;
}

impl Progress for Slot {
    fn is_idle(&self) -> bool {
        self.stream.is_idle()
    }

    fn wait(&self) -> Result<()> {
        self.stream.synchronize()
    }
}

impl Pipeline {
    /// Returns the pipeline's bytes on each device: fewer than requested if a device's limit leaves
    /// less.
    ///
    /// # Errors
    /// [`Error::Allocation`] if a limit leaves less than `least`.
    pub(super) fn usable_memory(&self, least: usize) -> Result<usize> {
        let idle = self.idle();
        let mut usable = self.memory as u64;
        for device in &self.devices {
            let Some(left) = device.limit_left() else {
                continue;
            };
            // Idle slots are reused or freed.
            let shares = |slot: &&Slot| slot.stream.device().shares_limit(device);
            let idle = idle.iter().filter(shares);
            let free = left + idle.map(|slot| slot.on_device.len() as u64).sum::<u64>();
            let sharing = (self.devices.iter()).filter(|other| other.shares_limit(device));
            let sharing = sharing.count() as u64;
            if free / sharing < least as u64 {
                let requested = (least as u64).saturating_mul(sharing);
                return Err(device.beyond_limit(requested, free));
            }
            usable = usable.min(free / sharing);
        }
        // At most `self.memory`.
        Ok(usable as usize)
    }

    /// Runs `work` to its end, in slots of `bytes` bytes: a stream's share of the [usable
    /// memory](Self::usable_memory). After an error no more chunks start or finish, and the call
    /// waits for all chunks in flight.
    pub(super) fn run<W: Work>(
        &self,
        operation: &'static str,
        bytes: usize,
        work: &mut W,
    ) -> Result<(), W::Error> {
        self.idle().retain(|slot| slot.on_device.len() == bytes);
        let slot = |device: usize| self.slot(&self.devices[device], bytes).during(operation);
        let slots = run(self.devices.len(), self.streams, slot, work)?;
        self.idle().extend(slots);
        Ok(())
    }

    /// Returns a slot of an earlier call, or a new slot.
    fn slot(&self, device: &Device, bytes: usize) -> Result<Slot> {
        let fits = |slot: &mut Slot| {
            slot.stream.device().shares_limit(device) && slot.on_device.len() == bytes
        };
        let idle = self.idle().extract_if(.., fits).next();
        idle.map_or_else(|| Slot::new(device, bytes), Ok)
    }
}

/// Runs `work` in up to `streams` slots of each device, which `make` makes, and returns the slots.
fn run<S: Progress, W: Work<S>>(
    devices: usize,
    streams: usize,
    make: impl Fn(usize) -> Result<S>,
    work: &mut W,
) -> Result<VecDeque<S>, W::Error> {
    // Oldest chunk first.
    let mut in_flight = VecDeque::new();
    let mut free = VecDeque::new();
    let mut made = 0;
    loop {
        let mut slot = match free.pop_front() {
            Some(slot) => slot,
            None if made < devices * streams => {
                made += 1;
                make((made - 1) % devices)?
            }
            None => {
                finish_some(devices, &mut in_flight, &mut free, work)?;
                continue;
            }
        };
        match work.start(&mut slot)? {
            Some(ticket) => in_flight.push_back((slot, ticket)),
            None => {
                free.push_back(slot);
                break;
            }
        }
    }
    while !in_flight.is_empty() {
        finish_some(devices, &mut in_flight, &mut free, work)?;
    }
    Ok(free)
}

/// Waits until a chunk can be finished, and moves its slot to `free`, slots of the fastest devices
/// first.
fn finish_some<S: Progress, W: Work<S>>(
    devices: usize,
    in_flight: &mut VecDeque<(S, W::Ticket)>,
    free: &mut VecDeque<S>,
    work: &mut W,
) -> Result<(), W::Error> {
    let mut finish = |(mut slot, ticket): (S, W::Ticket)| {
        slot.wait()?;
        work.finish(&mut slot, ticket)?;
        Ok::<S, W::Error>(slot)
    };
    let is_idle = |(slot, _): &(S, W::Ticket)| slot.is_idle();
    let mut next = 0;
    // Chunks of a single device end in about the order of their starts.
    if !W::IN_ORDER && devices > 1 {
        next = loop {
            match in_flight.iter().position(is_idle) {
                Some(index) => break index,
                None => std::thread::sleep(POLL_INTERVAL),
            }
        };
    }
    let last = finish(in_flight.remove(next).expect("a chunk is in flight"))?;
    // Chunks that have waited for this one were done earlier.
    while W::IN_ORDER && devices > 1 && in_flight.front().is_some_and(is_idle) {
        let early = in_flight.pop_front().expect("the front is idle");
        free.push_back(finish(early)?);
    }
    free.push_back(last);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The time of a chunk on each of two devices.
    const TIMES: [u32; 2] = [10, 100];

    /// Two devices that process one chunk after another, and a clock that each poll of a slot
    /// advances.
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
    #[derive(Default)]
    struct Chunks<const IN_ORDER: bool> {
        started: usize,
        finished: Vec<usize>,
        per_device: [usize; 2],
        most_in_flight: usize,
    }

    impl<'a, const IN_ORDER: bool> Work<Fake<'a>> for Chunks<IN_ORDER> {
        type Ticket = usize;
        type Error = Error;

        const IN_ORDER: bool = IN_ORDER;

        fn start(&mut self, slot: &mut Fake<'a>) -> Result<Option<usize>> {
            if self.started == 200 {
                return Ok(None);
            }
            let free_at = &slot.clock.free_at[slot.device];
            slot.done_at = slot.clock.now.get().max(free_at.get()) + TIMES[slot.device];
            free_at.set(slot.done_at);
            self.started += 1;
            self.most_in_flight = (self.most_in_flight).max(self.started - self.finished.len());
            Ok(Some(self.started - 1))
        }

        fn finish(&mut self, slot: &mut Fake, ticket: usize) -> Result<()> {
            assert!(slot.done_at <= slot.clock.now.get());
            self.finished.push(ticket);
            self.per_device[slot.device] += 1;
            Ok(())
        }
    }

    /// Returns the order of the chunks, and the number of chunks of each device.
    fn run_all<const IN_ORDER: bool>(streams: usize) -> (Vec<usize>, [usize; 2]) {
        let clock = Clock::default();
        let mut chunks = Chunks::<IN_ORDER>::default();
        let slot = |device| {
            Ok(Fake {
                clock: &clock,
                device,
                done_at: 0,
            })
        };
        let slots = run(2, streams, slot, &mut chunks).unwrap();
        assert_eq!([slots.len(), chunks.most_in_flight], [2 * streams; 2]);
        (chunks.finished, chunks.per_device)
    }

    #[test]
    fn a_slow_device_takes_few_chunks() {
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
