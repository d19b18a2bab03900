//! The properties of devices, and names of their kinds.

use std::fmt;
use std::str::FromStr;

use super::{DeviceId, DeviceKind, DeviceName};
use crate::{Error, Result};

/// Parses a name as it is formatted; `cuda` is `cuda:0`.
///
/// ```
/// use gridstride::device::DeviceKind;
///
/// assert_eq!("cuda:1".parse::<DeviceKind>()?, DeviceKind::Cuda { ordinal: 1 });
/// assert!("gpu".parse::<DeviceKind>().is_err());
/// # Ok::<(), gridstride::Error>(())
/// ```
impl FromStr for DeviceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<DeviceKind> {
        match text.parse() {
            Ok(DeviceName::Cpu) => Ok(DeviceKind::Cpu),
            Ok(DeviceName::Simulator) => Ok(DeviceKind::Simulator),
            Ok(DeviceName::Cuda(ordinal)) => Ok(DeviceKind::Cuda { ordinal }),
            Ok(DeviceName::Auto) | Err(_) => {
                let message = format!(
                    "{text:?} is no kind of device: possible are cpu, simulator and cuda:N"
                );
                Err(Error::input("DeviceKind::from_str", message))
            }
        }
    }
}

crate::serialize_by_name!(DeviceKind);

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The kind.
    pub kind: DeviceKind,
    /// The name: a GPU's product name.
    pub name: String,
    /// Major and minor compute capability; for the simulator, the one whose limits it has.
    pub compute_capability: Option<(u32, u32)>,
    /// Total memory of a GPU in bytes.
    pub total_memory: Option<u64>,
    /// Free memory of a GPU in bytes when the information was made.
    pub free_memory: Option<u64>,
    /// Multiprocessors of a GPU, or threads that the CPU runs at once.
    pub processors: usize,
    /// The most shared memory that one block can have, in bytes.
    pub shared_memory_per_block: Option<u32>,
}

/// The properties of a GPU that launches and plans depend on. Memory sizes are in bytes.
pub(super) struct Properties {
    pub id: DeviceId,
    pub compute_capability: (u32, u32),
    pub multiprocessors: usize,
    pub total_memory: u64,
    pub shared_memory_per_block: u32,
    pub threads_per_multiprocessor: u32,
}

/// Formats the kind, the name, and the compute capability and memory of a GPU in one line.
impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = format!("{}: {}", self.kind, self.name);
        if let Some((major, minor)) = self.compute_capability {
            line += &format!(", compute capability {major}.{minor}");
        }
        line += &format!(", {} processors", self.processors);
        if let (Some(free), Some(total)) = (self.free_memory, self.total_memory) {
            let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
            line += &format!(", {:.1} of {:.1} GiB free", gib(free), gib(total));
        }
        f.pad(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::MemoryKind;

    #[test]
    fn names_are_padded_to_a_width() {
        let gpu = DeviceKind::Cuda { ordinal: 1 };
        let (kind, number) = (DeviceKind::Simulator, 3);
        let simulator = DeviceId { kind, number };
        let memory = [MemoryKind::Host, MemoryKind::Device(simulator)];
        assert_eq!(
            format!("{:6}|{gpu:>8}|", DeviceKind::Cpu),
            "cpu   |  cuda:1|"
        );
        assert_eq!(format!("{simulator:^15}|"), "  simulator:3  |");
        assert_eq!(
            format!("{:10}|{:.>13}|", memory[0], memory[1]),
            "the host  |..simulator:3|"
        );
        assert_eq!(
            format!("{:<5}|{:>5}|", crate::Device::cpu(), crate::Device::cpu()),
            "cpu  |  cpu|"
        );
        let info = crate::Device::cpu().info();
        assert!(format!("{info:200}|").ends_with("   |"));
    }
}
