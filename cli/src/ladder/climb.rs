//! Runs the versions of a ladder: times each, checks what it found, and keeps a row of it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gridstride::Device;
use gridstride::device::DeviceKind;
use indicatif::ProgressBar;
use serde::Serialize;

use super::summary::LadderSummary;
use crate::common::progress;

/// A first run that takes so long is the only one.
const LONG: Duration = Duration::from_secs(1);

/// Where and how the versions run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The device of the kernels. On the CPU there are the CPU's versions alone.
    pub device: Device,
    /// Timed runs of each version, of which the median counts, after one that does not; if there
    /// are none, that one.
    pub runs: usize,
    /// Where random numbers start.
    pub seed: u64,
    /// Whether the CPU's versions run too.
    pub has_cpu_rows: bool,
}

impl Setup {
    /// Whether kernels run.
    pub fn has_kernels(&self) -> bool {
        self.device.kind() != DeviceKind::Cpu
    }

    /// A size that was asked for, or that for the kind of the device.
    pub fn size(&self, asked: Option<u32>, defaults: Defaults) -> usize {
        let default = match self.device.kind() {
            DeviceKind::Cpu => defaults.cpu,
            DeviceKind::Simulator => defaults.simulator,
            _ => defaults.gpu,
        };
        asked.unwrap_or(default) as usize
    }
}

/// A size by the kind of device.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// One that keeps it busy.
    pub gpu: u32,
    /// One for which a core needs a second at most, or a few.
    pub cpu: u32,
    /// A small one.
    pub simulator: u32,
}

impl Defaults {
    /// For a GPU, for the CPU, and for the simulator.
    pub fn new(gpu: u32, cpu: u32, simulator: u32) -> Defaults {
        Defaults {
            gpu,
            cpu,
            simulator,
        }
    }
}

/// What came out of a ladder.
#[derive(Clone, Debug, Serialize)]
#[serde(into = "LadderSummary")]
pub struct Ladder {
    /// What was computed.
    pub title: String,
    /// Where.
    pub device: String,
    /// The versions, in order.
    pub rows: Vec<Row>,
    /// Times by threads of a block, if they were asked for.
    pub sweep: Option<Sweep>,
}

/// A version that ran and was right.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub version: String,
    /// The median of its runs.
    pub time: Duration,
    /// The least and the most of them.
    pub range: [Duration; 2],
    /// What it does other than the one before.
    pub changed: String,
    /// What the check has to say, if anything.
    pub remark: String,
}

impl Row {
    /// How many times as fast the version is as one that takes `first`; not finite if the clock is
    /// too coarse.
    pub fn speed_up(&self, first: Duration) -> f64 {
        first.as_secs_f64() / self.time.as_secs_f64()
    }
}

/// Times of kernels by the number of threads in a block.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The numbers of threads.
    pub threads: Vec<u32>,
    /// A line for each kernel.
    pub lines: Vec<SweepLine>,
}

/// The times of a kernel.
#[derive(Clone, Debug)]
pub struct SweepLine {
    /// The kernel.
    pub name: String,
    /// A time for each number of threads, where the kernel can have so many.
    pub times: Vec<Option<Duration>>,
}

/// How a time is taken.
#[derive(Clone, Copy)]
enum Clock {
    /// The host's clock, around work that has ended when it returns.
    Host,
    /// Events on the device's main stream.
    Device,
}

/// A ladder as it is climbed.
pub struct Climb<'a> {
    setup: &'a Setup,
    rows: Vec<Row>,
    title: String,
    bar: ProgressBar,
}

impl<'a> Climb<'a> {
    /// Begins a ladder that computes what the title says.
    pub fn new(setup: &'a Setup, title: String) -> Climb<'a> {
        let bar = progress::spinner("climbing");
        Climb {
            setup,
            rows: Vec::new(),
            title,
            bar,
        }
    }

    /// Says on a terminal what is being done between the rows.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// A version on the CPU; none if they were not asked for. `check` fails if the result is wrong,
    /// else it returns a remark or nothing.
    ///
    /// # Errors
    /// Those of `work` and `check`.
    pub fn cpu<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        match self.setup.has_cpu_rows {
            true => self.add(version, changed, Clock::Host, work, check),
            false => Ok(()),
        }
    }

    /// A version that launches kernels on the main stream, on data in the device's memory.
    ///
    /// # Errors
    /// Those of `work` and `check`.
    pub fn kernel<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        match self.setup.has_kernels() {
            true => self.add(version, changed, Clock::Device, work, check),
            false => Ok(()),
        }
    }

    /// A version of which copies or other streams are a part; when `work` returns all has to be
    /// done.
    ///
    /// # Errors
    /// Those of `work` and `check`.
    pub fn with_copies<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        match self.setup.has_kernels() {
            true => self.add(version, changed, Clock::Host, work, check),
            false => Ok(()),
        }
    }

    /// The library's own version, on any device.
    ///
    /// # Errors
    /// Those of `work` and `check`.
    pub fn library<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        let clock = match self.setup.has_kernels() {
            true => Clock::Device,
            false => Clock::Host,
        };
        self.add(version, changed, clock, work, check)
    }

    fn add<R>(
        &mut self,
        version: &str,
        changed: &str,
        clock: Clock,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        self.say(version);
        let (times, found) = times(self.setup, clock, work)
            .with_context(|| format!("the version {version} failed"))?;
        let remark = check(found).with_context(|| not_right(version))?;
        self.rows.push(Row {
            version: version.to_owned(),
            time: times[times.len() / 2],
            range: [times[0], times[times.len() - 1]],
            changed: changed.to_owned(),
            remark,
        });
        Ok(())
    }

    /// Fails if the check of the version that has just run failed: for results that its work has
    /// borrowed.
    ///
    /// # Errors
    /// That of the check.
    pub fn checked(&self, outcome: Result<String>) -> Result<()> {
        let version = self.rows.last().map_or("", |row| &row.version);
        outcome.map(|_| ()).with_context(|| not_right(version))
    }

    /// The median time of kernels on the main stream, for a sweep.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn time(&self, work: impl FnMut() -> Result<()>) -> Result<Duration> {
        let (times, ()) = times(self.setup, Clock::Device, work)?;
        Ok(times[times.len() / 2])
    }

    /// Ends the ladder.
    pub fn finish(self, sweep: Option<Sweep>) -> Ladder {
        self.bar.finish_and_clear();
        Ladder {
            title: self.title,
            device: self.setup.device.info().to_string(),
            rows: self.rows,
            sweep,
        }
    }
}

fn not_right(version: &str) -> String {
    format!("the version {version} is not right")
}

/// The times of so many runs, sorted, after one that is not timed because it loads kernels, and the
/// last result.
fn times<R>(
    setup: &Setup,
    clock: Clock,
    mut work: impl FnMut() -> Result<R>,
) -> Result<(Vec<Duration>, R)> {
    let device = &setup.device;
    let (start, end) = (device.event()?, device.event()?);
    let mut run = || -> Result<(Duration, R)> {
        device.synchronize()?;
        match clock {
            Clock::Host => {
                let begin = Instant::now();
                let found = work()?;
                device.synchronize()?;
                Ok((begin.elapsed(), found))
            }
            Clock::Device => {
                device.record(&start)?;
                let found = work()?;
                device.record(&end)?;
                Ok((end.elapsed_since(&start)?, found))
            }
        }
    };
    let first = run()?;
    if first.0 >= LONG || setup.runs == 0 {
        return Ok((vec![first.0], first.1));
    }
    let (mut times, mut last) = (Vec::new(), first.1);
    for _ in 0..setup.runs {
        drop(last);
        let (time, found) = run()?;
        times.push(time);
        last = found;
    }
    times.sort();
    Ok((times, last))
}
