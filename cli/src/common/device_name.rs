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
        named(text).ok_or_else(|| {
            format!(
                "there is no device {text:?}: possible are auto, cpu, cuda (the same as cuda:0), cuda:N and \
                 simulator"
            )
        })
    }
}

/// Returns the device of a name.
pub fn named(text: &str) -> Option<DeviceName> {
    Some(match text {
        "auto" => DeviceName::Auto,
        "cpu" => DeviceName::Cpu,
        "cuda" => DeviceName::Cuda(0),
        "simulator" => DeviceName::Simulator,
        _ => DeviceName::Cuda(text.strip_prefix("cuda:")?.parse().ok()?),
    })
}
