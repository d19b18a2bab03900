//! Streams, events, and the order of work on several streams.

use super::buffer::{COPY_FROM, COPY_TO};
use super::capture;
use super::cuda::{self, Gpu};
use super::handle::Backend;
use super::{Buffer, Device, DeviceArray, Element, LaunchConfig, Module, lock};
use crate::sync::Mutex;
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs};
use ndarray::Dimension;
use std::fmt;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// A queue of copies and launches that run one after the other, beside those of other streams.
///
/// [`Device::on`] returns a handle whose work is ordered on a stream.
///
/// On the CPU and in the simulator each call finishes before it returns, so streams change nothing.
pub struct Stream {
    /// A handle whose work is ordered on this stream.
    device: Device,
}

impl Device {
    /// Returns a new stream, which does not wait for other streams.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails.
    pub fn stream(&self) -> Result<Stream> {
        let device = match &self.backend {
            Backend::Cpu | Backend::Simulator(_) => self.clone(),
            Backend::Cuda(gpu) => self.with_backend(Backend::Cuda(gpu.with_new_stream()?)),
        };
        Ok(Stream { device })
    }

    /// Returns a handle to the same device whose work is ordered on `stream` instead of the main
    /// stream: allocations, copies and launches, and so all calls that take the handle, or arrays
    /// made through it. The handle has this handle's [limit](Device::with_memory_limit), and keeps
    /// the stream alive.
    ///
    /// Calls with arrays run on the stream of their first array. If other arrays were made through
    /// handles on other streams, the call's stream waits for their streams before the work, and
    /// their streams wait for the call's stream after it, on the GPU. Results and memory are safe,
    /// but the streams do not overlap. Make arrays that are used together through handles on one
    /// stream, or move the arrays with [`DeviceArray::on`].
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the stream belongs to another device.
    ///
    /// ```
    /// use gridstride::{Device, matmul::MatMul};
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
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn on(&self, stream: &Stream) -> Result<Device> {
        self.require_same(&stream.device, "handle on a stream")?;
        Ok(self.with_backend(stream.device.backend.clone()))
    }

    /// Orders work on this handle's stream with the work of other handles, until the returned guard
    /// is dropped. This stream waits for the streams of `others` now, and they wait for this stream
    /// when the guard is dropped. So work here sees the results of what `others` have started, and
    /// buffers made through `others` may be written and freed there after the guard was dropped,
    /// but not before. A call moves arguments that it owns with [`Buffer::on`] instead.
    ///
    /// Does nothing for handles on the same stream, on the CPU and in the simulator. All handles
    /// must be handles to the same device.
    #[doc(hidden)]
    pub fn ordered_with(&self, others: &[&Device]) -> Result<Ordered> {
        let mut ordered = Ordered::default();
        if capture::order_with(self, others) {
            return Ok(ordered);
        }
        for device in others {
            debug_assert!(self.same_as(device));
            match (&self.backend, &device.backend) {
                (Backend::Cuda(gpu), Backend::Cuda(other)) if !other.shares_stream(gpu) => {
                    gpu.stream().wait_for(other.stream())?;
                    ordered.pairs.push((gpu.clone(), other.clone()));
                }
                _ => {}
            }
        }
        Ok(ordered)
    }

    /// Returns a new event, which is not recorded yet.
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

    /// As [`Stream::record`], on the handle's stream.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.require_same(&event.device, "record an event")?;
        capture::refuse(self, "recording an event")?;
        match (&self.backend, &event.moment) {
            (Backend::Cuda(gpu), Moment::Cuda(event)) => event.record(gpu.stream())?,
            (_, Moment::Host(at)) => *lock(at) = Some(Instant::now()),
            (_, Moment::Cuda(_)) => {}
        }
        Ok(())
    }

    /// As [`Stream::wait`], for the handle's stream.
    pub fn wait(&self, event: &Event) -> Result<()> {
        capture::refuse(self, "waiting for an event")?;
        match (&self.backend, &event.moment) {
            (Backend::Cuda(gpu), Moment::Cuda(event)) => event.make_wait(gpu.stream()),
            _ => self.require_same(&event.device, "wait for an event"),
        }
    }
}

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Moves the array to another handle of the same device, without a copy. Later work on the
    /// array, and freeing it, is ordered on the stream of `device`, which waits for the work that
    /// was started before. The [limit](Device::with_memory_limit) of the first handle still counts
    /// the memory.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the devices differ, [`Error::InvalidInput`] if a graph uses the
    /// array, [`Error::Driver`] if the GPU fails. The array is freed then.
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

/// Orders work on one stream with the work of others: see [`Device::ordered_with`].
#[derive(Default)]
#[must_use = "the order ends when the guard is dropped"]
pub struct Ordered {
    /// The executing handle, and a handle that waits for it.
    pairs: Vec<(Gpu, Gpu)>,
}

impl Drop for Ordered {
    fn drop(&mut self) {
        for (gpu, other) in &self.pairs {
            if other.stream().wait_for(gpu.stream()).is_err() {
                // If waiting fails, the context is lost, and its work with it.
                let _ = gpu.stream().synchronize();
            }
        }
    }
}

impl Stream {
    /// Wraps a CUDA stream of another library, for example of cudarc or PyTorch, so that work can
    /// be ordered on it: see [`Device::on`]. Dropping the `Stream` does not destroy the CUDA
    /// stream. A null pointer is CUDA's legacy default stream.
    ///
    /// While another library captures a graph of the stream, or of one that waits for it, copies from
    /// the host, [scopes](Stream::scope) and [values of constants](Device::set_constant) are refused
    /// with [`Error::InvalidInput`]: scopes end with a wait, and the others go through memory that
    /// later copies use again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the device is not a GPU, [`Error::Driver`] if the GPU fails.
    ///
    /// # Safety
    /// `stream` is a `CUstream` of the GPU's primary context. It is destroyed only after the
    /// `Stream` and all handles, buffers and arrays made through it have been dropped.
    pub unsafe fn from_raw(device: &Device, stream: *mut std::ffi::c_void) -> Result<Stream> {
        let Backend::Cuda(gpu) = &device.backend else {
            return Err(Error::Unavailable {
                device: device.to_string(),
                reason: "it has no CUDA streams".into(),
            });
        };
        // SAFETY: the caller promises a stream of the GPU's primary context that outlives
        // everything made through it, which is the contract of `with_raw_stream`.
        let on_stream = Backend::Cuda(unsafe { gpu.with_raw_stream(stream)? });
        Ok(Stream {
            device: device.with_backend(on_stream),
        })
    }

    /// Returns a handle to the stream's device whose work is ordered on this stream.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until all work on the stream has finished.
    ///
    /// # Errors
    /// [`Error::Driver`] if work on the GPU failed.
    pub fn synchronize(&self) -> Result<()> {
        self.device.synchronize()
    }

    /// Whether [`synchronize`](Self::synchronize) returns at once, possibly with an error.
    #[doc(hidden)]
    pub fn is_idle(&self) -> bool {
        match &self.device.backend {
            Backend::Cpu | Backend::Simulator(_) => true,
            Backend::Cuda(gpu) => gpu.stream().is_idle(),
        }
    }

    /// Records `event` at the present end of the stream: the event happens when all work that is on
    /// the stream now has finished. Recording replaces an earlier one.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the event belongs to another device, [`Error::Driver`] if the
    /// GPU fails.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.device.record(event)
    }

    /// Makes later work on the stream wait for `event`, possibly of another GPU, if it is recorded.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`] if the event belongs to another kind of device,
    /// [`Error::Driver`] if the GPU fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.device.wait(event)
    }

    /// Starts a kernel on this stream: see [`Device::launch`].
    ///
    /// Unlike launches of a handle [on](Device::on) the stream, these launches may use buffers of
    /// any handle. As long as the `Stream` exists, it waits for allocations and zeros of other
    /// handles, and freeing waits for the stream, on the GPU. The first such launch waits for all
    /// streams on the host, and dropping the `Stream` waits for it. Order other work on the buffers
    /// by events.
    ///
    /// # Errors
    /// As [`Device::launch`]. The first launch waits while another thread captures a graph of the
    /// GPU. A thread of rayon cannot wait, and gets [`Error::InvalidInput`].
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
        // The graph would not keep the buffers of other handles.
        capture::refuse(&self.device, "a launch with buffers of any handle")?;
        if let Backend::Cuda(gpu) = &self.device.backend {
            gpu.use_any_buffer()?;
        }
        // SAFETY: the caller keeps the contract of `Device::launch`, and `use_any_buffer` orders
        // buffers of other streams.
        unsafe { self.device.launch(module, kernel, config, arguments) }
    }

    /// Runs `work`, which may start asynchronous copies on the stream, and waits for the stream,
    /// even if `work` fails or panics. So host memory borrowed for `'env` outlives the copies.
    ///
    /// Copies overlap with the host only from and to [pinned memory](super::PinnedBuffer). They
    /// overlap with other streams only if their buffer was made through a handle [on](Device::on)
    /// this stream. For other buffers, the stream waits for the buffer's stream, and then the other
    /// way.
    ///
    /// # Errors
    /// The error of `work`, else [`Error::Driver`] if work on the GPU failed, and
    /// [`Error::InvalidInput`] if this thread [records](Device::capture) the stream's work, or another
    /// library captures a graph of the stream.
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
                // If waiting fails, the context is lost, and its copies with it.
                let _ = self.0.synchronize();
            }
        }
        // While this thread records, the end could not wait for copies that other threads start.
        capture::refuse(&self.device, "a scope of copies")?;
        // Nor could it while another library does: waiting would even break that capture.
        if let Backend::Cuda(gpu) = &self.device.backend {
            gpu.stream().refuse_capture()?;
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

/// Starts asynchronous copies on a stream: see [`Stream::scope`].
#[derive(Debug)]
pub struct StreamScope<'stream, 'env> {
    stream: &'stream Stream,
    // Invariant: a shorter `'env` would allow memory that is freed before the copies have finished.
    env: PhantomData<&'env mut &'env ()>,
}

impl<'env> StreamScope<'_, 'env> {
    /// Copies `source` into `target`, in the stream's order.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, [`Error::DifferentDevices`] if the buffer is on
    /// another device, [`Error::Driver`] if the GPU fails.
    pub fn upload<T: Element>(&self, source: &'env [T], target: &mut Buffer<T>) -> Result<()> {
        let device = self.stream.device();
        device.require_same(target.device(), COPY_TO)?;
        target.require_length(COPY_TO, source.len())?;
        let _ordered = device.ordered_with(&[target.device()])?;
        // SAFETY: `source` outlives `'env`, and the scope waits for the stream before `'env` ends.
        // The buffer is freed on a stream that waits for this one.
        unsafe { target.start_copy_from(device, 0, source) }
    }

    /// As [`upload`](Self::upload), but copies from the device to the host.
    pub fn download<T: Element>(&self, source: &Buffer<T>, target: &'env mut [T]) -> Result<()> {
        let device = self.stream.device();
        device.require_same(source.device(), COPY_FROM)?;
        source.require_length(COPY_FROM, target.len())?;
        let _ordered = device.ordered_with(&[source.device()])?;
        // SAFETY: `target` is borrowed for `'env`, and the scope waits for the stream before `'env`
        // ends. The buffer is freed on a stream that waits for this one.
        unsafe { source.start_copy_to(device, 0, target) }
    }

    /// Returns the stream.
    pub fn stream(&self) -> &Stream {
        self.stream
    }
}

/// A point in a stream's work: [`Stream::record`] sets the event, [`Stream::wait`] waits for it,
/// and [`elapsed_since`](Self::elapsed_since) measures the time between two events.
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
    /// Keeps the device open. Dropped after the driver's event.
    device: Device,
}

#[derive(Debug)]
enum Moment {
    /// The time of recording on the CPU and in the simulator, after all earlier work.
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

    /// Waits for both events and returns the time from `start` to this event. A GPU measures the
    /// time with its own clock, to about half a microsecond.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if one of the events has not been recorded, or if `start` happened
    /// later, [`Error::DifferentDevices`] if the events belong to two devices.
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration> {
        const OPERATION: &str = "time between events";
        self.device.require_same(&start.device, OPERATION)?;
        let invalid = |message: &str| Error::input(OPERATION, message);
        // `None`: not recorded; inner `None`: the start happened later.
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
