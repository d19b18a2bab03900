//! The simulator as a device.

use super::available::{no_memory, require_available};
use super::gate::Gate;
use super::host_allocation::{Content, Elements, HostMemory};
use super::present::Aside;
use super::reserve::prefer_large_pages;
use super::{LaunchConfig, MemoryKind};
use crate::{Error, Result};
use cuda_std::host::{Kernel, KernelArgs};
use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A simulator, and its number: the process counts its simulators from 0.
#[derive(Clone)]
pub struct Simulator {
    number: u64,
    settings: Arc<simt::Simulator>,
    memory: simt::GlobalMemory,
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
            memory: simt::GlobalMemory::new(),
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

    /// Allocates memory for these elements, with guard zones around it unless the settings have none.
    /// Unspecified memory holds bytes of `0xff`, which are NaN as floats: this shows in results that
    /// depend on unwritten memory.
    pub fn allocate(
        &self,
        layout: Layout,
        content: Content,
        elements: Elements,
    ) -> Result<HostMemory> {
        if !self.settings.guards {
            return HostMemory::new(layout, content);
        }
        let size = layout.size();
        require_available(size)?;
        let Elements { name, count } = elements;
        let elements = simt::Elements { name, count };
        let buffer = self.memory.allocate_zeros(layout, elements);
        let buffer = buffer.ok_or_else(|| no_memory(MemoryKind::Host, size as u64, None))?;
        let address = buffer.as_mut_ptr();
        prefer_large_pages(address, size);
        if content == Content::Unspecified {
            // SAFETY: the buffer has these bytes, which nothing else accesses yet.
            unsafe { address.write_bytes(0xff, size) };
        }
        Ok(HostMemory::foreign(address, layout, Box::new(buffer)))
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
        self.run(&|settings| unsafe { settings.launch_in(&self.memory, kernel, config, arguments) })
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
