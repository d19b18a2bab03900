//! The device and the settings of a ladder.

use gridstride::Device;
use gridstride::device::DeviceKind;

/// The device and the settings of a ladder.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The device of the kernels. On the CPU there are the CPU's versions alone.
    pub device: Device,
    /// Timed runs of each version, of which the median counts, after one that does not; if there
    /// are none, that one.
    pub runs: usize,
    /// The seed of random numbers.
    pub seed: u64,
    /// Whether the CPU's versions run too.
    pub has_cpu_rows: bool,
    /// Whether the CPU's versions compute everything, even if that takes long.
    pub is_whole: bool,
}

impl Setup {
    /// Whether kernels run.
    pub fn has_kernels(&self) -> bool {
        self.device.kind() != DeviceKind::Cpu
    }

    /// Returns the requested size, or the default for the kind of the device.
    pub fn size(&self, asked: Option<u32>, defaults: Defaults) -> usize {
        let default = match self.device.kind() {
            DeviceKind::Cpu => defaults.cpu,
            DeviceKind::Simulator => defaults.simulator,
            _ => defaults.gpu,
        };
        asked.unwrap_or(default) as usize
    }

    /// Returns the part of the work that a version on the CPU computes: `limit`, or all of it.
    pub fn part(&self, work: usize, limit: usize) -> usize {
        match self.is_whole {
            true => work,
            false => work.min(limit.max(1)),
        }
    }
}

/// A size by the kind of device.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// One that keeps it busy.
    pub gpu: u32,
    /// One for which a core needs a second at most, or a few.
    pub cpu: u32,
    /// A small one.
    pub simulator: u32,
}

impl Defaults {
    /// For a GPU, for the CPU, and for the simulator.
    pub fn new(gpu: u32, cpu: u32, simulator: u32) -> Defaults {
        Defaults {
            gpu,
            cpu,
            simulator,
        }
    }
}
