//! Says which devices there are, and why others are not.
//!
//! ```text
//! gridstride devices --measure
//! ```

mod copies;
mod diagnosis;
mod facts;
mod summary;

use anyhow::Result;
use gridstride::device::DriverState;
use gridstride::{Device, Error};
use program::progress;
use program::report;

use copies::Copies;
use diagnosis::{Problem, diagnose, unmeasured, unusable};
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

    let copies = match args.measure {
        true => {
            let rounds = found.len() as u64 * copies::ROUNDS;
            let bar = progress::count("copying", rounds, "rounds");
            let measured = measured(&found, &mut problems, |device| {
                copies::measure(device, &bar)
            });
            bar.finish_and_clear();
            measured
        }
        false => found.iter().map(|_| None).collect(),
    };
    let devices = found.iter().zip(copies);
    let devices = devices.map(|(device, copies)| Entry::new(device, copies));
    let devices = devices.collect();
    report::show(&Summary {
        devices,
        driver: summary::Driver::new(&facts),
        problems,
    })
}

/// Measures each device. A device that fails has no measurement but a problem.
fn measured(
    devices: &[Device],
    problems: &mut Vec<Problem>,
    measure: impl Fn(&Device) -> Result<[Copies; 2], Error>,
) -> Vec<Option<[Copies; 2]>> {
    let measured = devices.iter().map(|device| match measure(device) {
        Ok(copies) => Some(copies),
        Err(error) => {
            let name = device.kind().to_string();
            problems.push(unmeasured(&name, &error));
            None
        }
    });
    measured.collect()
}

#[cfg(test)]
mod tests {
    use gridstride::device::DeviceKind;

    use super::*;

    #[test]
    fn a_measurement_that_fails_is_a_problem_of_its_device_alone() {
        let devices = [Device::cpu(), Device::simulator().unwrap()];
        let copies = |memory| Copies {
            memory,
            large_copy_bytes: 1,
            to_device_bytes_per_second: None,
            from_device_bytes_per_second: None,
            small_copy_bytes: 1,
            to_device_copies_per_second: None,
            from_device_copies_per_second: None,
        };
        let mut problems = Vec::new();
        let found = measured(&devices, &mut problems, |device| match device.kind() {
            DeviceKind::Cpu => Err(Device::cuda(1000).err().unwrap()),
            _ => Ok(["ordinary", "page-locked"].map(copies)),
        });
        assert!(found[0].is_none() && found[1].is_some());
        let [problem] = &problems[..] else {
            panic!("{problems:?}");
        };
        assert_eq!(problem.device, "cpu");
        let start = "The copies could not be measured: ";
        assert!(problem.reason.starts_with(start) && problem.reason.ends_with('.'));
        assert!(problem.remedy.ends_with('.'), "{problem:?}");
    }
}
