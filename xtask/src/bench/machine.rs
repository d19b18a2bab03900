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

    /// In a line.
    pub fn text(&self) -> String {
        let gpu = match &self.gpu {
            Some((name, driver)) => format!("{name}, driver {driver}"),
            None => "no GPU that nvidia-smi knows".to_owned(),
        };
        let threads = self.threads;
        format!("{gpu}; {}, {threads} threads", self.cpu)
    }

    /// Returns the name of the machine in plots, or of its CPU, or of one core.
    pub fn label(&self, is_on_gpu: bool, is_on_one_core: bool) -> String {
        match (&self.gpu, self.threads) {
            (Some((name, _)), _) if is_on_gpu => name.trim_start_matches("NVIDIA ").to_owned(),
            (_, 1) => "1 CPU core".to_owned(),
            _ if is_on_one_core => "1 CPU core".to_owned(),
            (_, threads) => format!("{threads} CPU threads"),
        }
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
    fn machines_are_told_in_a_line() {
        let machine = Machine {
            gpu: gpu("NVIDIA H100 80GB HBM3, 580.159.04\nNVIDIA T4, 1"),
            cpu: cpu("processor\t: 0\nmodel name\t: Intel Xeon\n").unwrap(),
            threads: 16,
        };
        assert_eq!(
            machine.text(),
            "NVIDIA H100 80GB HBM3, driver 580.159.04; Intel Xeon, 16 threads"
        );
        assert_eq!(machine.label(true, false), "H100 80GB HBM3");
        assert_eq!(machine.label(false, false), "16 CPU threads");
        assert_eq!(machine.label(false, true), "1 CPU core");
    }
}
