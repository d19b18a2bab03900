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

/// The place where a version computes, which decides whether it runs and what its time includes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Cpu,
    Kernel,
    WithCopies,
    Library,
}

/// A ladder as it is climbed.
pub struct Climb<'a> {
    setup: &'a Setup,
    rows: Vec<Row>,
    sweeps: Vec<Sweep>,
    title: String,
    variant: String,
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
            variant: String::new(),
            bar,
        }
    }

    /// Says what is not as by default, as the names of versions do not.
    pub fn variant(self, variant: String) -> Climb<'a> {
        Climb { variant, ..self }
    }

    /// Says on a terminal what is being done between the rows.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// A version on the CPU, which runs only if such versions were asked for. `check` fails if the
    /// result is wrong, and otherwise returns a remark, which may be empty.
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
        self.add(Kind::Cpu, share, version, changed, work, check)
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
        self.add(Kind::Kernel, 1.0, version, changed, work, check)
    }

    /// A version whose time includes copies. All of them have to be done when `work` returns.
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
        self.add(Kind::WithCopies, 1.0, version, changed, work, check)
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
        self.add(Kind::Library, 1.0, version, changed, work, check)
    }

    fn add<R>(
        &mut self,
        kind: Kind,
        share: f64,
        version: &str,
        changed: &str,
        work: impl FnMut() -> Result<R>,
        check: impl FnOnce(R) -> Result<String>,
    ) -> Result<()> {
        let has_kernels = self.setup.has_kernels();
        let (clock, is_wanted) = match kind {
            Kind::Cpu => (Clock::WholeCall, self.setup.has_cpu_rows),
            Kind::Kernel => (Clock::Kernel, has_kernels),
            Kind::WithCopies => (Clock::WholeCall, has_kernels),
            Kind::Library if has_kernels => (Clock::Kernel, true),
            Kind::Library => (Clock::WholeCall, true),
        };
        if !is_wanted {
            return Ok(());
        }
        self.say(version);
        let (runs, uses_device) = (self.setup.runs, kind != Kind::Cpu);
        let (times, result) = times(self.setup, runs, clock, uses_device, work)
            .with_context(|| format!("the version {version} failed"))?;
        let remark = check(result).with_context(|| not_right(version))?;
        let whole = |time: Duration| time.div_f64(share);
        self.rows.push(Row {
            version: version.to_owned(),
            clock,
            runs: times.len(),
            time: whole(times[times.len() / 2]),
            range: [times[0], times[times.len() - 1]].map(whole),
            share,
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
            variant: self.variant,
            device: self.setup.device.info().to_string(),
            rows: self.rows,
            sweeps: self.sweeps,
        }
    }
}

fn not_right(version: &str) -> String {
    format!("the version {version} is not right")
}
