//! Streams and events: what runs beside what, in which order, and how long it took.

use super::{Buffer, Device, Element, lock};
use crate::Result;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A queue of copies and launches that run one after the other, beside those of other streams.
///
/// On the CPU and in the simulator each call has finished when it returns, so streams are only
/// names there; the order that they promise is the same.
pub struct Stream {
    device: Device,
    #[cfg(feature = "cuda")]
    pub(super) cuda: Option<super::cuda::UserStream>,
}

impl Device {
    /// A new stream, which does not wait for any other.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the GPU fails.
    pub fn stream(&self) -> Result<Stream> {
        Ok(Stream {
            device: self.clone(),
            #[cfg(feature = "cuda")]
            cuda: match &self.kind {
                super::Kind::Cuda(context) => Some(context.new_stream()?),
                _ => None,
            },
        })
    }

    /// A new event, not yet recorded.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if the GPU fails.
    pub fn event(&self) -> Result<Event> {
        Ok(Event(match &self.kind {
            #[cfg(feature = "cuda")]
            super::Kind::Cuda(context) => Moment::Cuda(context.new_event()?),
            _ => Moment::Host {
                device: self.clone(),
                at: Mutex::new(None),
            },
        }))
    }

    /// Records `event` on the main stream: see [`Stream::record`].
    ///
    /// # Errors
    /// As [`Stream::record`].
    pub fn record(&self, event: &Event) -> Result<()> {
        self.require_same(&event.device(), "record an event")?;
        match (&self.kind, &event.0) {
            #[cfg(feature = "cuda")]
            (super::Kind::Cuda(context), Moment::Cuda(event)) => {
                event.record(context.main_stream())
            }
            _ => {
                event.record_on_host();
                Ok(())
            }
        }
    }

    /// Makes the main stream wait for `event`: see [`Stream::wait`].
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        match (&self.kind, &event.0) {
            #[cfg(feature = "cuda")]
            (super::Kind::Cuda(context), Moment::Cuda(event)) => {
                event.make_wait(context.main_stream())
            }
            _ => self.require_same(&event.device(), "wait for an event"),
        }
    }
}

impl Stream {
    /// The device on which the stream runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until everything that was put on the stream has finished.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if something that ran on the GPU failed.
    pub fn synchronize(&self) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let Some(stream) = &self.cuda {
            return stream.synchronize();
        }
        Ok(())
    }

    /// Marks the present end of the stream: the event happens when all that was put on the stream
    /// before has finished. Recording again forgets the earlier mark.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if the event is of another
    /// device, [`Error::Driver`](crate::Error::Driver) if the GPU fails.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.device
            .require_same(&event.device(), "record an event")?;
        #[cfg(feature = "cuda")]
        if let (Some(stream), Moment::Cuda(event)) = (&self.cuda, &event.0) {
            return event.record(stream.handle());
        }
        event.record_on_host();
        Ok(())
    }

    /// Makes what is put on the stream from now on wait for `event`, if that has been recorded.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if the event is of another
    /// kind of device, [`Error::Driver`](crate::Error::Driver) if the GPU fails. An event of
    /// another GPU is fine.
    pub fn wait(&self, event: &Event) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let (Some(stream), Moment::Cuda(event)) = (&self.cuda, &event.0) {
            return event.make_wait(stream.handle());
        }
        self.device
            .require_same(&event.device(), "wait for an event")
    }

    /// Starts a copy of bytes into a buffer, from byte `start` on, where there is room for them.
    ///
    /// # Safety
    /// `source` stays as it is until the stream has done this.
    #[cfg(feature = "kernels")]
    pub(crate) unsafe fn copy_in(
        &self,
        source: &[u8],
        target: &mut Buffer<u8>,
        start: usize,
    ) -> Result<()> {
        debug_assert!(start + source.len() <= target.len());
        #[cfg(feature = "cuda")]
        if let (Some(stream), Some(allocation)) = (&self.cuda, target.cuda_allocation()) {
            // SAFETY: passed on to the caller.
            return unsafe { allocation.copy_from_on(stream.handle(), start, source) };
        }
        target.copy_part_from(start, source);
        Ok(())
    }

    /// Starts a copy of a buffer's bytes from byte `start` on.
    ///
    /// # Safety
    /// `target` is left alone until the stream has done this.
    #[cfg(feature = "kernels")]
    pub(crate) unsafe fn copy_out(
        &self,
        source: &Buffer<u8>,
        start: usize,
        target: &mut [u8],
    ) -> Result<()> {
        #[cfg(feature = "cuda")]
        if let (Some(stream), Some(allocation)) = (&self.cuda, source.cuda_allocation()) {
            // SAFETY: passed on to the caller.
            return unsafe { allocation.copy_to_on(stream.handle(), start, target) };
        }
        source.copy_part_to(start, target)
    }

    /// Runs `work`, which may put asynchronous copies on the stream, and waits for the stream
    /// before it returns, also when `work` fails or panics. So the host memory that is borrowed for
    /// `'env` outlives the copies.
    ///
    /// Copies run beside the host only from and to [pinned memory](super::PinnedBuffer).
    ///
    /// # Errors
    /// What `work` returns, else [`Error::Driver`](crate::Error::Driver) if something that ran on
    /// the GPU failed.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let device = Device::auto();
    /// let stream = device.stream()?;
    /// let mut buffer = device.alloc::<u32>(3)?;
    /// let (source, mut target) = ([1u32, 2, 3], [0; 3]);
    /// stream.scope(|scope| {
    ///     scope.upload(&source, &mut buffer)?;
    ///     scope.download(&buffer, &mut target)
    /// })?;
    /// assert_eq!(target, source);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn scope<'env, R>(
        &self,
        work: impl FnOnce(&StreamScope<'_, 'env>) -> Result<R>,
    ) -> Result<R> {
        struct WaitOnUnwind<'a>(&'a Stream);
        impl Drop for WaitOnUnwind<'_> {
            fn drop(&mut self) {
                // A failing wait means that the context is lost, and its copies with it.
                let _ = self.0.synchronize();
            }
        }
        let guard = WaitOnUnwind(self);
        let result = work(&StreamScope {
            stream: self,
            env: PhantomData,
        });
        std::mem::forget(guard);
        let waited = self.synchronize();
        result.and_then(|value| waited.map(|()| value))
    }
}

/// Puts asynchronous copies on a stream: see [`Stream::scope`].
#[derive(Debug)]
pub struct StreamScope<'stream, 'env> {
    stream: &'stream Stream,
    // Invariant: a shorter `'env` would let memory in that ends before the copies do.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> StreamScope<'_, 'env> {
    /// Copies `source` into `target`, in the stream's order.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if the lengths differ,
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if the buffer is elsewhere,
    /// [`Error::Driver`](crate::Error::Driver) if the GPU fails.
    pub fn upload<T: Element>(&self, source: &'env [T], target: &mut Buffer<T>) -> Result<()> {
        self.stream
            .device
            .require_same(target.device(), "copy to a buffer")?;
        target.require_length("copy to a buffer", source.len())?;
        #[cfg(feature = "cuda")]
        if let (Some(stream), Some(allocation)) = (&self.stream.cuda, target.cuda_allocation()) {
            // SAFETY: `source` outlives `'env`, and the scope waits for the stream before that ends.
            return unsafe {
                allocation.start_copy_from(stream.handle(), bytemuck::cast_slice(source))
            };
        }
        target.copy_from(source)
    }

    /// Copies `source` into `target`, in the stream's order.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn download<T: Element>(&self, source: &Buffer<T>, target: &'env mut [T]) -> Result<()> {
        self.stream
            .device
            .require_same(source.device(), "copy from a buffer")?;
        source.require_length("copy from a buffer", target.len())?;
        #[cfg(feature = "cuda")]
        if let (Some(stream), Some(allocation)) = (&self.stream.cuda, source.cuda_allocation()) {
            // SAFETY: `target` is borrowed for `'env`, and the scope waits for the stream before
            // that ends.
            return unsafe {
                allocation.start_copy_to(stream.handle(), 0, bytemuck::cast_slice_mut(target))
            };
        }
        source.copy_to(target)
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        self.stream
    }
}

/// A mark in a stream: [`Stream::record`] sets it, [`Stream::wait`] waits for it, and the time
/// between two tells how long the GPU worked.
///
/// ```
/// use gridstride::Device;
///
/// let device = Device::auto();
/// let (start, end) = (device.event()?, device.event()?);
/// device.record(&start)?;
/// let _buffer = device.zeros::<f32>(1 << 20)?;
/// device.record(&end)?;
/// assert!(end.elapsed_since(&start)?.as_secs() < 60);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Debug)]
pub struct Event(Moment);

#[derive(Debug)]
enum Moment {
    Host {
        device: Device,
        at: Mutex<Option<Instant>>,
    },
    #[cfg(feature = "cuda")]
    Cuda(super::cuda::EventHandle),
}

impl Event {
    /// Waits until the event has happened.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) if something that ran on the GPU failed.
    pub fn synchronize(&self) -> Result<()> {
        match &self.0 {
            Moment::Host { .. } => Ok(()),
            #[cfg(feature = "cuda")]
            Moment::Cuda(event) => event.synchronize(),
        }
    }

    /// The time from `start` to this event; waits for both.
    ///
    /// On a GPU it is the GPU's own clock, to about half a microsecond.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) if one has not been recorded, or if
    /// `start` is the later one,
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) if they are of two devices.
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        self.device()
            .require_same(&start.device(), "time between events")?;
        match (&self.0, &start.0) {
            #[cfg(feature = "cuda")]
            (Moment::Cuda(end), Moment::Cuda(start)) => end.elapsed_since(start),
            _ => match (self.host_time(), start.host_time()) {
                (Some(end), Some(start)) => {
                    end.checked_duration_since(start).ok_or_else(wrong_order)
                }
                _ => Err(not_recorded()),
            },
        }
    }

    fn device(&self) -> Device {
        match &self.0 {
            Moment::Host { device, .. } => device.clone(),
            #[cfg(feature = "cuda")]
            Moment::Cuda(event) => event.device(),
        }
    }

    fn host_time(&self) -> Option<Instant> {
        match &self.0 {
            Moment::Host { at, .. } => *lock(at),
            #[cfg(feature = "cuda")]
            Moment::Cuda(_) => None,
        }
    }

    /// On the CPU and in the simulator, where everything before has finished.
    fn record_on_host(&self) {
        match &self.0 {
            Moment::Host { at, .. } => {
                *lock(at) = Some(Instant::now());
            }
            #[cfg(feature = "cuda")]
            Moment::Cuda(_) => {}
        }
    }
}

pub(super) fn wrong_order() -> crate::Error {
    crate::Error::input(
        "time between events",
        "the start was recorded after the end",
    )
}

pub(super) fn not_recorded() -> crate::Error {
    crate::Error::input(
        "time between events",
        "an event has not been recorded on any stream",
    )
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream(on {})", self.device)
    }
}
