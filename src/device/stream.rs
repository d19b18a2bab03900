//! Streams, events, and the order of work on several streams.

use super::cuda::{self, Gpu};
use super::handle::Backend;
use super::{Buffer, Device, DeviceArray, Element, LaunchConfig, Module, lock};
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs};
use ndarray::Dimension;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A queue of copies and launches that run one after the other, beside those of other streams.
///
/// [`Device::on`] orders everything that is done through a handle on a stream.
///
/// On the CPU and in the simulator each call has finished when it returns, so streams are only
/// names there; the order that they promise is the same.
pub struct Stream {
    /// A handle whose work is ordered on this stream.
    device: Device,
}

impl Device {
    /// Returns a new stream, which does not wait for any other.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn stream(&self) -> Result<Stream> {
        let device = match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => self.clone(),
            Backend::Cuda(gpu) => {
                let on_stream = Backend::Cuda(gpu.with_new_stream()?).into();
                self.with_stream_of(&on_stream)
            }
        };
        Ok(Stream { device })
    }

    /// Returns a handle to the same device whose work is ordered on `stream` instead of the main
    /// stream: allocations, copies and launches, and so all calls that take the handle or the arrays
    /// made through it.
    ///
    /// The handle keeps this handle's [limit](Device::with_memory_limit), and keeps the stream alive.
    /// Calls with arrays run on the stream of their first array. If the other arrays were made through
    /// handles on other streams, that stream waits for theirs, and then they for it, on the GPU:
    /// results and memory are safe, but the streams do not overlap. Make the arrays that are used
    /// together through handles on one stream, or move them with [`DeviceArray::on`].
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the stream belongs to another device.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::{MatMul, matmul};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let (first, second) = (device.stream()?, device.stream()?);
    /// let (first, second) = (device.on(&first)?, device.on(&second)?);
    ///
    /// // Two products, side by side on a GPU.
    /// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
    /// let (a_there, b_there) = (first.upload(&a)?, second.upload(&b)?);
    /// let a_squared = MatMul::new().matmul_device(&a_there, &a_there)?;
    /// let b_squared = MatMul::new().matmul_device(&b_there, &b_there)?;
    /// assert_eq!(a_squared.download()?, a.dot(&a));
    /// assert_eq!(b_squared.download()?, b.dot(&b));
    ///
    /// // A call over arrays of the host, on the first stream.
    /// assert_eq!(matmul(&first, a.view(), b.view())?, a.dot(&b));
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn on(&self, stream: &Stream) -> Result<Device> {
        self.require_same(&stream.device, "handle on a stream")?;
        Ok(self.with_stream_of(&stream.device))
    }

    /// Orders work on this handle's stream, from now until the returned guard is dropped, with the
    /// work of other handles: before, this stream waits for the streams of `others`; afterwards they
    /// wait for this one. So what the streams of `others` have started is visible here, and buffers
    /// made through `others` may be written and freed there after the guard, but not before. Arguments
    /// that a call owns are moved with [`Buffer::on`] instead.
    ///
    /// Does nothing for handles on the same stream, and on the CPU and in the simulator. All are
    /// handles to the same device.
    pub(crate) fn ordered_with(&self, others: &[&Device]) -> Result<Ordered> {
        let Backend::Cuda(gpu) = &self.backend else {
            return Ok(Ordered::default());
        };
        let mut ordered = Ordered::default();
        for device in others {
            debug_assert!(self.same_as(device));
            match &device.backend {
                Backend::Cuda(other) if !other.shares_stream(gpu) => {
                    gpu.wait_for(other)?;
                    ordered.pairs.push((gpu.clone(), other.clone()));
                }
                _ => {}
            }
        }
        Ok(ordered)
    }

    /// Returns a new event, not yet recorded.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn event(&self) -> Result<Event> {
        let moment = match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => Moment::Host(Mutex::new(None)),
            Backend::Cuda(gpu) => Moment::Cuda(gpu.event()?),
        };
        Ok(Event {
            moment,
            device: self.clone(),
        })
    }

    /// Records `event` on the handle's stream: see [`Stream::record`].
    ///
    /// # Errors
    /// As [`Stream::record`].
    pub fn record(&self, event: &Event) -> Result<()> {
        self.require_same(&event.device, "record an event")?;
        match (&self.backend, &event.moment) {
            (Backend::Cuda(gpu), Moment::Cuda(event)) => gpu.record(event)?,
            (_, Moment::Host(at)) => *lock(at) = Some(Instant::now()),
            (_, Moment::Cuda(_)) => {}
        }
        Ok(())
    }

    /// Makes the handle's stream wait for `event`: see [`Stream::wait`].
    ///
    /// # Errors
    /// As [`Stream::wait`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        match (&self.backend, &event.moment) {
            (Backend::Cuda(gpu), Moment::Cuda(event)) => gpu.wait(event),
            _ => self.require_same(&event.device, "wait for an event"),
        }
    }
}

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Moves the array to another handle of the same device: later work on the array, and freeing it,
    /// is ordered on the stream of `device`, which waits for what was started so far. No elements are
    /// copied. The memory stays counted by the [limit](Device::with_memory_limit) that it was
    /// allocated under.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if `device` is another device, [`Error::Driver`] if the GPU fails.
    ///
    /// ```
    /// use gridstride::Device;
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let stream = device.stream()?;
    /// let array = device.upload(&array![1, 2, 3])?.on(&device.on(&stream)?)?;
    /// assert_eq!(array.download()?, array![1, 2, 3]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn on(self, device: &Device) -> Result<DeviceArray<T, D>> {
        let shape = self.raw_dim();
        DeviceArray::from_buffer(self.into_buffer().on(device)?, shape)
    }
}

/// Work on one stream between that of others: see [`Device::ordered_with`].
#[derive(Default)]
#[must_use = "the order ends where the guard is dropped"]
pub(crate) struct Ordered {
    /// The executing handle, and one that waits for it.
    pairs: Vec<(Gpu, Gpu)>,
}

impl Drop for Ordered {
    fn drop(&mut self) {
        for (gpu, other) in &self.pairs {
            if other.wait_for(gpu).is_err() {
                // If waiting fails, the context is lost and its work with it.
                let _ = gpu.synchronize();
            }
        }
    }
}

impl Stream {
    /// Wraps a CUDA stream of another library, cudarc's or PyTorch's for example, so that work can be
    /// ordered on it: see [`Device::on`]. It is not destroyed when the `Stream` is dropped. A null
    /// pointer is CUDA's legacy default stream.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the device is no GPU, [`Error::Driver`] if the GPU fails.
    ///
    /// # Safety
    /// `stream` is a `CUstream` of the GPU's primary context. It is destroyed only after the `Stream`
    /// and all handles, buffers and arrays made through it have been dropped.
    #[cfg(feature = "cuda")]
    pub unsafe fn from_raw(device: &Device, stream: *mut std::ffi::c_void) -> Result<Stream> {
        let Backend::Cuda(gpu) = &device.backend else {
            return Err(Error::Unavailable {
                device: device.to_string(),
                reason: "it has no CUDA streams".into(),
            });
        };
        // SAFETY: passed on to the caller.
        let on_stream = Backend::Cuda(unsafe { gpu.with_raw_stream(stream)? }).into();
        Ok(Stream {
            device: device.with_stream_of(&on_stream),
        })
    }

    /// Returns a handle to the stream's device, whose work is ordered on this stream.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until everything that was put on the stream has finished.
    ///
    /// # Errors
    /// [`Error::Driver`] if work on the GPU failed.
    pub fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }

    /// Marks the present end of the stream: the event happens when everything that was put on the
    /// stream before has finished. Recording again forgets the earlier mark.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the event belongs to another device, [`Error::Driver`] if the
    /// GPU fails.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.device.record(event)
    }

    /// Makes everything that is put on the stream from now on wait for `event`, if that has been
    /// recorded.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the event belongs to another kind of device, [`Error::Driver`]
    /// if the GPU fails. An event of another GPU is fine.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.device.wait(event)
    }

    /// Starts a kernel on this stream: see [`Device::launch`].
    ///
    /// Unlike those of a handle [on](Device::on) the stream, these launches may use buffers of any
    /// handle: as long as the `Stream` exists, it waits for allocations and zeros of other handles,
    /// and freeing waits for the stream, on the GPU. The first such launch waits for all streams, and
    /// so does dropping the `Stream` for itself. Other work on the buffers is ordered by events.
    ///
    /// # Errors
    /// As [`Device::launch`].
    ///
    /// # Safety
    /// As [`Device::launch`].
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        if let Backend::Cuda(gpu) = &self.device.backend {
            gpu.use_any_buffer()?;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.device.launch(module, kernel, config, arguments) }
    }

    /// Starts a copy of bytes into a buffer of this stream's handle, from byte `start` on.
    ///
    /// # Safety
    /// `source` does not change until the stream has done this.
    pub(crate) unsafe fn copy_in(
        &self,
        source: &[u8],
        target: &mut Buffer<u8>,
        start: usize,
    ) -> Result<()> {
        // SAFETY: passed on to the caller; the buffer is freed in the order of this stream.
        unsafe { target.start_copy_from(&self.device, start, source) }
    }

    /// Starts a copy from a buffer of this stream's handle, from byte `start` on.
    ///
    /// # Safety
    /// Nothing else accesses `target` until the stream has done this.
    pub(crate) unsafe fn copy_out(
        &self,
        source: &Buffer<u8>,
        start: usize,
        target: &mut [u8],
    ) -> Result<()> {
        // SAFETY: passed on to the caller; the buffer is freed in the order of this stream.
        unsafe { source.start_copy_to(&self.device, start, target) }
    }

    /// Runs `work`, which may put asynchronous copies on the stream, and waits for the stream
    /// before it returns, also when `work` fails or panics. So the host memory that is borrowed for
    /// `'env` outlives the copies.
    ///
    /// Copies run beside the host only from and to [pinned memory](super::PinnedBuffer), and beside
    /// other streams only with buffers that were made through a handle [on](Device::on) this stream.
    /// With other buffers, the stream waits for theirs, and then theirs for it.
    ///
    /// # Errors
    /// What `work` returns, else [`Error::Driver`] if work on the GPU failed.
    ///
    /// ```
    /// use gridstride::Device;
    ///
    /// let device = Device::auto();
    /// let stream = device.stream()?;
    /// let mut buffer = device.on(&stream)?.alloc::<u32>(3)?;
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
                // If waiting fails, the context is lost and its copies with it.
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

impl Drop for Stream {
    fn drop(&mut self) {
        if let Backend::Cuda(gpu) = &self.device.backend {
            gpu.use_own_buffers();
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream(on {})", self.device)
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
    /// [`Error::Shape`] if the lengths differ, [`Error::DifferentDevices`] if the buffer is elsewhere,
    /// [`Error::Driver`] if the GPU fails.
    pub fn upload<T: Element>(&self, source: &'env [T], target: &mut Buffer<T>) -> Result<()> {
        let device = self.stream.device();
        device.require_same(target.device(), "copy to a buffer")?;
        target.require_length("copy to a buffer", source.len())?;
        let _ordered = device.ordered_with(&[target.device()])?;
        // SAFETY: `source` outlives `'env`, and the scope waits for the stream before that ends. The
        // buffer is freed on a stream that waits for this one.
        unsafe { target.start_copy_from(device, 0, source) }
    }

    /// Copies `source` into `target`, in the stream's order.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn download<T: Element>(&self, source: &Buffer<T>, target: &'env mut [T]) -> Result<()> {
        let device = self.stream.device();
        device.require_same(source.device(), "copy from a buffer")?;
        source.require_length("copy from a buffer", target.len())?;
        let _ordered = device.ordered_with(&[source.device()])?;
        // SAFETY: `target` is borrowed for `'env`, and the scope waits for the stream before that ends.
        // The buffer is freed on a stream that waits for this one.
        unsafe { source.start_copy_to(device, 0, target) }
    }

    /// Returns the stream.
    pub fn stream(&self) -> &Stream {
        self.stream
    }
}

/// A mark in a stream: [`Stream::record`] sets it, [`Stream::wait`] waits for it, and the time
/// between two events tells how long the GPU worked.
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
pub struct Event {
    moment: Moment,
    /// Keeps the device. Dropped after the driver's event.
    device: Device,
}

#[derive(Debug)]
enum Moment {
    /// On the CPU and in the simulator, where everything before has finished.
    Host(Mutex<Option<Instant>>),
    Cuda(cuda::Event),
}

impl Event {
    /// Waits until the event has happened.
    ///
    /// # Errors
    /// [`Error::Driver`] if work on the GPU failed.
    pub fn synchronize(&self) -> Result<()> {
        match &self.moment {
            Moment::Host(_) => Ok(()),
            Moment::Cuda(event) => event.synchronize(),
        }
    }

    /// Returns the time from `start` to this event; waits for both.
    ///
    /// On a GPU the time is that of the GPU's own clock, to about half a microsecond.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if one of the events has not been recorded, or if `start` is the later
    /// one, [`Error::DifferentDevices`] if they belong to two devices.
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        const OPERATION: &str = "time between events";
        self.device.require_same(&start.device, OPERATION)?;
        let invalid = |message: &str| Error::input(OPERATION, message);
        // `None`: not recorded; inner `None`: the start is the later one.
        let elapsed = match (&self.moment, &start.moment) {
            (Moment::Cuda(end), Moment::Cuda(start)) => end
                .milliseconds_since(start)?
                .map(|ms| Duration::try_from_secs_f64(f64::from(ms) / 1e3).ok()),
            (Moment::Host(end), Moment::Host(start)) => {
                let (end, start) = (*lock(end), *lock(start));
                end.zip(start)
                    .map(|(end, start)| end.checked_duration_since(start))
            }
            _ => None,
        };
        elapsed
            .ok_or_else(|| invalid("an event has not been recorded on any stream"))?
            .ok_or_else(|| invalid("the start event was recorded after the end event"))
    }
}
