//! Events: points in the work of a stream, whose times can be compared.

use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use crate::context::{Context, Owner};
use crate::error::{CudaError, CudaResult};
use crate::sys::{self, CUevent, CUevent_flags};

/// Properties of an event. `|` combines flags.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EventFlags(u32);

impl EventFlags {
    /// No flags: the event records its time, and a thread that waits for it is busy.
    pub const DEFAULT: Self = Self(CUevent_flags::CU_EVENT_DEFAULT as u32);
    /// A thread that waits for the event sleeps.
    pub const BLOCKING_SYNC: Self = Self(CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32);
    /// The event records no time.
    pub const DISABLE_TIMING: Self = Self(CUevent_flags::CU_EVENT_DISABLE_TIMING as u32);
    /// Other processes may use the event. Needs [`DISABLE_TIMING`](Self::DISABLE_TIMING).
    pub const INTERPROCESS: Self = Self(CUevent_flags::CU_EVENT_INTERPROCESS as u32);

    /// Returns the driver's number.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl std::ops::BitOr for EventFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether the work before an event is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventStatus {
    /// All of it is done, or the event was never recorded.
    Ready,
    /// Some of it is not done.
    NotReady,
}

/// A point in the work of a stream.
///
/// ```no_run
/// use cust::event::{Event, EventFlags};
/// use cust::prelude::*;
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// let _context = cust::quick_init()?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let start = Event::new(EventFlags::DEFAULT)?;
/// let end = Event::new(EventFlags::DEFAULT)?;
/// start.record(&stream)?;
/// // Launches on the stream.
/// end.record(&stream)?;
/// end.synchronize()?;
/// println!("{} ms", end.elapsed_time_f32(&start)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Event {
    inner: CUevent,
    owner: Owner,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: the driver's calls are thread-safe, so several threads may use one at once.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event in the context that is current on this thread.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn new(flags: EventFlags) -> CudaResult<Self> {
        Self::of(Owner::current()?, flags)
    }

    /// Makes an event in a context that need not be current.
    ///
    /// # Errors
    ///
    /// The error that the driver returns.
    pub fn new_in(context: &Arc<Context>, flags: EventFlags) -> CudaResult<Self> {
        Owner::make(context, |owner| Self::of(owner, flags))
    }

    fn of(owner: Owner, flags: EventFlags) -> CudaResult<Self> {
        let mut inner = null_mut();
        // SAFETY: it writes one handle.
        unsafe { sys::cuEventCreate(&mut inner, flags.bits()) }.to_result()?;
        Ok(Self { inner, owner })
    }

    /// Returns whether the work before the event is done, without waiting.
    ///
    /// # Errors
    ///
    /// If work has failed, also earlier work.
    pub fn query(&self) -> CudaResult<EventStatus> {
        // SAFETY: the event lives.
        match unsafe { sys::cuEventQuery(self.inner) }.to_result() {
            Ok(()) => Ok(EventStatus::Ready),
            Err(CudaError::NotReady) => Ok(EventStatus::NotReady),
            Err(error) => Err(error),
        }
    }

    /// Waits for the work before the event.
    ///
    /// # Errors
    ///
    /// As [`query`](Self::query).
    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: the event lives.
        unsafe { sys::cuEventSynchronize(self.inner) }.to_result()
    }

    /// Returns the milliseconds from `start` to this event, with a resolution of 0.5 µs.
    ///
    /// # Errors
    ///
    /// [`NotReady`](CudaError::NotReady) before both have been reached, and
    /// [`InvalidHandle`](CudaError::InvalidHandle) if one was not recorded or records no time.
    pub fn elapsed_time_f32(&self, start: &Self) -> CudaResult<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: it writes one number; both events live.
        unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.inner, self.inner) }
            .to_result()?;
        Ok(milliseconds)
    }

    /// Returns the time from `start` to this event; 0 if this event was reached before.
    ///
    /// # Errors
    ///
    /// As [`elapsed_time_f32`](Self::elapsed_time_f32).
    pub fn elapsed(&self, start: &Self) -> CudaResult<Duration> {
        let milliseconds = f64::from(self.elapsed_time_f32(start)?);
        Ok(Duration::from_nanos((milliseconds * 1e6) as u64))
    }

    /// Returns the driver's handle.
    pub fn as_inner(&self) -> CUevent {
        self.inner
    }

    fn free(&mut self) -> CudaResult<()> {
        // SAFETY: made in `of`, and destroyed once.
        let destroy = || unsafe { sys::cuEventDestroy_v2(self.inner) };
        self.owner.destroy(destroy)
    }
}

destroyed! { [] Event }
