//! The machine that is measured.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use super::peers::output;

/// The machine that the figures hold for.
pub struct Machine {
    /// The first GPU's name and driver, if there is one.
    gpu: Option<(String, String)>,
    cpu: String,
    threads: usize,
}

impl Machine {
    /// This one.
    pub fn look() -> Machine {
        let mut query = Command::new("nvidia-smi");
        query.args(["--query-gpu=name,driver_version", "--format=csv,noheader"]);
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            gpu: output(&mut query).and_then(|text| gpu(&text)),
            cpu: cpu(&cpus).unwrap_or_else(|| "unknown CPU".to_owned()),
            threads: available_parallelism().map_or(1, usize::from),
        }
    }

    /// The GPU's name and its driver, if the GPU does the work and is there.
    pub fn gpu(&self) -> Option<&(String, String)> {
        self.gpu.as_ref()
    }

    /// The CPU and its threads.
    pub fn host(&self) -> String {
        format!("{}, {} threads", self.cpu, self.threads)
    }
}

/// The first line's name and driver.
fn gpu(text: &str) -> Option<(String, String)> {
    let (name, driver) = text.lines().next()?.rsplit_once(", ")?;
    Some((name.to_owned(), driver.to_owned()))
}

fn cpu(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(": ")?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_a_gpu_and_a_host() {
        let machine = Machine {
            gpu: gpu("NVIDIA H100 80GB HBM3, 580.159.04\nNVIDIA T4, 1"),
            cpu: cpu("processor\t: 0\nmodel name\t: Intel Xeon\n").unwrap(),
            threads: 16,
        };
        assert_eq!(machine.host(), "Intel Xeon, 16 threads");
        let (name, driver) = machine.gpu().unwrap();
        assert_eq!(
            (name.as_str(), driver.as_str()),
            ("NVIDIA H100 80GB HBM3", "580.159.04")
        );
    }
}
