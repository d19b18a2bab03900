//! Several devices as an argument.

use std::str::FromStr;

use gridstride::Device;

use super::device_name::DeviceName;

/// The devices that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceNames {
    /// Names with commas between them.
    Named(Vec<DeviceName>),
    /// `gpus`: all GPUs of this machine.
    Gpus,
}

impl DeviceNames {
    /// Opens the devices, each with a limit of `memory` MiB if there is one.
    pub fn open(&self, memory: Option<u32>) -> gridstride::Result<Vec<Device>> {
        let devices = match self {
            DeviceNames::Named(names) => names
                .iter()
                .map(DeviceName::open)
                .collect::<Result<_, _>>()?,
            DeviceNames::Gpus => match Device::gpus() {
                // The error says why there is none.
                none if none.is_empty() => vec![Device::cuda(0)?],
                gpus => gpus,
            },
        };
        let limit = |device: Device| match memory {
            Some(memory) => device.with_memory_limit(u64::from(memory) << 20),
            None => device,
        };
        Ok(devices.into_iter().map(limit).collect())
    }

    /// Returns whether the simulator is among the devices: inputs made for it have to be small.
    pub fn has_simulator(&self) -> bool {
        match self {
            DeviceNames::Named(names) => names.contains(&DeviceName::Simulator),
            DeviceNames::Gpus => false,
        }
    }
}

impl FromStr for DeviceNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "gpus" {
            return Ok(DeviceNames::Gpus);
        }
        text.split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(DeviceNames::Named)
    }
}

/// Their names, with commas between them.
pub fn listed(devices: &[Device]) -> String {
    let names: Vec<String> = devices.iter().map(Device::to_string).collect();
    names.join(", ")
}
