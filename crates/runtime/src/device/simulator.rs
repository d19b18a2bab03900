//! The simulator as a device.

use super::LaunchConfig;
use super::gate::Gate;
use super::present::Aside;
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A simulator, and its number: the process counts its simulators from 0.
#[derive(Clone)]
pub struct Simulator {
    number: u64,
    settings: Arc<simt::Simulator>,
    gate: Arc<Gate>,
}

impl Simulator {
    pub fn open() -> Result<Simulator> {
        Ok(Simulator::new(simt::Simulator::default()))
    }

    pub fn new(settings: simt::Simulator) -> Simulator {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Simulator {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            settings: Arc::new(settings),
            gate: Arc::default(),
        }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns what keeps the launches of graphs apart from other work.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    pub fn shared_memory_per_block(&self) -> u32 {
        self.settings.limits.shared_bytes
    }

    /// # Safety
    /// The kernel's own contract holds.
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        // SAFETY: the kernel's own contract holds, by the contract of this function.
        self.run(&|settings| unsafe { settings.launch(kernel, config, arguments) })
    }

    /// Runs a launch, in code that is compiled once for all kernels.
    fn run(
        &self,
        launch: &dyn Fn(&simt::Simulator) -> std::result::Result<(), simt::SimError>,
    ) -> Result<()> {
        let _aside = Aside::new();
        launch(&self.settings).map_err(|error| Error::Simulation(Box::new(error)))
    }
}
