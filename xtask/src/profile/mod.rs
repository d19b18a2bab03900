//! Counters of Nsight Compute for the kernels of the ladders: the figures behind each step.

mod counters;
mod figures;
mod ladders;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::Result;
use counters::{COUNTERS, Launch, launches};
use ladders::{PROFILED, Profiled};

pub use figures::notes;

/// The file of the figures, in `docs/benchmarks`.
const FILE: &str = "ladder_profile.tsv";

/// The profiled program, and the folder of the figures.
#[derive(Args)]
pub struct Options {
    /// The program gridstride_learn, built in release with the feature cuda.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "target/release/gridstride_learn"
    )]
    program: PathBuf,
    /// Nsight Compute.
    #[arg(long, value_name = "FILE", default_value = "ncu")]
    ncu: PathBuf,
    /// Write the figures to this file.
    #[arg(
        long,
        value_name = "TSV",
        default_value = "docs/benchmarks/ladder_profile.tsv"
    )]
    out: PathBuf,
    /// Ladders to profile; all by default. The file keeps the lines of the others.
    ladders: Vec<String>,
}

/// Profiles the ladders' kernels one by one, and writes the file.
///
/// # Errors
/// If there is no such ladder, ncu or the program fails, or a kernel is not launched.
pub fn run(options: &Options) -> Result<()> {
    let wanted = wanted(&options.ladders)?;
    let mut text = headings();
    let earlier = match wanted.len() < PROFILED.len() {
        true => earlier(&options.out)?,
        false => String::new(),
    };
    for profiled in &PROFILED {
        if !wanted.contains(&profiled.ladder) {
            text.extend(lines_of(&earlier, profiled.ladder));
            continue;
        }
        for &(kernel, rows) in profiled.kernels {
            eprintln!("{}: {kernel}", profiled.ladder);
            let csv = count(options, profiled, kernel, rows.len())?;
            let launches = launches(&csv, kernel)?;
            if launches.len() < rows.len() {
                let found = launches.len();
                return Err(
                    format!("ncu found {found} launches of {kernel}, not {}", rows.len()).into(),
                );
            }
            for (row, launch) in rows.iter().zip(&launches) {
                text += &line(profiled, row, kernel, launch)?;
            }
        }
    }
    fs::write(&options.out, text)
        .map_err(|error| format!("cannot write {}: {error}", options.out.display()))?;
    println!("{}", options.out.display());
    Ok(())
}

/// The names of the ladders that were asked for: all if there are none.
fn wanted(names: &[String]) -> Result<Vec<&'static str>> {
    let all = PROFILED.map(|profiled| profiled.ladder);
    if let Some(name) = names.iter().find(|name| !all.contains(&name.as_str())) {
        let all = all.join(", ");
        return Err(format!("there is no ladder {name} to profile; there are {all}").into());
    }
    let is_wanted = |ladder: &&str| names.is_empty() || names.iter().any(|name| name == ladder);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The first line of the file.
fn headings() -> String {
    let mut headings = vec!["ladder", "row", "kernel", "unit", "units"];
    headings.extend(COUNTERS.iter().map(|(heading, _)| *heading));
    headings.join("\t") + "\n"
}

/// Returns the content of the file so far; nothing if there is no file.
fn earlier(path: &Path) -> Result<String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        read => read.map_err(|error| format!("cannot read {}: {error}", path.display()))?,
    };
    match text.starts_with(&headings()) {
        true => Ok(text),
        false => {
            let path = path.display();
            Err(format!("{path} has other columns; profile all ladders to write it anew").into())
        }
    }
}

/// The lines of a ladder.
fn lines_of<'a>(text: &'a str, ladder: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("{ladder}\t");
    text.split_inclusive('\n')
        .filter(move |line| line.starts_with(&start))
}

/// Runs the ladder under ncu, which counts the first launches of a kernel; returns ncu's CSV.
fn count(options: &Options, profiled: &Profiled, kernel: &str, launches: usize) -> Result<String> {
    let counters = COUNTERS.iter().flat_map(|(_, names)| names.iter().copied());
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("ncu.csv");
    let mut command = Command::new(&options.ncu);
    command
        .args(["--csv", "--print-units", "base", "--kernel-name", kernel])
        .args(["--launch-count", &launches.to_string()])
        .args(["--metrics", &counters.collect::<Vec<_>>().join(",")])
        .arg("--log-file")
        .arg(&log)
        .arg(&options.program)
        .args([
            profiled.ladder,
            "--device",
            "cuda",
            "--no-cpu",
            "--runs",
            "0",
        ])
        .args(profiled.options);
    let output = command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", options.ncu.display()))?;
    let found = fs::read_to_string(&log).unwrap_or_default();
    match output.status.success() {
        true => Ok(found),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let reason = found.lines().find(|line| line.starts_with("==ERROR=="));
            let reason = reason.or_else(|| said.lines().last()).unwrap_or_default();
            Err(format!("ncu failed on {kernel}: {reason}").into())
        }
    }
}

/// A line of the file.
fn line(profiled: &Profiled, row: &str, kernel: &str, launch: &Launch) -> Result<String> {
    let Profiled {
        ladder,
        unit,
        units,
        ..
    } = profiled;
    let mut cells = vec![
        ladder.to_string(),
        row.to_owned(),
        kernel.to_owned(),
        unit.to_string(),
        units.to_string(),
    ];
    for (_, names) in COUNTERS {
        let mut sum = 0.0;
        for &name in names {
            let value = launch.get(name);
            sum += value.ok_or_else(|| format!("ncu does not know {name} of {kernel}"))?;
        }
        cells.push(sum.to_string());
    }
    Ok(cells.join("\t") + "\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::counters::tests::SAMPLE;
    use super::*;
    use crate::bench::FOLDER;
    use crate::workspace;

    #[test]
    fn lines_add_up_counters_and_become_text() {
        let launch = &launches(SAMPLE, "sketch_all").unwrap()[0];
        let line = line(&PROFILED[0], "V5", "sketch_all", launch).unwrap();
        let cells: Vec<_> = line.trim_end().split('\t').collect();
        assert_eq!(cells.len(), 5 + COUNTERS.len());
        // ns, and 1000 + 200 + 30 FP64 instructions.
        assert_eq!(cells[5..7], ["241000000", "1230"]);

        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        assert!(notes(root.path(), "tensor-sketch").unwrap().is_empty());
        fs::write(folder.join(FILE), headings() + &line).unwrap();
        let notes = notes(root.path(), "tensor-sketch").unwrap();
        assert!(
            notes["V5"].starts_with("87.558 warp instructions a letter, 32 registers"),
            "{notes:?}"
        );
        assert!(notes["V5"].contains("25% of the time at barriers"));
    }

    #[test]
    fn a_missing_counter_is_an_error() {
        let error = line(&PROFILED[0], "V5", "sketch_all", &Launch::new()).unwrap_err();
        assert!(error.to_string().contains("gpu__time_duration.sum"));
    }

    #[test]
    fn ladders_that_there_are_not_are_refused() {
        assert_eq!(wanted(&[]).unwrap().len(), PROFILED.len());
        assert_eq!(wanted(&["matmul".into()]).unwrap(), ["matmul"]);
        let error = wanted(&["matmul".into(), "boxes".into()]).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("there is no ladder boxes to profile; there are tensor-sketch, "));
    }

    #[test]
    fn lines_of_other_ladders_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(earlier(&path).unwrap(), "");
        let lines = "matmul\tnaive\t1\nvector-add\tkernel\t2\nmatmul\ttiled\t3\n";
        fs::write(&path, headings() + lines).unwrap();
        let text = earlier(&path).unwrap();
        let found: Vec<_> = lines_of(&text, "matmul").collect();
        assert_eq!(found, ["matmul\tnaive\t1\n", "matmul\ttiled\t3\n"]);
        fs::write(&path, "ladder\trow\n").unwrap();
        let said = earlier(&path).unwrap_err().to_string();
        assert!(said.ends_with("has other columns; profile all ladders to write it anew"));
    }

    /// Kernels of the ladders that are not profiled: those of one sequence, which whole calls launch,
    /// and with other numbers of positions a thread than the rows', which only the sweep launches.
    fn is_not_profiled(kernel: &str) -> bool {
        let mut ends = ["sketch_consecutive_", "sketch_strided_"].iter();
        let of_sweep = ends.find_map(|start| kernel.strip_prefix(start));
        kernel == "sketch_sequence" || of_sweep.is_some_and(|positions| positions != "6")
    }

    #[test]
    fn all_kernels_of_the_ladders_are_profiled() {
        let ptx = workspace().join("kernels-gpu/ptx/ladder.sm_70.ptx");
        let ptx = fs::read_to_string(ptx).unwrap();
        let names = ptx.lines().filter_map(|line| line.split(".entry ").nth(1));
        let names: BTreeSet<_> = names.map(|name| name.trim_end_matches('(')).collect();
        let profiled = PROFILED.iter().flat_map(|profiled| profiled.kernels);
        let profiled: BTreeSet<_> = profiled.map(|(kernel, _)| *kernel).collect();
        assert_eq!(profiled.difference(&names).next(), None, "no such kernel");
        for kernel in names {
            let is_exception = is_not_profiled(kernel);
            assert_ne!(profiled.contains(kernel), is_exception, "{kernel}");
        }
    }
}
