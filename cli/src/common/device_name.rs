//! The device as an argument.

use std::str::FromStr;

use gridstride::Device;

/// A device that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceName {
    Auto,
    Cpu,
    Cuda(usize),
    Simulator,
}

impl DeviceName {
    pub fn open(&self) -> gridstride::Result<Device> {
        match *self {
            DeviceName::Auto => Ok(Device::auto()),
            DeviceName::Cpu => Ok(Device::cpu()),
            DeviceName::Cuda(ordinal) => Device::cuda(ordinal),
            DeviceName::Simulator => Device::simulator(),
        }
    }
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(',') || text == "gpus" {
            return Err(format!("one device is needed, not several: {text}"));
        }
        let unknown = || format!("not auto, cpu, cuda, cuda:N or simulator: {text}");
        match text {
            "auto" => Ok(DeviceName::Auto),
            "cpu" => Ok(DeviceName::Cpu),
            "cuda" => Ok(DeviceName::Cuda(0)),
            "simulator" => Ok(DeviceName::Simulator),
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(unknown)?;
                ordinal.parse().map(DeviceName::Cuda).map_err(|_| unknown())
            }
        }
    }
}
