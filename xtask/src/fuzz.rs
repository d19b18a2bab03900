//! The fuzz targets: `fuzz/fuzz_targets` has a program for each.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::thread;

use clap::ValueEnum;

use crate::table::Table;
use crate::{Result, workspace};

/// The options that `cargo fuzz` passes to rustc: libFuzzer's counters of edges and its record of comparisons.
/// Several units would keep the linker from removing duplicates of the counters.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// The profile of the workspace that compiles them, and its folder.
const PROFILE: &str = "fuzz";

/// Limits of an input. libFuzzer reports an input beyond them as a failure.
const INPUT_LIMITS: [&str; 3] = ["-timeout=30", "-rss_limit_mb=4096", "-max_len=65536"];

/// Lines of a target's output that are shown behind a finding.
const SHOWN: usize = 40;

#[derive(clap::Args)]
pub struct Options {
    /// Seconds for each target, at least 1.
    // libFuzzer takes 0 for no end.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Targets that run side by side; as many as there are cores by default.
    #[arg(long)]
    jobs: Option<usize>,
    /// The start of libFuzzer's random numbers: the same inputs are tried, as far as the time is enough.
    /// At least 1; another one each time by default.
    // libFuzzer takes 0 for none.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seed: Option<u32>,
    /// The nightly compiler, by its name in rustup.
    #[arg(long, default_value = "nightly")]
    toolchain: String,
    /// A sanitizer beside libFuzzer's own checks. Not for simulator_launch and calls_simulator, since
    /// it does not know the stacks of the simulator.
    #[arg(long)]
    sanitizer: Option<Sanitizer>,
    /// Instead of fuzzing, copy to `fuzz/corpus` the inputs of `fuzz/target/found` that reach code
    /// that the corpus does not reach. Their names are hashes.
    #[arg(long, conflicts_with_all = ["seconds", "jobs", "seed"])]
    merge: bool,
    /// Targets, by the names of their files; all by default.
    targets: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sanitizer {
    Address,
}

/// A program, and where its files are.
struct Target {
    name: String,
    program: PathBuf,
    /// The corpus of the repository.
    seeds: PathBuf,
    /// Inputs that runs on this machine have found.
    found: PathBuf,
    /// Inputs that fail.
    artifacts: PathBuf,
}

/// The result of a run.
struct Run {
    status: ExitStatus,
    output: String,
}

/// Builds the targets, and runs them for some time or merges their corpora.
///
/// # Errors
/// If an input fails.
pub fn run(options: &Options) -> Result<()> {
    let targets = build(options)?;
    match options.merge {
        true => targets.iter().try_for_each(merge),
        false => fuzz(&targets, options),
    }
}

/// Returns the names of all targets, in alphabetical order.
fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Builds the chosen targets.
fn build(options: &Options) -> Result<Vec<Target>> {
    let all = names()?;
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        return Err(format!("there is no target {unknown}, but {}", all.join(", ")).into());
    }
    let chosen = match options.targets.is_empty() {
        true => all,
        false => options.targets.clone(),
    };
    let host = host(&options.toolchain)?;
    let (flags, folder) = match options.sanitizer {
        None => (FLAGS.to_owned(), "target"),
        Some(Sanitizer::Address) => (format!("{FLAGS} -Zsanitizer=address"), "target/address"),
    };
    let root = workspace().join("fuzz");
    let mut cargo = Command::new("rustup");
    cargo
        .args(["run", &options.toolchain, "cargo", "build"])
        .args(["--profile", PROFILE])
        // With a target, build scripts and macros are compiled without the flags.
        .args(["--target", &host])
        .args(chosen.iter().flat_map(|name| ["--bin", name]))
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", root.join(folder))
        .current_dir(&root);
    if !cargo.status()?.success() {
        return Err(format!("{cargo:?} fails").into());
    }
    let programs = root.join(folder).join(host).join(PROFILE);
    let target = |name: String| Target {
        program: programs.join(&name),
        seeds: root.join("corpus").join(&name),
        found: root.join("target/found").join(&name),
        artifacts: root.join("artifacts").join(&name),
        name,
    };
    Ok(chosen.into_iter().map(target).collect())
}

/// Returns the name of this machine's target.
fn host(toolchain: &str) -> Result<String> {
    let mut rustc = Command::new("rustup");
    rustc.args(["run", toolchain, "rustc", "--print", "host-tuple"]);
    let output = rustc.output()?;
    if !output.status.success() {
        let advice = "`rustup toolchain install nightly` installs a nightly compiler";
        return Err(format!("{rustc:?} fails: {advice}").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn fuzz(targets: &[Target], options: &Options) -> Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = options.jobs.unwrap_or(cores).max(1);
    let waiting = Mutex::new(targets.iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no panic").next();
                    let Some((index, target)) = next else { return };
                    let run = target.run(options);
                    done.lock().expect("no panic").push((index, run));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort_unstable_by_key(|(index, _)| *index);

    let headings = [
        "target",
        "executions",
        "per second",
        "edges",
        "corpus",
        "result",
    ];
    let mut table = Table::new(&headings);
    let mut failed = Vec::new();
    for (target, (_, run)) in targets.iter().zip(done) {
        let run = run?;
        let result = match run.status.success() {
            true => "passed",
            false => "FAILED",
        };
        let statistic = |name: &str| run.statistic(name).unwrap_or_default();
        table.add(vec![
            target.name.clone(),
            statistic("number_of_executed_units:"),
            statistic("average_exec_per_sec:"),
            run.last("cov: ").unwrap_or_default(),
            run.last("corp: ").unwrap_or_default(),
            result.to_owned(),
        ]);
        if !run.status.success() {
            failed.push((target, run));
        }
    }
    table.print();
    for (target, run) in &failed {
        target.explain(run);
    }
    match failed.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {} targets failed", targets.len()).into()),
    }
}

/// Adds to the corpus of the repository.
fn merge(target: &Target) -> Result<()> {
    fs::create_dir_all(&target.seeds)?;
    fs::create_dir_all(&target.found)?;
    let mut program = Command::new(&target.program);
    program
        .arg("-merge=1")
        .args([&target.seeds, &target.found])
        .current_dir(workspace().join("fuzz"));
    match program.status()?.success() {
        true => Ok(()),
        false => Err(format!("{program:?} fails").into()),
    }
}

impl Target {
    /// Runs the program. Inputs that reach something new are kept in `found`.
    fn run(&self, options: &Options) -> io::Result<Run> {
        for folder in [&self.seeds, &self.found, &self.artifacts] {
            fs::create_dir_all(folder)?;
        }
        let log = self.found.with_extension("log");
        let status = Command::new(&self.program)
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-seed={}", options.seed.unwrap_or(0)))
            .arg(format!("-artifact_prefix={}/", self.artifacts.display()))
            .arg("-print_final_stats=1")
            .args(INPUT_LIMITS)
            .args([&self.found, &self.seeds])
            // Targets run side by side, and threads take longer to start than an input takes.
            .env("RAYON_NUM_THREADS", "1")
            .current_dir(workspace().join("fuzz"))
            .stderr(File::create(&log)?)
            .status()?;
        let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
        Ok(Run { status, output })
    }

    /// Prints what an input did, and how to run it again.
    fn explain(&self, run: &Run) {
        let lines: Vec<_> = run.output.lines().collect();
        println!("\n{}:", self.name);
        for line in &lines[lines.len().saturating_sub(SHOWN)..] {
            println!("    {line}");
        }
        let mut written = lines.iter().rev();
        let written = written.find_map(|line| line.split_once("Test unit written to "));
        if let Some((_, file)) = written {
            let file = Path::new(file.trim());
            let program = format!("RAYON_NUM_THREADS=1 '{}'", self.program.display());
            let limits = INPUT_LIMITS.join(" ");
            println!("To run this input again, and to make it smaller for a minute at a time:");
            println!("    {program} {limits} '{}'", file.display());
            let smaller = file.with_extension("small");
            println!(
                "    {program} {limits} -minimize_crash=1 -max_total_time=60 -exact_artifact_path='{}' '{}'",
                smaller.display(),
                file.display(),
            );
        }
    }
}

impl Run {
    /// Returns a number of libFuzzer's statistics at the end.
    fn statistic(&self, name: &str) -> Option<String> {
        let mut lines = self.output.lines().rev();
        let value = lines.find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name))?;
        Some(value.trim().to_owned())
    }

    /// Returns the number behind a word in the last line that has it.
    fn last(&self, word: &str) -> Option<String> {
        let at = self.output.rfind(word)? + word.len();
        let rest = &self.output[at..];
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        Some(rest[..end].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn a_run_has_an_end_and_a_seed() {
        let parsed = |words: &[&str]| {
            let parsed = Arguments::try_parse_from(["fuzz"].iter().chain(words));
            parsed.map(|parsed| (parsed.options.seconds, parsed.options.seed))
        };
        assert_eq!(parsed(&[]).unwrap(), (60, None));
        assert_eq!(
            parsed(&["--seconds", "1", "--seed", "1"]).unwrap(),
            (1, Some(1))
        );
        for option in ["--seconds", "--seed"] {
            assert!(parsed(&[option, "0"]).is_err(), "{option}");
        }
    }

    #[test]
    fn numbers_are_read_from_the_output() {
        let output = "\
#2	INITED cov: 31 ft: 32 corp: 1/1b exec/s: 0 rss: 31Mb
#65536	DONE   cov: 412 ft: 980 corp: 77/1234b lim: 4096 exec/s: 6553 rss: 40Mb
stat::number_of_executed_units: 65536
stat::average_exec_per_sec:     6553
";
        let run = Run {
            status: ExitStatus::default(),
            output: output.to_owned(),
        };
        let number = |name| run.statistic(name);
        assert_eq!(
            number("number_of_executed_units:").as_deref(),
            Some("65536")
        );
        assert_eq!(number("average_exec_per_sec:").as_deref(), Some("6553"));
        assert_eq!(run.last("cov: ").as_deref(), Some("412"));
        assert_eq!(run.last("corp: ").as_deref(), Some("77"));
        assert_eq!(run.last("none: "), None);
    }

    /// `cargo fuzz` and this program find the targets in two places.
    #[test]
    fn every_target_is_in_the_manifest() {
        let manifest = fs::read_to_string(workspace().join("fuzz/Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let programs = manifest["bin"].as_array().unwrap().iter();
        let mut listed: Vec<_> = programs
            .map(|program| program["name"].as_str().unwrap().to_owned())
            .collect();
        listed.sort_unstable();
        assert_eq!(listed, names().unwrap());
    }

    /// A corpus without a target is left over.
    #[test]
    fn every_target_has_a_small_corpus() {
        let corpus = workspace().join("fuzz/corpus");
        let size = |folder: &Path| -> u64 {
            let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
            files.map(|file| file.metadata().unwrap().len()).sum()
        };
        let sizes = names().unwrap().into_iter();
        let sizes = sizes.map(|name| size(&corpus.join(name)));
        assert!(sizes.clone().all(|size| size > 0));
        assert!(sizes.sum::<u64>() < 200 << 10);
        let folders = fs::read_dir(&corpus).unwrap();
        let folders = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
        let mut folders = Vec::from_iter(folders);
        folders.sort_unstable();
        assert_eq!(folders, names().unwrap());
    }
}
