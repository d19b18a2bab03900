//! Events.

use super::primary::Primary;
use crate::Result;
use cust::error::CudaError;
use cust::event::{Event as CustEvent, EventFlags, EventStatus};
use cust::stream::{Stream, StreamWaitEventFlags};
use std::fmt;
use std::sync::Arc;

/// An event of the driver.
pub struct Event {
    inner: CustEvent,
    primary: Arc<Primary>,
}

impl Event {
    pub fn new(primary: &Arc<Primary>, flags: EventFlags) -> Result<Event> {
        let inner = CustEvent::new_in(primary.context(), flags);
        Ok(Event {
            inner: primary.check(inner, "creating an event")?,
            primary: primary.clone(),
        })
    }

    pub fn record_on(&self, stream: &Stream) -> Result<()> {
        let record = || self.inner.record(stream);
        self.primary.call("recording an event", record)
    }

    pub fn make_stream_wait(&self, stream: &Stream) -> Result<()> {
        let wait = || stream.wait_event(&self.inner, StreamWaitEventFlags::DEFAULT);
        self.primary.call("waiting for an event on a stream", wait)
    }

    pub fn synchronize(&self) -> Result<()> {
        let wait = || self.inner.synchronize();
        self.primary.call("waiting for an event", wait)
    }

    /// Whether the work before the event is known to have finished. The driver does not tell while
    /// another library captures a graph, or after a failure.
    pub fn has_happened(&self) -> bool {
        let status = self.primary.bind().map(|_bound| self.inner.query());
        matches!(status, Ok(Ok(EventStatus::Ready)))
    }

    /// Returns the milliseconds from `start` to this event, negative if `start` is the later event.
    /// Waits for both. Returns `None` if one has not been recorded.
    pub fn milliseconds_since(&self, start: &Event) -> Result<Option<f32>> {
        start.synchronize()?;
        self.synchronize()?;
        let read = || match self.inner.elapsed_time_f32(&start.inner) {
            Err(CudaError::InvalidHandle) => Ok(None),
            milliseconds => milliseconds.map(Some),
        };
        self.primary
            .call("reading the time between two events", read)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event on {}", self.primary.name())
    }
}
