//! Devices in summaries.

use gridstride::Device;
use serde::Serialize;

/// A device that was used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// For example `cuda:0`.
    pub id: String,
    pub name: String,
    pub compute_capability: Option<String>,
    /// Multiprocessors of a GPU, or threads of the CPU.
    pub processors: usize,
    pub memory_free_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    /// All of that in one line.
    #[serde(skip)]
    pub description: String,
}

impl DeviceSummary {
    pub fn new(device: &Device) -> DeviceSummary {
        let info = device.info();
        let description = info.to_string();
        DeviceSummary {
            id: device.to_string(),
            name: info.name,
            compute_capability: info
                .compute_capability
                .map(|(major, minor)| format!("{major}.{minor}")),
            processors: info.processors,
            memory_free_bytes: info.free_memory,
            memory_total_bytes: info.total_memory,
            description,
        }
    }

    pub fn all(devices: &[Device]) -> Vec<DeviceSummary> {
        devices.iter().map(DeviceSummary::new).collect()
    }
}

/// Returns the ids, with commas between them.
pub fn listed(devices: &[DeviceSummary]) -> String {
    let ids: Vec<&str> = devices.iter().map(|device| &*device.id).collect();
    ids.join(", ")
}
