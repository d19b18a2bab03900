//! Several devices as an argument.

use std::str::FromStr;

use clap::builder::ValueParserFactory;
use gridstride::device::DeviceName;
use gridstride::{Device, Error, Result};
use program::device_name::DeviceParser;

/// The word for all GPUs.
const GPUS: &str = "gpus";

/// Devices that were asked for, with commas between their names.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceNames(Vec<Asked>);

#[derive(Clone, Debug, PartialEq)]
enum Asked {
    One(DeviceName),
    /// All GPUs that run the kernels.
    Gpus,
}

/// The options of subcommands that split their work by devices and memory alone.
#[derive(clap::Args, Clone, Debug)]
pub struct DeviceOptions {
    /// Where to compute: auto, cpu, cuda, cuda:N, simulator, a list such as cuda:0,cuda:1, or gpus
    /// for all GPUs.
    #[arg(
        long,
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Computation"
    )]
    pub device: DeviceNames,

    /// Limit on the memory used on each device, in MiB; larger inputs are split. No limit by
    /// default.
    #[arg(
        long,
        value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Computation"
    )]
    pub memory: Option<u32>,
}

impl DeviceNames {
    /// Opens the devices, at least one, each with a limit of `memory` MiB if there is one.
    ///
    /// # Errors
    /// If a device is not there, or if all GPUs were asked for and there are none.
    pub fn open(&self, memory: Option<u32>) -> Result<Vec<Device>> {
        let mut devices = Vec::new();
        for asked in &self.0 {
            match asked {
                Asked::One(name) => devices.push(name.open()?),
                Asked::Gpus => devices.extend(gpus()?),
            }
        }
        if let Some(memory) = memory {
            let limited = |device: &Device| device.with_memory_limit(u64::from(memory) << 20);
            devices = devices.iter().map(limited).collect();
        }
        Ok(devices)
    }

    /// Returns whether the simulator is among the devices: inputs made for it have to be small.
    pub fn has_simulator(&self) -> bool {
        self.0.contains(&Asked::One(DeviceName::Simulator))
    }
}

/// Returns all GPUs that run the kernels, at least one.
fn gpus() -> Result<Vec<Device>> {
    let gpus = Device::gpus();
    if !gpus.is_empty() {
        return Ok(gpus);
    }
    // The reason is that of the first GPU, unless all are too old.
    let reason = match Device::cuda(0) {
        Err(Error::Unavailable { reason, .. }) => reason,
        Err(error) => return Err(error),
        Ok(_) => "no GPU has compute capability 7.0 or newer".to_owned(),
    };
    let device = GPUS.to_owned();
    Err(Error::Unavailable { device, reason })
}

impl FromStr for DeviceNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let asked = text.split(',').map(Asked::new);
        asked.collect::<Result<_, _>>().map(DeviceNames)
    }
}

impl ValueParserFactory for DeviceNames {
    type Parser = DeviceParser<DeviceNames>;

    fn value_parser() -> DeviceParser<DeviceNames> {
        DeviceParser::new(str::parse, &["auto", "cpu", "cuda", GPUS, "simulator"])
    }
}

impl Asked {
    fn new(name: &str) -> Result<Asked, String> {
        if name == GPUS {
            return Ok(Asked::Gpus);
        }
        name.parse().map(Asked::One).map_err(|_| {
            format!(
                "there is no device {name:?}: possible are {}, gpus (all of them) and simulator, or \
                 several of them with commas between them",
                DeviceName::POSSIBLE
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_are_read() {
        let names: DeviceNames = "cuda:1,gpus,cpu".parse().unwrap();
        let expected = vec![
            Asked::One(DeviceName::Cuda(1)),
            Asked::Gpus,
            Asked::One(DeviceName::Cpu),
        ];
        assert_eq!(names, DeviceNames(expected));
        for text in ["", "gpu", "cpu,", "cuda:", "cuda:-1", "cuda:x", "CPU"] {
            let said = text.parse::<DeviceNames>().unwrap_err();
            assert!(said.contains("cuda:N, gpus"), "{text}: {said}");
            assert!(text.parse::<DeviceName>().is_err());
        }
    }

    #[test]
    fn every_device_has_the_limit() {
        let names: DeviceNames = "cpu,simulator:0".parse().unwrap();
        let devices = names.open(Some(3)).unwrap();
        let limits: Vec<_> = devices.iter().map(Device::memory_limit).collect();
        assert_eq!(limits, [Some(3 << 20); 2]);
        assert!(names.open(None).unwrap()[0].memory_limit().is_none());
    }
}
