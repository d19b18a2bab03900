//! One launch for GPU and simulator.

use super::{Device, Kind, Module, Stream};
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs, LaunchConfig, MAX_THREADS};

impl Device {
    /// Starts a kernel on the main stream. On a GPU it may still run when this returns.
    ///
    /// The arguments are the tuple of the kernel's parameters: others do not compile. On a GPU the
    /// kernel is looked up by its name in `module`, which is loaded on first use; the simulator
    /// runs the kernel's own source.
    ///
    /// # Errors
    /// [`Error::Launch`] if the shape breaks a limit of the kernel or of the device,
    /// [`Error::Load`] if the driver does not accept the module, [`Error::Simulation`] if the
    /// simulator finds a mistake, [`Error::Driver`] if the launch fails, [`Error::Unavailable`] on
    /// the CPU, which runs no kernels.
    ///
    /// # Safety
    /// The kernel's own contract must hold: its pointers valid on this device until it has
    /// finished, its lengths right, nothing else accessing what it writes.
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { launch(self, None, module, kernel, config, arguments) }
    }
}

impl Stream {
    /// Starts a kernel on this stream: see [`Device::launch`].
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
        // SAFETY: passed on to the caller.
        unsafe { launch(self.device(), Some(self), module, kernel, config, arguments) }
    }
}

/// # Safety
/// As [`Device::launch`].
unsafe fn launch<A: KernelArgs>(
    device: &Device,
    stream: Option<&Stream>,
    module: &'static Module,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    arguments: A,
) -> Result<()> {
    let max_shared_bytes = device.shared_memory_per_block().unwrap_or(u32::MAX);
    let checked = config.check(kernel.bound(), MAX_THREADS, max_shared_bytes);
    checked.map_err(|error| Error::Launch {
        kernel: kernel.name().to_string(),
        message: error.to_string(),
    })?;
    #[cfg(not(feature = "cuda"))]
    let _ = (stream, module);
    #[cfg(not(feature = "simulator"))]
    let _ = arguments;
    match &device.kind {
        Kind::Cpu => Err(Error::Unavailable {
            device: device.to_string(),
            reason: format!("it runs no kernels, and {} is one", kernel.name()),
        }),
        #[cfg(feature = "simulator")]
        Kind::Simulator(simulator) => {
            // SAFETY: passed on to the caller.
            let launched = unsafe { simulator.settings.launch(kernel, config, arguments) };
            launched.map_err(|error| Error::Simulation(Box::new(error)))
        }
        #[cfg(feature = "cuda")]
        Kind::Cuda(context) => {
            let stream = stream
                .and_then(|stream| stream.cuda.as_ref())
                .map(|stream| stream.handle())
                .unwrap_or(context.main_stream());
            // SAFETY: the addresses are those of the kernel's own parameter types, in order; the
            // rest is passed on to the caller.
            arguments.with_addresses(|addresses| unsafe {
                context.launch(stream, module, kernel.name(), config, addresses)
            })
        }
    }
}

impl Device {
    /// The multiprocessors of a GPU, or the threads that the CPU runs at once.
    pub(crate) fn processors(&self) -> usize {
        match &self.kind {
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => context.multiprocessors(),
            _ => rayon::current_num_threads(),
        }
    }

    /// Major and minor compute capability of a GPU, or the one whose limits the simulator has.
    pub(crate) fn compute_capability(&self) -> (u32, u32) {
        match &self.kind {
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => context.compute_capability(),
            _ => (9, 0),
        }
    }

    /// The most shared memory that one block can have, of a device that runs kernels.
    pub(crate) fn shared_memory_per_block(&self) -> Option<u32> {
        match &self.kind {
            Kind::Cpu => None,
            #[cfg(feature = "simulator")]
            Kind::Simulator(simulator) => Some(simulator.settings.limits.shared_bytes),
            #[cfg(feature = "cuda")]
            Kind::Cuda(context) => Some(context.shared_memory_per_block()),
        }
    }
}
