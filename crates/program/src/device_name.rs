//! The device as an argument.

use std::ffi::OsStr;
use std::str::FromStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use gridstride::Device;

/// A device that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceName {
    /// The first GPU, or else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
    /// The simulator.
    Simulator,
}

impl DeviceName {
    /// Opens the device.
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

/// Reads devices, and tells shells which names they can complete. There are others, such as
/// `cuda:1`, so that the help does not list these: `hide_possible_values`.
#[derive(Clone)]
pub struct DeviceParser<V> {
    parse: fn(&str) -> Result<V, String>,
    names: &'static [&'static str],
}

impl<V> DeviceParser<V> {
    /// Returns a parser by a function, with the names that shells complete.
    pub fn new(
        parse: fn(&str) -> Result<V, String>,
        names: &'static [&'static str],
    ) -> DeviceParser<V> {
        DeviceParser { parse, names }
    }
}

impl<V: Clone + Send + Sync + 'static> TypedValueParser for DeviceParser<V> {
    type Value = V;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, text: &OsStr) -> Result<V, Error> {
        let parse = self.parse;
        let parser = StringValueParser::new().try_map(move |text: String| parse(&text));
        parser.parse_ref(command, arg, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}

/// Returns the device of a name.
pub fn named(text: &str) -> Option<DeviceName> {
    Some(match text {
        "auto" => DeviceName::Auto,
        "cpu" => DeviceName::Cpu,
        "cuda" => DeviceName::Cuda(0),
        // As summaries name it.
        "simulator" | "simulator:0" => DeviceName::Simulator,
        _ => DeviceName::Cuda(text.strip_prefix("cuda:")?.parse().ok()?),
    })
}
