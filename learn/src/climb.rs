//! Runs the versions of a ladder: times each, checks what it found, and keeps a row of it.

use std::time::Duration;

use anyhow::{Context, Result};
use cuda_std::host::{Kernel, KernelArgs};
use gridstride::device::LaunchConfig;
use indicatif::ProgressBar;
use program::progress;

use super::KERNELS;
use super::rows::{Axis, Clock, Ladder, Line, Row, Sweep};
use super::setup::Setup;
use super::times::times;

/// Timed runs of each point of a sweep, at most.
const SWEEP_RUNS: usize = 3;

/// A sweep before it is timed.
pub struct Plan<'a, L> {
    pub title: &'a str,
    pub clock: Clock,
    pub parameter: &'static str,
    pub axis: Axis,
    pub values: &'a [u32],
    /// The name of each line, and what its kernel is launched with.
    pub lines: &'a [(String, L)],
}

/// A ladder as it is climbed.
pub struct Climb<'a> {
    setup: &'a Setup,
    rows: Vec<Row>,
    sweeps: Vec<Sweep>,
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
            sweeps: Vec::new(),
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
    /// The errors of `work` and `check`.
    pub fn cpu<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        self.cpu_part(1.0, version, changed, work, check)
    }

    /// A version on the CPU that computes a share of the work, from which its time is extrapolated.
    ///
    /// # Errors
    /// The errors of `work` and `check`.
    pub fn cpu_part<R>(
        &mut self,
        share: f64,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        if !self.setup.has_cpu_rows {
            return Ok(());
        }
        self.add(version, changed, Clock::WholeCall, false, work, check)?;
        if let Some(row) = self.rows.last_mut() {
            row.share = share;
            let whole = |time: Duration| time.div_f64(share);
            (row.time, row.range) = (whole(row.time), row.range.map(whole));
        }
        Ok(())
    }

    /// A version that launches kernels on data in the device's memory: on the main stream, or on
    /// others that wait for it and that it waits for.
    ///
    /// # Errors
    /// The errors of `work` and `check`.
    pub fn kernel<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        match self.setup.has_kernels() {
            true => self.add(version, changed, Clock::Kernel, true, work, check),
            false => Ok(()),
        }
    }

    /// A version of which copies are a part; when `work` returns all has to be done.
    ///
    /// # Errors
    /// The errors of `work` and `check`.
    pub fn with_copies<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        match self.setup.has_kernels() {
            true => self.add(version, changed, Clock::WholeCall, true, work, check),
            false => Ok(()),
        }
    }

    /// The library's own version, on any device: of data in its memory.
    ///
    /// # Errors
    /// The errors of `work` and `check`.
    pub fn library<R>(
        &mut self,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        let clock = match self.setup.has_kernels() {
            true => Clock::Kernel,
            false => Clock::WholeCall,
        };
        self.add(version, changed, clock, true, work, check)
    }

    fn add<R>(
        &mut self,
        version: &str,
        changed: &str,
        clock: Clock,
        uses_device: bool,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        self.say(version);
        let (times, found) = times(self.setup, self.setup.runs, clock, uses_device, work)
            .with_context(|| format!("the version {version} failed"))?;
        let remark = check(found).with_context(|| not_right(version))?;
        self.rows.push(Row {
            version: version.to_owned(),
            clock,
            runs: times.len(),
            time: times[times.len() / 2],
            range: [times[0], times[times.len() - 1]],
            share: 1.0,
            changed: changed.to_owned(),
            remark,
            occupancy: None,
        });
        Ok(())
    }

    /// Fails if the check of the version that has just run failed, else adds its remark: for results
    /// that its work has borrowed.
    ///
    /// # Errors
    /// The error of the check.
    pub fn checked(&mut self, outcome: Result<String>) -> Result<()> {
        let row = self.rows.last_mut().context("no version has run")?;
        row.remark = outcome.with_context(|| not_right(&row.version))?;
        Ok(())
    }

    /// Keeps the occupancy of the version that has just run, which launches this kernel.
    ///
    /// # Errors
    /// If the device cannot tell.
    pub fn occupancy<A: KernelArgs>(
        &mut self,
        kernel: &Kernel<A>,
        config: LaunchConfig,
    ) -> Result<()> {
        if let (true, Some(row)) = (self.setup.has_kernels(), self.rows.last_mut()) {
            let (device, bytes) = (&self.setup.device, config.shared_bytes);
            row.occupancy = Some(device.occupancy(&KERNELS, kernel, config.block, bytes)?);
        }
        Ok(())
    }

    /// Adds a sweep: `time` returns a time for a line and a value of the parameter, by
    /// [`time`](Self::time), or nothing if they do not go together.
    ///
    /// # Errors
    /// The errors of `time`.
    pub fn sweep<L>(
        &mut self,
        plan: Plan<L>,
        mut time: impl FnMut(&Climb, &L, u32) -> Result<Option<Duration>>,
    ) -> Result<()> {
        let mut lines = Vec::new();
        for (name, line) in plan.lines {
            let mut times = Vec::new();
            for &value in plan.values {
                let what = format!("{}: {name}, {value} {}", plan.title, plan.parameter);
                self.say(&what);
                times.push(time(self, line, value).with_context(|| format!("{what} failed"))?);
            }
            let name = name.clone();
            lines.push(Line { name, times });
        }
        self.sweeps.push(Sweep {
            title: plan.title.to_owned(),
            clock: plan.clock,
            parameter: plan.parameter,
            axis: plan.axis,
            values: plan.values.to_vec(),
            lines,
        });
        Ok(())
    }

    /// The median time of a point of a sweep.
    ///
    /// # Errors
    /// The errors of `work`.
    pub fn time(&self, clock: Clock, work: impl FnMut() -> Result<()>) -> Result<Duration> {
        let runs = self.setup.runs.min(SWEEP_RUNS);
        let (times, ()) = times(self.setup, runs, clock, true, work)?;
        Ok(times[times.len() / 2])
    }

    /// Ends the ladder.
    pub fn finish(self) -> Ladder {
        self.bar.finish_and_clear();
        Ladder {
            title: self.title,
            device: self.setup.device.info().to_string(),
            rows: self.rows,
            sweeps: self.sweeps,
        }
    }
}

fn not_right(version: &str) -> String {
    format!("the version {version} is not right")
}
