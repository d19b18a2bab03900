//! Measures the library and its peers, keeps the results, and compares them with earlier ones.

mod against;
mod command;
mod machine;
mod origin;
mod peers;
mod programs;
pub mod results;
pub mod steps;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum};
use figures::{Clock, Measured};

use crate::{Result, pages, plot, workspace};
pub use command::FOLDER;
use command::{Line, Program};
use machine::Machine;
use origin::peer_source;
pub use origin::{ORIGIN, Origin};
use peers::{Need, Peers};
use programs::Programs;
use results::{OURS, RESULTS, Results, Row};
use steps::Step;

/// For temporary files: rows, boxes, sequences and compiled peers.
const SCRATCH: &str = "target/bench";

/// For the plots that programs draw, beside the rows.
const PLOTS: &str = "plots";

/// The measurements, and what is done with their results.
#[derive(Args)]
pub struct Options {
    /// Steps, or the groups `kernels`, `articles` and `cpu`; all by default.
    names: Vec<String>,
    /// Show the steps and their commands, and run nothing.
    #[arg(long)]
    list: bool,
    /// Take the programs of this folder, that of `cargo xtask bundle`, instead of building them; its parent has the folders
    /// benches, docs and examples.
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    /// Measure only the steps that have no rows, or rows of older kernels.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Measure peers again that have rows of the same version on the same device.
    #[arg(long)]
    peers: bool,
    /// Take three runs of each measurement, to see that all works.
    #[arg(long, conflicts_with = "record")]
    quick: bool,
    /// Write the rows to this file, and the programs' plots into a folder `plots` beside it.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/bench_results/rows.json"
    )]
    out: PathBuf,
    /// Measure nothing: take the rows that another run has written to this file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bundle", "only", "peers", "quick", "out"])]
    from: Option<PathBuf>,
    /// Compare with the rows of this file, such as docs/benchmarks/results.json: print those outside of their spread, and fail
    /// if a row has become slower by 3% or more.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Put the rows into docs/benchmarks/results.json, and write the pages and plots anew.
    #[arg(long)]
    record: bool,
}

/// Parts of the steps.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Only {
    /// Those whose rows are missing, or older than their kernels.
    Changed,
}

/// Measures, or takes what was measured, and compares and records it.
///
/// # Errors
/// If one of our programs failed, after all others have run; if rows have become slower.
pub fn run(options: &Options) -> Result<()> {
    let (today, failed) = match &options.from {
        Some(path) if !path.exists() => {
            return Err(format!("there is no {}", path.display()).into());
        }
        Some(path) => (Results::read(path)?, Vec::new()),
        None => match measure(options)? {
            Some(measured) => measured,
            None => return Ok(()),
        },
    };
    let mut slower = 0;
    if let Some(path) = &options.against {
        let earlier = Results::read(path)?;
        let changes = against::changes(&today, &earlier);
        for change in &changes {
            println!("{}", change.text());
        }
        println!(
            "{} of {} rows are outside of their spread",
            changes.len(),
            today.rows().len()
        );
        slower = changes.iter().filter(|change| change.is_slower()).count();
    }
    if options.record {
        let rows = options.from.as_ref().unwrap_or(&options.out);
        record(today, &rows.with_file_name(PLOTS))?;
    }
    match (failed.is_empty(), slower) {
        (false, _) => Err(format!("failed: {}", failed.join("; ")).into()),
        (true, 0) => Ok(()),
        (true, slower) => Err(format!("{slower} rows are slower").into()),
    }
}

/// Puts rows into the file of results, and makes the pages and plots from it.
fn record(today: Results, plots: &Path) -> Result<()> {
    let path = workspace().join(RESULTS);
    let mut results = Results::read(&path)?;
    // Rows of two kinds of cards cannot be compared.
    let gpu = |results: &Results| {
        let on_gpu = results.rows().iter().find(|row| row.driver.is_some());
        on_gpu.map(|row| row.device.clone())
    };
    if let (Some(new), Some(old)) = (gpu(&today), gpu(&results))
        && new != old
    {
        return Err(format!(
            "{RESULTS} has rows of {old}, and these are of {new}: remove it to begin anew"
        )
        .into());
    }
    results.take(today);
    results.write(&path)?;
    if plots.exists() {
        for entry in fs::read_dir(plots)? {
            let plot = entry?;
            fs::copy(plot.path(), workspace().join(FOLDER).join(plot.file_name()))?;
        }
    }
    show(results)
}

/// Makes the pages and plots from the file of results.
///
/// # Errors
/// If a page names a row that does not exist.
pub fn pages() -> Result<()> {
    show(Results::read(&workspace().join(RESULTS))?)
}

fn show(results: Results) -> Result<()> {
    plot::draw(&results, &workspace().join(FOLDER))?;
    pages::write(results)
}

/// Runs the steps, and returns the rows and the commands of ours that failed; nothing if the steps are only listed.
fn measure(options: &Options) -> Result<Option<(Results, Vec<String>)>> {
    let bundle = options.bundle.as_ref().map(|path| path.canonicalize());
    let bundle = bundle.transpose()?;
    let root = match &bundle {
        Some(bundle) => bundle.parent().unwrap_or(bundle).to_owned(),
        None => workspace(),
    };
    let recorded = Results::read(&root.join(RESULTS))?;
    let mut steps = steps::select(&options.names)?;
    if options.list {
        // Programs run beside the bundle's folder, from where its name suffices.
        let bundle = bundle.as_ref().and_then(|path| path.file_name());
        list(&steps, bundle.map(Path::new));
        return Ok(None);
    }
    let origin = match &bundle {
        Some(bundle) => Origin::of_bundle(bundle)?,
        None => Origin::of_workspace()?,
    };
    if options.only == Some(Only::Changed) {
        steps.retain(|step| {
            let mut rows = recorded
                .of_step(step.name)
                .filter(|row| row.is_ours())
                .peekable();
            rows.peek().is_none() || rows.any(|row| row.is_older_than(&origin))
        });
    }
    // Files of an interrupted run may be of another machine.
    let scratch = root.join(SCRATCH);
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    let out = std::path::absolute(&options.out)?;
    let plots = out.with_file_name(PLOTS);
    for folder in [&plots, &scratch] {
        fs::create_dir_all(folder)?;
    }
    let lines = |step: &Step| -> Vec<Line> {
        let lines = step.commands.iter().map(|text| Line::parse(text));
        let lines = lines.map(|line| if options.quick { line.quick() } else { line });
        lines
            .map(|line| line.with_folder(&plots.to_string_lossy()))
            .collect()
    };
    let lines: Vec<_> = steps.iter().map(|step| lines(step)).collect();
    let programs = match &bundle {
        Some(bundle) => Programs::Bundle(bundle.clone()),
        None => Programs::build(lines.iter().flatten())?,
    };
    let mut bench = Bench {
        machine: Machine::look(),
        date: peers::output(Command::new("date").args(["-u", "+%F"])).unwrap_or_default(),
        peers: Peers::default(),
        keeps_peers: !options.peers,
        out,
        measured: Results::default(),
        failed: Vec::new(),
        recorded,
        origin,
        programs,
        root,
    };
    for (number, (step, lines)) in steps.iter().zip(&lines).enumerate() {
        println!(
            "\n{} of {}: {} ({})",
            number + 1,
            steps.len(),
            step.title,
            step.name
        );
        let start = Instant::now();
        bench.step(step, lines)?;
        println!("{} took {:.0} s", step.name, start.elapsed().as_secs_f64());
    }
    fs::remove_dir_all(scratch)?;
    println!(
        "\n{} rows are in {}",
        bench.measured.rows().len(),
        bench.out.display()
    );
    Ok(Some((bench.measured, bench.failed)))
}

fn list(steps: &[&Step], bundle: Option<&Path>) {
    for step in steps {
        println!("{} ({}): {}", step.name, step.group, step.title);
        for text in &step.commands {
            println!("    {}", Line::parse(text).text(bundle));
        }
    }
}

struct Bench {
    machine: Machine,
    date: String,
    origin: Origin,
    peers: Peers,
    /// Whether peers that cannot have changed are left out.
    keeps_peers: bool,
    programs: Programs,
    /// Where the programs run.
    root: PathBuf,
    /// The rows of earlier runs.
    recorded: Results,
    measured: Results,
    /// The file of the measured rows, which is written after each step: nothing is lost if a run is interrupted.
    out: PathBuf,
    /// Commands of ours that failed.
    failed: Vec<String>,
}

impl Bench {
    fn step(&mut self, step: &Step, lines: &[Line]) -> Result<()> {
        for line in lines {
            let text = line.text(None);
            let need = line.need();
            let version = match need {
                Some(need) => match self.peers.version(need) {
                    Some(version) => Some(version),
                    None => {
                        println!("skipped, as there is no {}: {text}", need.name());
                        // What follows needs its output.
                        if line.is_preparation() {
                            break;
                        }
                        continue;
                    }
                },
                None => None,
            };
            let is_kept = |version: &String| self.is_kept(step, line, version);
            if self.keeps_peers && version.as_ref().is_some_and(is_kept) {
                println!("kept, as its version is the same: {text}");
                continue;
            }
            println!("    {text}");
            let start = Instant::now();
            let done = self.line(line);
            println!("    which took {:.0} s", start.elapsed().as_secs_f64());
            match done {
                Ok(rows) => rows
                    .into_iter()
                    .for_each(|row| self.add(step, line, version.as_deref(), row)),
                Err(error) if need.is_some() => println!("this peer gave no figures: {error}"),
                Err(error) => {
                    println!("failed: {error}");
                    self.failed.push(text);
                }
            }
        }
        self.measured.write(&self.out)
    }

    /// Whether there are rows of a peer's program, its version and this device.
    fn is_kept(&self, step: &Step, line: &Line, version: &str) -> bool {
        let (device, _) = self.device(line);
        let source = self.peer_source(line, version);
        let mut rows = self.recorded.of_step(step.name);
        // Programs that measure gridstride too have rows of it.
        !line.need().is_some_and(Need::is_with_us)
            && source.is_some()
            && rows.any(|row| row.source == source && row.device == device)
    }

    fn peer_source(&self, line: &Line, version: &str) -> Option<String> {
        match &line.program {
            Program::Other(program) => peer_source(&self.root, program, &line.arguments, version),
            Program::Ours(..) => None,
        }
    }

    /// The device of a line, and its driver.
    fn device(&self, line: &Line) -> (String, Option<String>) {
        match self.machine.gpu().filter(|_| line.is_on_gpu()) {
            Some((name, driver)) => (name.clone(), Some(driver.clone())),
            None => (self.machine.host(), None),
        }
    }

    fn add(&mut self, step: &Step, line: &Line, version: Option<&str>, mut measured: Measured) {
        let (device, driver) = self.device(line);
        let source = match version {
            Some(version) if !measured.program.starts_with(OURS) => self.peer_source(line, version),
            _ => self.origin.source(step.name, driver.is_some()),
        };
        if let Some(version) = version {
            measured.version.get_or_insert_with(|| version.to_owned());
        }
        self.measured.add(Row {
            step: step.name.to_owned(),
            measured,
            device,
            driver,
            host: self.machine.host(),
            date: self.date.clone(),
            commit: self.origin.commit.clone(),
            source,
        });
    }

    /// Runs a line, and returns the rows that its program has written, or that its processes are.
    fn line(&self, line: &Line) -> Result<Vec<Measured>> {
        let path = match &line.program {
            Program::Ours(folder, name) => self.programs.path(folder, name)?,
            Program::Other(program) if program.contains('/') => self.root.join(program),
            Program::Other(program) => PathBuf::from(program),
        };
        let rows = self.root.join(SCRATCH).join("rows.jsonl");
        if rows.exists() {
            fs::remove_file(&rows)?;
        }
        let mut times = Vec::new();
        for _ in 0..line.times {
            let mut command = Command::new(&path);
            command.args(&line.arguments).current_dir(&self.root);
            // As under cargo.
            command.env("CARGO_MANIFEST_DIR", &self.root);
            command.env(figures::FILE, &rows);
            if line.case.is_some() {
                command.stdout(Stdio::null());
            }
            let start = Instant::now();
            let status = command
                .status()
                .map_err(|error| format!("cannot run {}: {error}", path.display()))?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            if !status.success() {
                return Err(status.to_string().into());
            }
        }
        if let Some(case) = &line.case {
            let row = Measured::new(case, Clock::Process, times);
            println!("{row}");
            return Ok(vec![row]);
        }
        if !rows.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&rows)?;
        let rows: serde_json::Result<_> = text.lines().map(serde_json::from_str).collect();
        Ok(rows.map_err(|error| format!("a row is not as expected: {error}"))?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn options(root: &Path, names: &[&str]) -> Options {
        Options {
            names: names.iter().map(ToString::to_string).collect(),
            list: false,
            bundle: Some(root.join("gpu-bundle")),
            only: None,
            peers: false,
            quick: false,
            out: root.join("rows.json"),
            from: None,
            against: None,
            record: false,
        }
    }

    /// A bundle whose programs are scripts.
    fn bundle(programs: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, script) in programs {
            let path = root.path().join("gpu-bundle").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let origin = serde_json::to_string(&Origin::of_workspace().unwrap()).unwrap();
        fs::write(root.path().join("gpu-bundle").join(ORIGIN), origin).unwrap();
        root
    }

    const ROW: &str = r#"echo '{"case": "a", "program": "gridstride", "clock": "call", "median_ms": 2, "least_ms": 1, "most_ms": 3, "runs": 3}' >> $GRIDSTRIDE_BENCH_ROWS"#;

    #[test]
    fn rows_get_their_step_and_machine() {
        let root = bundle(&[("benches/matmul_cpu", ROW)]);
        run(&options(root.path(), &["matmul_cpu"])).unwrap();
        let results = Results::read(&root.path().join("rows.json")).unwrap();
        let [row] = results.rows() else {
            panic!("{results:?}");
        };
        assert_eq!(
            (row.step.as_str(), row.measured.case.as_str()),
            ("matmul_cpu", "a")
        );
        assert_eq!(row.device, Machine::look().host());
        assert!(row.driver.is_none() && !row.is_older_than(&Origin::of_workspace().unwrap()));
        assert!(row.date.len() == 10 && !row.commit.is_empty());
        assert!(!root.path().join(SCRATCH).exists());
    }

    #[test]
    fn slower_rows_fail() {
        let root = bundle(&[("benches/matmul_cpu", ROW)]);
        let mut options = options(root.path(), &["matmul_cpu"]);
        run(&options).unwrap();
        let faster = root.path().join("faster.json");
        let text = fs::read_to_string(root.path().join("rows.json")).unwrap();
        fs::write(
            &faster,
            text.replace(r#""most_ms":3.0"#, r#""most_ms":0.5"#),
        )
        .unwrap();
        options.against = Some(root.path().join("rows.json"));
        run(&options).unwrap();
        options.against = Some(faster);
        options.from = Some(root.path().join("rows.json"));
        // The median is the same, so that the row is outside of its spread, but not slower.
        run(&options).unwrap();
        let text = fs::read_to_string(root.path().join("faster.json")).unwrap();
        fs::write(
            root.path().join("faster.json"),
            text.replace(r#""median_ms":2.0"#, r#""median_ms":0.4"#),
        )
        .unwrap();
        let error = run(&options).unwrap_err().to_string();
        assert_eq!(error, "1 rows are slower");
    }

    #[test]
    fn files_of_an_interrupted_run_are_not_used() {
        let root = bundle(&[("benches/matmul_cpu", "! test -e target/bench/boxes")]);
        let scratch = root.path().join(SCRATCH);
        fs::create_dir_all(&scratch).unwrap();
        fs::write(scratch.join("boxes"), "of another machine").unwrap();
        run(&options(root.path(), &["matmul_cpu"])).unwrap();
    }

    #[test]
    fn a_failure_is_named_after_all_others_have_run() {
        let root = bundle(&[
            ("benches/matmul_cpu", "exit 3"),
            ("benches/time_series_cpu", ROW),
        ]);
        let names = ["matmul_cpu", "time_series_cpu"];
        let error = run(&options(root.path(), &names)).unwrap_err().to_string();
        assert!(error.contains("--bench matmul_cpu"), "{error}");
        let results = Results::read(&root.path().join("rows.json")).unwrap();
        assert!(results.of_step("time_series_cpu").count() > 0);
    }

    #[test]
    fn kept_rows_are_not_measured_again() {
        let root = bundle(&[("benches/matmul_cpu", ROW)]);
        let mut options = options(root.path(), &["matmul_cpu"]);
        run(&options).unwrap();
        let recorded = root.path().join(RESULTS);
        fs::create_dir_all(recorded.parent().unwrap()).unwrap();
        fs::rename(root.path().join("rows.json"), recorded).unwrap();
        options.only = Some(Only::Changed);
        run(&options).unwrap();
        let results = Results::read(&root.path().join("rows.json")).unwrap();
        assert!(results.rows().is_empty());
    }
}
