//! Several devices as an argument.

use std::str::FromStr;

use gridstride::Device;

use super::device_name::DeviceName;

/// Devices that were asked for, with commas between their names.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceNames(Vec<DeviceName>);

impl DeviceNames {
    /// Opens them; of the memory of each so many MiB are to be used.
    pub fn open(&self, memory: Option<u32>) -> gridstride::Result<Vec<Device>> {
        let open = |name: &DeviceName| {
            let device = name.open()?;
            Ok(match memory {
                Some(memory) => device.with_memory_limit(u64::from(memory) << 20),
                None => device,
            })
        };
        self.0.iter().map(open).collect()
    }
}

impl FromStr for DeviceNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(DeviceNames)
    }
}

/// Their names, with commas between them.
pub fn listed(devices: &[Device]) -> String {
    let names: Vec<String> = devices.iter().map(Device::to_string).collect();
    names.join(", ")
}
