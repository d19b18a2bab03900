//! One launch for GPU and simulator.

use super::handle::Backend;
use super::{Device, LaunchConfig, Module};
use crate::{Error, Result};
use cuda_std::host::{BlockBound, Kernel, KernelArgs};

impl Device {
    /// Starts a kernel on the handle's stream: the main stream, or the one that was [chosen](Device::on). On a GPU the
    /// kernel may still run when this returns.
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
    /// finished, its lengths right, nothing else accessing what it writes. Buffers that were made
    /// through handles on other streams are ordered by events, or moved with [`Buffer::on`](super::Buffer::on).
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        require_fitting(self, kernel.name(), kernel.bound(), config)?;
        match &self.backend {
            Backend::Cpu => Err(runs_no_kernels(self, kernel.name())),
            // SAFETY: passed on to the caller.
            Backend::Simulator(simulator) => unsafe { simulator.launch(kernel, config, arguments) },
            // SAFETY: the addresses are those of the kernel's own parameter types, in order; the
            // rest is passed on to the caller.
            Backend::Cuda(gpu) => arguments.with_addresses(|addresses| unsafe {
                gpu.launch(module, kernel.name(), config, addresses)
            }),
        }
    }
}

// What does not depend on the arguments is compiled once, not for each kernel.

/// Fails unless the shape is within the limits of the kernel and of the device.
fn require_fitting(
    device: &Device,
    kernel: &str,
    bound: BlockBound,
    config: LaunchConfig,
) -> Result<()> {
    let shared_limit = device.shared_memory_per_block();
    check(bound, config, shared_limit).map_err(|message| Error::Launch {
        kernel: kernel.to_string(),
        message,
    })
}

fn runs_no_kernels(device: &Device, kernel: &str) -> Error {
    Error::Unavailable {
        device: device.to_string(),
        reason: format!("the CPU cannot launch the kernel {kernel}"),
    }
}

/// CUDA's limits for all compute capabilities from 7.0.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;

/// Returns a message that names the limit that the shape breaks.
fn check(
    bound: BlockBound,
    config: LaunchConfig,
    shared_limit: Option<u32>,
) -> std::result::Result<(), String> {
    let LaunchConfig {
        grid,
        block,
        shared_bytes,
    } = config;
    for (what, size, limits) in [("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)] {
        for ((axis, size), limit) in [('x', size.x), ('y', size.y), ('z', size.z)]
            .into_iter()
            .zip(limits)
        {
            if size == 0 {
                return Err(format!("its {what} has no extent along {axis}"));
            }
            if size > limit {
                return Err(format!(
                    "its {what} has {size} along {axis}, more than {limit}"
                ));
            }
        }
    }
    if block.count() > MAX_THREADS {
        return Err(format!(
            "its block {block} has {} threads, more than {MAX_THREADS}",
            block.count()
        ));
    }
    match bound {
        BlockBound::Any => {}
        BlockBound::Exactly(shape) if shape == block => {}
        BlockBound::Exactly(shape) => {
            return Err(format!(
                "its block is {block}, but the kernel accepts blocks of {shape} alone"
            ));
        }
        BlockBound::AtMost(threads) if block.count() <= u64::from(threads) => {}
        BlockBound::AtMost(threads) => {
            return Err(format!(
                "its block {block} has more than the {threads} threads that the kernel allows"
            ));
        }
    }
    match shared_limit {
        Some(limit) if shared_bytes > limit => Err(format!(
            "it needs {shared_bytes} bytes of shared memory per block, but the device has {limit}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_std::host::Dim3;

    fn message(bound: BlockBound, config: LaunchConfig) -> String {
        check(bound, config, Some(1000)).expect_err("the shape breaks a limit")
    }

    #[test]
    fn shapes_within_the_limits_pass() {
        let config = LaunchConfig::new(i32::MAX as u32, (32, 32)).with_shared_bytes(1000);
        assert_eq!(check(BlockBound::Any, config, Some(1000)), Ok(()));
        assert_eq!(check(BlockBound::AtMost(1024), config, None), Ok(()));
        assert_eq!(
            check(BlockBound::Exactly(Dim3::from((32, 32))), config, None),
            Ok(())
        );
    }

    #[test]
    fn broken_limits_are_named_with_the_value() {
        let any = BlockBound::Any;
        assert!(message(any, LaunchConfig::new(0, 1)).contains("grid has no extent along x"));
        assert!(
            message(any, LaunchConfig::new(1, (1, 1, 65))).contains("65 along z, more than 64")
        );
        assert!(message(any, LaunchConfig::new((1, 70_000), 1)).contains("70000 along y"));
        assert!(
            message(any, LaunchConfig::new(1, (64, 32))).contains("2048 threads, more than 1024")
        );
        let shared = LaunchConfig::new(1, 1).with_shared_bytes(1001);
        assert!(message(any, shared).contains("1001 bytes"));
        let exact = BlockBound::Exactly(Dim3::from(64));
        assert!(message(exact, LaunchConfig::new(1, 65)).contains("blocks of (64, 1, 1) alone"));
        assert!(message(BlockBound::AtMost(64), LaunchConfig::new(1, 65)).contains("64 threads"));
    }
}
