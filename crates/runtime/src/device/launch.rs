//! Launches on GPUs and in the simulator.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
use std::arch::asm;
use std::ffi::c_void;
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
use std::ptr;

use super::allocations;
use super::capture;
use super::cuda::Gpu;
use super::handle::Backend;
use super::{Device, DeviceId, DeviceKind, LaunchConfig, Module};
use crate::{Error, Result};
use cuda_std::host::{BlockBound, Kernel, KernelArgs, MAX_THREADS};

/// Whether launches on GPUs look for buffers of other devices. The simulator always does: there, the
/// search takes little time beside that of the launch.
const CHECKS_GPUS: bool = cfg!(debug_assertions);

/// Calls `visit` with each word of a value that could be an address.
fn each_word<A: Copy>(value: &A, mut visit: impl FnMut(usize)) {
    let words = match align_of::<A>() >= align_of::<usize>() {
        true => size_of::<A>() / size_of::<usize>(),
        false => 0,
    };
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    for index in 0..words {
        let place = ptr::from_ref(value).cast::<usize>().wrapping_add(index);
        let word: usize;
        // SAFETY: the words are within the value, and aligned. The instruction reads whatever bits are
        // in memory, also where the value has padding.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            asm!("mov {}, [{}]", out(reg) word, in(reg) place, options(nostack, readonly, preserves_flags));
            #[cfg(target_arch = "aarch64")]
            asm!("ldr {}, [{}]", out(reg) word, in(reg) place, options(nostack, readonly, preserves_flags));
        }
        visit(word);
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = (words, &mut visit, value);
}

impl Device {
    /// Starts a kernel on the handle's stream: the main stream, or a stream that was
    /// [chosen](Device::on). On a GPU the kernel may still run when this returns.
    ///
    /// The arguments are the tuple of the kernel's parameters; other types do not compile. A GPU
    /// looks up the kernel by its name in `module`, which is loaded on first use. The simulator
    /// runs the kernel's own source. On every device the module has to be that of the kernel's
    /// package, whose name cuda_builder writes into the PTX.
    ///
    /// # Errors
    /// [`Error::Launch`] if the shape breaks a limit of the kernel or of the device, if the module has the PTX of
    /// another package, or if an argument is a buffer of another device (on GPUs in builds with debug assertions only),
    /// [`Error::Load`] if the driver does not accept the module, [`Error::Simulation`] if the
    /// simulator finds a mistake, [`Error::Driver`] if the launch fails, [`Error::Unavailable`] on
    /// the CPU, which runs no kernels.
    ///
    /// # Safety
    /// The kernel's own contract must hold: its pointers are valid on this device until it has
    /// finished, its lengths are right, and nothing else accesses the memory that it writes. Order
    /// buffers made through handles on other streams by events, or move them with
    /// [`Buffer::on`](super::Buffer::on).
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        self.require_fitting(kernel.name(), kernel.bound(), config)?;
        module.require_package(kernel.name(), kernel.package())?;
        let is_checked = match self.backend {
            // Its error is that it runs no kernels.
            Backend::Cpu => false,
            Backend::Simulator(_) => true,
            Backend::Cuda(_) => CHECKS_GPUS,
        };
        if is_checked {
            let (own, mut other) = (self.id(), None);
            arguments.visit_memory(&mut |address| {
                other = other.or_else(|| allocations::other_device(address, own));
            });
            if let Some(other) = other {
                return Err(self.not_its_memory(kernel.name(), other));
            }
        }
        if capture::records(self) {
            arguments.visit_memory(&mut capture::keep_address);
            each_word(&arguments, capture::keep_address);
        }
        #[cfg(debug_assertions)]
        super::launched::list(kernel.name());
        match &self.backend {
            Backend::Cpu => Err(self.runs_no_kernels(kernel.name())),
            Backend::Simulator(simulator) => {
                let (simulator, kernel) = (simulator.clone(), *kernel);
                // SAFETY: the kernel's own contract holds by that of this function, and the
                // simulator asks for nothing else. A graph keeps the buffers for its launches.
                let launch = move || unsafe { simulator.launch(&kernel, config, arguments) };
                capture::run(self, launch)
            }
            // SAFETY: the addresses point to values of the kernel's parameter types, in order; the
            // kernel's own contract holds by that of this function.
            Backend::Cuda(gpu) => kernel.with_addresses(arguments, |addresses| unsafe {
                launch(gpu, module, kernel.name(), config, addresses)
            }),
        }
    }

    // These functions, and `launch` below, are compiled once, not for each kernel.

    /// Fails unless the shape is within the limits of the kernel and of the device.
    pub(super) fn require_fitting(
        &self,
        kernel: &str,
        bound: BlockBound,
        config: LaunchConfig,
    ) -> Result<()> {
        let max_shared_bytes = self.shared_memory_per_block().unwrap_or(u32::MAX);
        let checked = config.check(bound, MAX_THREADS, max_shared_bytes);
        checked.map_err(|error| Error::Launch {
            kernel: kernel.to_string(),
            message: error.to_string(),
        })
    }

    fn not_its_memory(&self, kernel: &str, other: DeviceId) -> Error {
        let own = self.id();
        let or_launch = match other.kind {
            // It runs no kernels.
            DeviceKind::Cpu => String::new(),
            _ => format!(", or launch on {other}"),
        };
        Error::Launch {
            kernel: kernel.to_string(),
            message: format!(
                "an argument is a buffer on {other}, and the launch is on {own}, which does not have that memory: \
                 copy the data to a buffer on {own}{or_launch}"
            ),
        }
    }

    pub(super) fn runs_no_kernels(&self, kernel: &str) -> Error {
        Error::Unavailable {
            device: self.to_string(),
            reason: format!(
                "the CPU runs no kernels such as {kernel}: use Device::simulator() or a GPU"
            ),
        }
    }
}

/// Starts a kernel on a GPU, or records its launch.
///
/// # Safety
/// The addresses point to values of the kernel's parameter types, in order, and the kernel's own
/// contract holds.
unsafe fn launch(
    gpu: &Gpu,
    module: &'static Module,
    kernel: &'static str,
    config: LaunchConfig,
    addresses: &mut [*mut c_void],
) -> Result<()> {
    // SAFETY: by the contract of this function.
    capture::on(gpu, |gpu| unsafe {
        gpu.launch(module, kernel, config, addresses)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Image;
    use cuda_std::prelude::*;

    #[kernel]
    fn nothing() {}

    const OWN: &str =
        "// The kernels of gridstride_runtime for sm_70, made by cuda_builder. Do not edit.\n";
    const OTHERS: &str =
        "// The kernels of other_kernels for sm_70, made by cuda_builder. Do not edit.\n";

    #[test]
    fn kernels_of_other_packages_are_refused_on_every_device() {
        static MODULES: [Module; 2] = [
            Module::new("own", &[Image::new("sm_70", OWN)]),
            Module::new("others", &[Image::new("sm_70", OTHERS)]),
        ];
        let [own, others] = &MODULES;
        let device = Device::simulator().unwrap();
        let config = LaunchConfig::new(1, 1);
        // SAFETY: the kernel does nothing.
        let launch = |module| unsafe { device.launch(module, &nothing, config, ()) };
        launch(own).unwrap();
        device.occupancy(own, &nothing, 32, 0).unwrap();
        device.suggested_block(own, &nothing, |_| 0).unwrap();
        for error in [
            launch(others).unwrap_err(),
            device.occupancy(others, &nothing, 32, 0).unwrap_err(),
            device.suggested_block(others, &nothing, |_| 0).unwrap_err(),
            // A graph does not record the launch either.
            device.capture(|| launch(others)).unwrap_err(),
        ] {
            let message = error.to_string();
            let packages =
                "package gridstride_runtime, but the module others has the PTX of other_kernels";
            assert!(message.contains(packages), "{message}");
        }
    }
}
