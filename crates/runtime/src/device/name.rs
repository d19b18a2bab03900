//! Names of devices, as programs and bindings take them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// A device by its name. All front ends parse names with it, so that all of them accept the same
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceName {
    /// The first GPU, or else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
    /// The simulator.
    Simulator,
}

impl DeviceName {
    /// Names for the completions of shells. There are others, such as `cuda:1`.
    pub const NAMES: [&'static str; 4] = ["auto", "cpu", "cuda", "simulator"];

    /// The names that messages list, but for `simulator`, which comes last.
    pub const POSSIBLE: &'static str = "auto, cpu, cuda (the same as cuda:0), cuda:N";
}

impl FromStr for DeviceName {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<DeviceName, UnknownDevice> {
        let gpu = |text: &str| text.strip_prefix("cuda:")?.parse().ok();
        match text {
            "auto" => Ok(DeviceName::Auto),
            "cpu" => Ok(DeviceName::Cpu),
            "cuda" => Ok(DeviceName::Cuda(0)),
            // The second name is how the id of the first simulator is formatted.
            "simulator" | "simulator:0" => Ok(DeviceName::Simulator),
            _ => match gpu(text) {
                Some(ordinal) => Ok(DeviceName::Cuda(ordinal)),
                None => Err(UnknownDevice(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Auto => f.pad("auto"),
            DeviceName::Cpu => f.pad("cpu"),
            DeviceName::Cuda(ordinal) => f.pad(&format!("cuda:{ordinal}")),
            DeviceName::Simulator => f.pad("simulator"),
        }
    }
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDevice(String);

impl fmt::Display for UnknownDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, possible) = (&self.0, DeviceName::POSSIBLE);
        write!(
            f,
            "there is no device {text:?}: possible are {possible} and simulator"
        )
    }
}

impl Error for UnknownDevice {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_read_and_written() {
        let names = ["auto", "cpu", "cuda:0", "cuda:7", "simulator"];
        for text in names {
            assert_eq!(text.parse::<DeviceName>().unwrap().to_string(), text);
        }
        for text in DeviceName::NAMES {
            assert!(text.parse::<DeviceName>().is_ok(), "{text}");
        }
        assert_eq!("cuda".parse(), Ok(DeviceName::Cuda(0)));
        assert_eq!("simulator:0".parse(), Ok(DeviceName::Simulator));
        for text in [
            "",
            "gpu",
            "CPU",
            "cuda:",
            "cuda:-1",
            "cuda:x",
            "cpu ",
            "simulator:1",
        ] {
            let error = text.parse::<DeviceName>().unwrap_err();
            let said = format!(
                "there is no device {text:?}: possible are auto, cpu, cuda (the same as cuda:0), cuda:N and simulator"
            );
            assert_eq!(error.to_string(), said);
        }
    }
}
