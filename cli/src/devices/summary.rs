//! The printed summary.

use std::fmt::{Result, Write};

use gridstride::Device;
use gridstride::device::DeviceKind;
use program::report;
use serde::Serialize;

use super::copies::Copies;
use super::diagnosis::Problem;
use super::facts::Facts;
use crate::common::host::Host;

/// The devices, and the reason if there is no GPU.
#[derive(Serialize)]
pub struct Summary {
    pub devices: Vec<Entry>,
    pub driver: Driver,
    pub problems: Vec<Problem>,
}

/// A device.
#[derive(Serialize)]
pub struct Entry {
    /// The value for `--device`.
    device: String,
    name: String,
    compute_capability: Option<String>,
    /// Multiprocessors of a GPU.
    multiprocessors: Option<usize>,
    /// Cores of the CPU, which also runs the simulator.
    cores: Option<usize>,
    threads: Option<usize>,
    memory_free_bytes: Option<u64>,
    memory_total_bytes: Option<u64>,
    /// None unless they were to be measured.
    copies: Option<[Copies; 2]>,
}

/// The NVIDIA driver.
#[derive(Serialize)]
pub struct Driver {
    /// The version of the kernel module.
    version: Option<String>,
    /// The newest CUDA version that it supports.
    cuda_version: Option<String>,
}

fn version((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

impl Driver {
    pub fn new(facts: &Facts) -> Driver {
        Driver {
            version: facts.module_version.clone(),
            cuda_version: facts.cuda_version.map(version),
        }
    }

    fn text(&self) -> String {
        let newest = |cuda: &String| format!("supports CUDA up to {cuda}");
        let parts = [self.version.clone(), self.cuda_version.as_ref().map(newest)];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => "none".to_owned(),
            false => parts.join(", "),
        }
    }
}

impl Entry {
    pub fn new(device: &Device, copies: Option<[Copies; 2]>) -> Entry {
        let info = device.info();
        let mut entry = Entry {
            device: info.kind.to_string(),
            name: info.name,
            compute_capability: info.compute_capability.map(version),
            multiprocessors: None,
            cores: None,
            threads: None,
            memory_free_bytes: info.free_memory,
            memory_total_bytes: info.total_memory,
            copies,
        };
        if let DeviceKind::Cuda { .. } = info.kind {
            entry.multiprocessors = Some(info.processors);
            return entry;
        }
        let host = Host::now();
        entry.threads = Some(info.processors);
        entry.cores = host.cores;
        entry.memory_free_bytes = host.memory_free;
        entry.memory_total_bytes = host.memory_total;
        entry.name = match info.kind {
            DeviceKind::Cpu => host.name.unwrap_or(entry.name),
            _ => "GPU kernels on the CPU, for tests".to_owned(),
        };
        entry
    }

    /// Returns what is known beside the name.
    fn text(&self) -> String {
        let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
        let memory = match (self.memory_free_bytes, self.memory_total_bytes) {
            (Some(free), Some(total)) => {
                Some(format!("{:.1} of {:.1} GiB free", gib(free), gib(total)))
            }
            _ => None,
        };
        let parts = [
            Some(self.name.clone()),
            (self.compute_capability.as_ref()).map(|it| format!("compute capability {it}")),
            (self.multiprocessors).map(|count| format!("{count} multiprocessors")),
            self.cores.map(|count| format!("{count} cores")),
            self.threads.map(|count| format!("{count} threads")),
            memory,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Summary {
    /// Writes a line for each device and kind of memory.
    fn write_copies(&self, text: &mut String) -> Result {
        let measured = self.devices.iter().filter(|entry| entry.copies.is_some());
        if measured.clone().next().is_none() {
            return Ok(());
        }
        let heads = [
            "to device, GB/s",
            "from device, GB/s",
            "to device, 4 KiB copies/s",
            "from device, 4 KiB copies/s",
        ];
        write!(text, "\n{:<10}  {:<11}", "copies", "memory")?;
        heads.iter().try_for_each(|head| write!(text, "  {head}"))?;
        writeln!(text)?;
        for entry in measured {
            for copies in entry.copies.iter().flatten() {
                let cells = [
                    (copies.to_device_bytes_per_second, 1e-9, 2),
                    (copies.from_device_bytes_per_second, 1e-9, 2),
                    (copies.to_device_copies_per_second, 1.0, 0),
                    (copies.from_device_copies_per_second, 1.0, 0),
                ];
                write!(text, "{:<10}  {:<11}", entry.device, copies.memory)?;
                for (head, (rate, unit, digits)) in heads.iter().zip(cells) {
                    let cell = rate.map_or("-".into(), |rate| format!("{:.digits$}", rate * unit));
                    write!(text, "  {cell:>0$}", head.len())?;
                }
                writeln!(text)?;
            }
        }
        Ok(())
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        for entry in &self.devices {
            writeln!(text, "{:<10}  {}", entry.device, entry.text())?;
        }
        writeln!(text, "{:<10}  {}", "driver", self.driver.text())?;
        self.write_copies(text)?;
        for problem in &self.problems {
            writeln!(text, "\nproblem: {}", problem.device)?;
            writeln!(text, "  reason: {}", problem.reason)?;
            writeln!(text, "  remedy: {}", problem.remedy)?;
        }
        Ok(())
    }
}
