//! The output of a subcommand: its summary as a table or as JSON, and its errors.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

/// The form in which summaries are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As text for people.
    #[default]
    Table,
    /// As one JSON object on one line.
    Json,
    /// Not at all.
    Quiet,
}

static MODE: OnceLock<Mode> = OnceLock::new();

/// Sets the mode of the process, once.
pub fn set_mode(mode: Mode) {
    MODE.get_or_init(|| mode);
}

/// Returns the mode of the process.
pub fn mode() -> Mode {
    MODE.get().copied().unwrap_or_default()
}

/// Whether a result goes to stdout.
static IS_STDOUT_TAKEN: AtomicBool = AtomicBool::new(false);

/// Makes summaries go to stderr from now on, since a result goes to stdout.
pub fn leave_stdout() {
    IS_STDOUT_TAKEN.store(true, Ordering::Relaxed);
}

/// The summary that a subcommand prints at its end. The JSON object has the names of the fields as keys,
/// with units at their ends, such as `_ms` and `_bytes`. `docs/guide/cli.md` lists the keys.
pub trait Summary: Serialize {
    /// Appends the summary as text.
    fn write_table(&self, text: &mut String) -> fmt::Result;
}

/// Appends a line for each output file that there is: what is in which.
pub fn add_files(text: &mut String, files: &[(&str, &Option<String>)]) {
    for (what, path) in files {
        if let Some(path) = path {
            *text += &format!("{what} in {path}\n");
        }
    }
}

/// Prints a summary in the mode of the process, on stdout unless a result goes there.
pub fn show(summary: &impl Summary) -> Result<()> {
    if mode() == Mode::Table {
        let mut text = String::new();
        summary.write_table(&mut text)?;
        print(&text)?;
    }
    show_json(summary)
}

/// Prints a part of a table, unless the mode is another.
pub fn show_text(text: &str) -> Result<()> {
    match mode() {
        Mode::Table => print(text),
        Mode::Json | Mode::Quiet => Ok(()),
    }
}

/// An object with all warnings so far.
#[derive(Serialize)]
struct Warned<'a, T> {
    #[serde(flatten)]
    object: &'a T,
    warnings: &'a [String],
}

/// Prints an object with the warnings of the process, if the mode is JSON.
pub fn show_json(object: &impl Serialize) -> Result<()> {
    match mode() {
        Mode::Json => {
            let warnings = &*WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
            let text = serde_json::to_string(&Warned { object, warnings })?;
            print(&(text + "\n"))
        }
        Mode::Table | Mode::Quiet => Ok(()),
    }
}

/// The sentences of [`warn`], for JSON.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Prints a sentence about doubtful input on stderr, unless the mode is quiet, and keeps it for the JSON
/// object.
pub fn warn(sentence: &str) {
    if mode() == Mode::Json {
        let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(sentence.to_owned());
    }
    if mode() != Mode::Quiet {
        say(format_args!("warning: {sentence}"));
    }
}

/// Prints a sentence about what was assumed of the input on stderr if the mode is quiet: in others
/// the summary has it.
pub fn note_if_quiet(sentence: &str) {
    if mode() == Mode::Quiet {
        say(format_args!("note: {sentence}"));
    }
}

/// Prints a line on stderr, if it is not closed.
fn say(line: fmt::Arguments) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Adds the time that `work` takes.
pub fn timed<V>(sum: &mut Duration, work: impl FnOnce() -> V) -> V {
    let start = Instant::now();
    let value = work();
    *sum += start.elapsed();
    value
}

/// Returns a time in milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns how many a second `count` in `milliseconds` are; `None` if there are none, or if the
/// clock is too coarse.
pub fn per_second(count: f64, milliseconds: f64) -> Option<f64> {
    let rate = count / (milliseconds * 1e-3);
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// The range of some numbers.
#[derive(Serialize)]
pub struct Range {
    /// The least number.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest number.
    pub greatest: f64,
}

/// A mistake in the command line that clap does not find: the program ends with clap's exit code.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Refuses `--json` for `output`, which is not a summary.
pub fn refuse_json(output: &str) -> Result<()> {
    if mode() == Mode::Json {
        let said = format!("{output} is no summary that --json could print: leave out --json");
        bail!(UsageError(said));
    }
    Ok(())
}

/// Returns how a program ends that did this; an error is printed on stderr.
pub fn exit_code(done: Result<()>) -> ExitCode {
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    let is_unavailable = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref();
        matches!(cause, Some(gridstride::Error::Unavailable { .. }))
    };
    let advice = match error.chain().any(is_unavailable) {
        true => "; `gridstride devices` shows what there is, and why the rest is not",
        false => "",
    };
    say(format_args!("error: {error:#}{advice}"));
    match error.is::<UsageError>() {
        true => ExitCode::from(2),
        false => ExitCode::FAILURE,
    }
}

/// Prints `text` on stdout, or on stderr if a result goes to stdout.
pub fn print(text: &str) -> Result<()> {
    if IS_STDOUT_TAKEN.load(Ordering::Relaxed) {
        return io::stderr()
            .write_all(text.as_bytes())
            .context("cannot write to stderr");
    }
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has read enough: `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}

/// The most memory that this process has had, in bytes, where the system tells (Linux).
#[derive(Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct PeakMemory(Option<u64>);

impl PeakMemory {
    /// Returns the peak until now.
    pub fn now() -> PeakMemory {
        let peak = || {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))?;
            let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kibibytes << 10)
        };
        PeakMemory(peak())
    }
}

/// Formats the memory as the end of a line, or not at all if it is unknown.
impl fmt::Display for PeakMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "; peak memory {:.1} MiB", bytes as f64 / 1048576.0),
            None => Ok(()),
        }
    }
}
