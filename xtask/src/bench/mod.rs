//! Prints the tables of BENCHMARKS.md, the peers' figures among them, and draws the plots.

mod beside;
mod command;
mod machine;
mod peers;
mod programs;
mod report;
mod spread;
mod steps;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;

pub use command::CSV_FOLDER;
use command::{Line, Program};
use machine::Machine;
use peers::{Need, Peers};
use programs::Programs;
use report::Report;
use steps::Step;

use crate::machines::Machines;
use crate::{Result, plot, workspace};

/// For temporary files: boxes, sequences and the compiled CUB.
const SCRATCH: &str = "target/bench";

/// For the plots and CSV files of `--quick`, which are no measurements.
const QUICK: &str = "target/bench_quick";

/// The measurements, and the place of their results.
#[derive(Args)]
pub struct Options {
    /// Steps, or the groups `kernels`, `ladder`, `articles` and `cpu`; all by default.
    names: Vec<String>,
    /// Show the steps and their commands, and run nothing.
    #[arg(long)]
    list: bool,
    /// Take the programs of this folder, that of `cargo xtask bundle`, instead of building them;
    /// its parent has the folders benches, docs and examples.
    #[arg(long, value_name = "FOLDER")]
    bundle: Option<PathBuf>,
    /// Write the tables to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the plots and their CSV files to this folder.
    #[arg(long, value_name = "FOLDER", default_value = CSV_FOLDER)]
    csv_dir: PathBuf,
    /// Take three runs of each measurement, to see that all works. Plots and CSV files go to
    /// target/bench_quick, unless `--csv-dir` names another folder than docs/benchmarks.
    #[arg(long)]
    quick: bool,
}

/// Runs the steps.
///
/// # Errors
/// If one of our programs failed: after all others have run.
pub fn run(options: &Options) -> Result<()> {
    let steps = steps::select(&options.names)?;
    let bundle = options.bundle.as_ref().map(|path| path.canonicalize());
    let bundle = bundle.transpose()?;
    // Programs run beside the bundle's folder, from where its name suffices.
    let bundle_name = bundle.as_ref().and_then(|path| path.file_name());
    let bundle_name = bundle_name.map(PathBuf::from);
    if options.list {
        list(&steps, bundle_name.as_deref());
        return Ok(());
    }
    let root = match &bundle {
        Some(bundle) => bundle.parent().unwrap_or(bundle).to_owned(),
        None => workspace(),
    };
    let is_usual_folder = options.csv_dir == Path::new(CSV_FOLDER);
    let folder = match (is_usual_folder, options.quick) {
        (true, false) => root.join(CSV_FOLDER),
        (true, true) => root.join(QUICK),
        (false, _) => std::path::absolute(&options.csv_dir)?,
    };
    let scratch = root.join(SCRATCH);
    // Files of an interrupted run may be of another machine.
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    for folder in [&folder, &scratch] {
        fs::create_dir_all(folder)?;
    }
    let lines = |step: &Step| -> Vec<Line> {
        let lines = step.commands.iter().map(|text| Line::parse(text));
        let lines = lines.map(|line| if options.quick { line.quick() } else { line });
        lines
            .map(|line| match is_usual_folder && !options.quick {
                true => line,
                false => line.with_csv_folder(&folder.to_string_lossy()),
            })
            .collect()
    };
    let lines: Vec<_> = steps.iter().map(|step| lines(step)).collect();
    let programs = match bundle {
        Some(bundle) => Programs::Bundle(bundle),
        None => Programs::build(lines.iter().flatten())?,
    };
    let mut bench = Bench {
        report: Report::create(options.out.as_deref())?,
        machines: Machines::read(&folder)?,
        machine: Machine::look(),
        peers: Peers::default(),
        programs,
        root,
        bundle_name,
        failed: Vec::new(),
    };
    bench.head(&lines)?;
    for (number, (step, lines)) in steps.iter().zip(&lines).enumerate() {
        bench.step(step, lines, &format!("{} of {}", number + 1, steps.len()))?;
    }
    fs::remove_dir_all(bench.root.join(SCRATCH))?;
    plot::draw(&folder)?;
    match bench.failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", bench.failed.join("; ")).into()),
    }
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
    report: Report,
    machine: Machine,
    machines: Machines,
    peers: Peers,
    programs: Programs,
    /// Where the programs run.
    root: PathBuf,
    bundle_name: Option<PathBuf>,
    /// Commands of ours that failed.
    failed: Vec<String>,
}

impl Bench {
    /// Reports the machine and the installed peers.
    fn head(&mut self, lines: &[Vec<Line>]) -> Result<()> {
        for need in lines.iter().flatten().filter_map(Line::need) {
            self.peers.has(need);
        }
        let mut text = format!("# Benchmarks\n\n{}", self.machine.text());
        let peers = self.peers.text();
        if !peers.is_empty() {
            text += &format!("; {peers}");
        }
        text += ". Times are medians of runs, with the least and the most.";
        self.report.add(&text)
    }

    fn step(&mut self, step: &Step, lines: &[Line], number: &str) -> Result<()> {
        eprintln!("{number}: {}", step.name);
        let start = Instant::now();
        self.report.add(&format!("## {}", step.title))?;
        let mut missing: Vec<Need> = Vec::new();
        for line in lines {
            let need = line.need();
            if let Some(need) = need.filter(|need| !self.peers.has(*need)) {
                // nvcc compiles what the next command runs: one sentence for both.
                if !missing.contains(&need) {
                    self.skip(line, need)?;
                    missing.push(need);
                }
                if line.is_preparation() {
                    break;
                }
                continue;
            }
            let text = line.text(self.bundle_name.as_deref());
            if line.program == Program::Table {
                match self.table(line) {
                    Ok(table) => self.report.add(&table)?,
                    Err(error) => {
                        self.report.add(&format!("**No table:** {error}."))?;
                        self.failed.push(text);
                    }
                }
                continue;
            }
            self.report.add(&format!("    {text}"))?;
            match self.line(line) {
                Ok((output, count)) => self.note(line, &output, count)?,
                Err(error) if need.is_some() => {
                    let files = left(line);
                    self.report
                        .add(&format!("This peer gave no figures: {error}.{files}"))?;
                }
                Err(error) => {
                    self.report.add(&format!("**Failed:** {error}."))?;
                    self.failed.push(text);
                }
            }
        }
        eprintln!(
            "{number}: {} took {:.0} s",
            step.name,
            start.elapsed().as_secs_f64()
        );
        Ok(())
    }

    fn skip(&mut self, line: &Line, need: Need) -> Result<()> {
        let name = need.name();
        let text = line.text(None);
        let files = left(line);
        self.report
            .add(&format!("Skipped, as there is no {name}: `{text}`.{files}"))
    }

    /// The table that a line asks for.
    fn table(&self, line: &Line) -> Result<String> {
        let ladder = line.arguments.first().map_or("", String::as_str);
        let table = beside::table(ladder, &self.root.join(SCRATCH), &self.root)?;
        Ok(table.trim_end().to_owned())
    }

    /// Runs a line the requested number of times, and returns the merged output and how many outputs
    /// it is from.
    fn line(&self, line: &Line) -> Result<(String, usize)> {
        let path = match &line.program {
            Program::Ours(folder, name) => self.programs.path(folder, name)?,
            Program::Other(program) if program.contains('/') => self.root.join(program),
            Program::Other(program) => PathBuf::from(program),
            Program::Table => return Err("a table is no program".into()),
        };
        let is_ours = line.need().is_none();
        let mut outputs = Vec::new();
        for _ in 0..line.times {
            let mut command = Command::new(&path);
            command.args(&line.arguments).current_dir(&self.root);
            // As under cargo.
            command.env("CARGO_MANIFEST_DIR", &self.root);
            if is_ours {
                command.stderr(Stdio::inherit());
            }
            let output = command
                .output()
                .map_err(|error| format!("cannot run {}: {error}", path.display()))?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{}{}", output.status, reason(&said)).into());
            }
            outputs.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(spread::merge(&outputs))
    }

    /// Puts an output where it belongs, and remembers where the plots' files are from.
    fn note(&mut self, line: &Line, output: &str, count: usize) -> Result<()> {
        match &line.to {
            Some(to) => {
                fs::write(self.root.join(to), output)?;
                // Tables show what the files of ladders have.
                if to.ends_with(".csv") {
                    let count = output.lines().count().saturating_sub(1);
                    self.report.add(&format!("{count} measurements in {to}."))?;
                }
            }
            None if output.trim().is_empty() => {}
            None if line.times > 1 => {
                let output = report::markdown(output);
                let runs = match count == line.times {
                    true => format!("{count} runs"),
                    false => format!(
                        "the {count} of {} runs that print the same lines",
                        line.times
                    ),
                };
                let text = format!("Of {runs}, medians with the least and the most:\n\n{output}");
                self.report.add(&text)?;
            }
            None => self.report.add(&report::markdown(output))?,
        }
        let is_on_one_core = line.need() == Some(Need::Shapely);
        let label = self.machine.label(line.is_on_gpu(), is_on_one_core);
        for file in line.files() {
            if let Some(name) = Path::new(file).file_name() {
                self.machines.set(&name.to_string_lossy(), &label)?;
            }
        }
        Ok(())
    }
}

/// The line that tells most of what went wrong: Python's last, or what else has words.
fn reason(said: &str) -> String {
    let is_error = |line: &&str| line.contains("Error");
    let has_words = |line: &&str| line.contains(char::is_alphabetic);
    let found = said.lines().rfind(is_error);
    let found = found.or_else(|| said.lines().rfind(has_words));
    let found = found.map(|line| format!(", {}", line.trim().trim_end_matches(['.', ':'])));
    found.unwrap_or_default()
}

/// A sentence on the files that a command has not written anew.
fn left(line: &Line) -> String {
    let files: Vec<_> = line.files().collect();
    match files.is_empty() {
        true => String::new(),
        false => format!(" {} is not written.", files.join(", ")),
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
            out: Some(root.join("out.md")),
            csv_dir: CSV_FOLDER.into(),
            quick: false,
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
        root
    }

    #[test]
    fn tables_follow_their_commands() {
        let root = bundle(&[(
            "benches/matmul_cpu",
            "echo '| a |'; echo '|---|'; echo '| 1 |'",
        )]);
        run(&options(root.path(), &["matmul_cpu"])).unwrap();
        let text = fs::read_to_string(root.path().join("out.md")).unwrap();
        let expected = "## Matrix multiplication on the CPU, beside ndarray's dot\n\n    gpu-bundle/benches/matmul_cpu\n\n\
             | a |\n|---|\n| 1 |\n\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(!root.path().join(SCRATCH).exists());
    }

    #[test]
    fn files_of_an_interrupted_run_are_not_used() {
        let script = "! test -e target/bench/matmul.numba.jsonl";
        let root = bundle(&[("benches/matmul_cpu", script)]);
        let scratch = root.path().join(SCRATCH);
        fs::create_dir_all(&scratch).unwrap();
        fs::write(scratch.join("matmul.numba.jsonl"), "of another machine").unwrap();
        run(&options(root.path(), &["matmul_cpu"])).unwrap();
    }

    #[test]
    fn a_failure_is_named_after_all_others_have_run() {
        let root = bundle(&[
            ("benches/matmul_cpu", "exit 3"),
            ("benches/time_series_cpu", "echo '| table |'"),
        ]);
        let names = ["matmul_cpu", "time_series_cpu"];
        let error = run(&options(root.path(), &names)).unwrap_err().to_string();
        assert!(error.ends_with("gpu-bundle/benches/matmul_cpu"), "{error}");
        let text = fs::read_to_string(root.path().join("out.md")).unwrap();
        assert!(text.contains("**Failed:** exit status: 3."), "{text}");
        assert_eq!(text.matches("| table |").count(), 2);
    }

    #[test]
    fn reasons_are_lines_with_words() {
        let said = "Traceback\nImportError: no driver:\nwhatever\n:\n";
        assert_eq!(reason(said), ", ImportError: no driver");
        assert_eq!(reason("a is missing.\n\n"), ", a is missing");
        assert_eq!(reason(""), "");
    }

    #[test]
    fn output_goes_to_the_files_of_the_plots() {
        let csv = "echo method,points_per_bucket,ms,gigabytes_per_second; echo mean,1,2,3; echo mean,10,2,4";
        let root = bundle(&[("benches/time_series", csv)]);
        run(&options(root.path(), &["time_series_buckets"])).unwrap();
        let folder = root.path().join(CSV_FOLDER);
        for name in ["time_series.csv", "time_series.svg", "machines.csv"] {
            assert!(folder.join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn a_quick_run_leaves_the_files_of_the_plots() {
        let csv = "echo method,points_per_bucket,ms,gigabytes_per_second; echo mean,1,2,3; echo mean,10,2,4";
        let root = bundle(&[("benches/time_series", csv)]);
        let options = Options {
            quick: true,
            ..options(root.path(), &["time_series_buckets"])
        };
        run(&options).unwrap();
        assert!(root.path().join(QUICK).join("time_series.csv").is_file());
        assert!(!root.path().join(CSV_FOLDER).exists());
    }
}
