//! Says which devices there are, and why others are not.
//!
//! ```text
//! gridstride devices --measure
//! ```

mod copies;
mod diagnosis;
mod facts;
mod host;
mod summary;

use anyhow::Result;
use gridstride::Device;
use gridstride::device::DriverState;

use crate::common::progress;
use crate::common::report;
use diagnosis::{diagnose, unusable};
use facts::Facts;
use summary::{Entry, Summary};

/// Lists the devices: their names, compute capabilities and memory, and the driver's version. For
/// devices that cannot be used, prints the reason and the remedy.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride devices
  gridstride devices --measure
  gridstride devices --json | jq '.problems[].remedy'")]
pub struct Args {
    /// Measure copies between the host and each device, from and to ordinary and page-locked
    /// memory: bytes per second in large copies, and copies per second of small ones.
    #[arg(long, help_heading = "Output")]
    measure: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let (mut found, mut problems) = (vec![Device::cpu()], Vec::new());
    match Device::simulator() {
        Ok(simulator) => found.push(simulator),
        Err(error) => problems.push(unusable("simulator", &error)),
    }
    let driver = Device::driver();
    let mut capabilities = Vec::new();
    if let DriverState::Ready { gpus } = driver.state {
        for ordinal in 0..gpus {
            match Device::cuda(ordinal) {
                Ok(gpu) => {
                    capabilities.extend(gpu.info().compute_capability.map(|it| (ordinal, it)));
                    found.push(gpu);
                }
                Err(error) => problems.push(unusable(&format!("cuda:{ordinal}"), &error)),
            }
        }
    }
    let facts = Facts::now(&driver, capabilities);
    problems.extend(diagnose(&facts));

    let rounds = found.len() as u64 * copies::ROUNDS;
    let bar = args
        .measure
        .then(|| progress::count("copying", rounds, "rounds"));
    let mut devices = Vec::new();
    for device in &found {
        let copies = bar.as_ref().map(|bar| copies::measure(device, bar));
        devices.push(Entry::new(device, copies.transpose()?));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    report::show(&Summary {
        devices,
        driver: summary::Driver::new(&facts),
        problems,
    })
}
