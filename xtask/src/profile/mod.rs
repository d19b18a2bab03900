//! What Nsight Compute counts in the kernels of the ladders: the figures behind each step.

mod ladders;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde::Deserialize;

use crate::bench::CSV_FOLDER;
use crate::{Result, plot};
use ladders::{PROFILED, Profiled};

/// The file of the figures, in `docs/benchmarks`.
const FILE: &str = "ladder_profile.tsv";

/// Which program is profiled, and where the figures go.
#[derive(Args)]
pub struct Options {
    /// The program gridstride, built in release with the feature cuda.
    #[arg(long, value_name = "FILE", default_value = "target/release/gridstride")]
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
    /// Ladders to profile; all by default.
    ladders: Vec<String>,
}

/// The counters, by the headings of the file. FP64 instructions are those of threads.
const COUNTERS: [(&str, &[&str]); 8] = [
    ("ns", &["gpu__time_duration.sum"]),
    (
        "fp64_instructions",
        &[
            "sm__sass_thread_inst_executed_op_dadd_pred_on.sum",
            "sm__sass_thread_inst_executed_op_dmul_pred_on.sum",
            "sm__sass_thread_inst_executed_op_dfma_pred_on.sum",
        ],
    ),
    ("warp_instructions", &["smsp__inst_executed.sum"]),
    (
        "stalled_at_barriers_percent",
        &["smsp__warp_issue_stalled_barrier_per_warp_active.pct"],
    ),
    (
        "bank_conflicts",
        &["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"],
    ),
    ("registers", &["launch__registers_per_thread"]),
    (
        "sectors_a_load",
        &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
    ),
    (
        "sectors_a_store",
        &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"],
    ),
];

/// A line of ncu's CSV.
#[derive(Deserialize)]
struct Counted {
    #[serde(rename = "ID")]
    launch: u64,
    #[serde(rename = "Kernel Name")]
    kernel: String,
    #[serde(rename = "Metric Name")]
    name: String,
    #[serde(rename = "Metric Value")]
    value: String,
}

/// The counters of a launch, by their names.
type Launch = BTreeMap<String, f64>;

/// A line of the file.
#[derive(Deserialize)]
struct Figures {
    ladder: String,
    row: String,
    unit: String,
    units: f64,
    fp64_instructions: f64,
    warp_instructions: f64,
    stalled_at_barriers_percent: f64,
    bank_conflicts: f64,
    registers: u32,
    sectors_a_load: f64,
    sectors_a_store: f64,
}

impl Figures {
    /// A sentence for a table.
    fn text(&self) -> String {
        let each = |count: f64| format!("{:.3}", count / self.units);
        let mut parts = vec![
            format!(
                "{} warp instructions a {}",
                each(self.warp_instructions),
                self.unit
            ),
            format!("{} registers", self.registers),
        ];
        if self.fp64_instructions > 0.0 {
            let count = each(self.fp64_instructions);
            parts.push(format!("{count} FP64 instructions a {}", self.unit));
        }
        if self.stalled_at_barriers_percent > 0.0 {
            let share = self.stalled_at_barriers_percent;
            parts.push(format!("{share:.0}% of the time at barriers"));
        }
        if self.bank_conflicts > 0.0 {
            let count = each(self.bank_conflicts);
            parts.push(format!("{count} bank conflicts a {}", self.unit));
        }
        let (load, store) = (self.sectors_a_load, self.sectors_a_store);
        parts.push(format!(
            "{load:.1} and {store:.1} sectors a load and a store"
        ));
        parts.join(", ")
    }
}

/// Profiles the ladders' kernels one by one, and writes the file.
///
/// # Errors
/// If ncu or the program fails, or a kernel is not launched.
pub fn run(options: &Options) -> Result<()> {
    let mut headings = vec!["ladder", "row", "kernel", "unit", "units"];
    headings.extend(COUNTERS.iter().map(|(heading, _)| *heading));
    let mut text = headings.join("\t") + "\n";
    let is_wanted =
        |name: &str| options.ladders.is_empty() || options.ladders.iter().any(|l| l == name);
    for profiled in PROFILED
        .iter()
        .filter(|profiled| is_wanted(profiled.ladder))
    {
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
            "ladder",
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

/// Reads ncu's CSV, which begins after lines of other text: the launches of a kernel, in order.
fn launches(text: &str, kernel: &str) -> Result<Vec<Launch>> {
    let start = text.find("\"ID\",").ok_or_else(|| {
        let said = text.lines().last().unwrap_or_default();
        format!("ncu counted nothing in {kernel}: {said}")
    })?;
    let mut launches = BTreeMap::<u64, Launch>::new();
    for line in csv::Reader::from_reader(&text.as_bytes()[start..]).into_deserialize() {
        let Counted {
            launch,
            kernel: found,
            name,
            value,
        } = line?;
        if found != kernel {
            continue;
        }
        // With commas between thousands.
        let number = value.replace(',', "").parse();
        let number = number.map_err(|_| format!("ncu says {value:?} of {name} in {kernel}"))?;
        launches.entry(launch).or_default().insert(name, number);
    }
    Ok(launches.into_values().collect())
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

/// The figures of a ladder's rows as text, by the rows' names; none if there is no file.
///
/// # Errors
/// If the file is not one of figures.
pub fn notes(root: &Path, ladder: &str) -> Result<BTreeMap<String, String>> {
    let all: Vec<Figures> = plot::tab_separated(&root.join(CSV_FOLDER).join(FILE))?;
    let rows = all.iter().filter(|figures| figures.ladder == ladder);
    Ok(rows
        .map(|figures| (figures.row.clone(), figures.text()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    /// Of `ncu --csv --print-units base`, shortened: text before the header, numbers with commas,
    /// and a launch of another kernel.
    const SAMPLE: &str = include_str!("sample.csv");

    #[test]
    fn counters_are_read_from_the_csv_of_ncu() {
        let found = launches(SAMPLE, "sketch_all").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0]["smsp__inst_executed.sum"], 1_234_567_890.0);
        assert_eq!(found[1]["smsp__inst_executed.sum"], 7.0);
        assert_eq!(found[0]["launch__registers_per_thread"], 32.0);
        assert!(launches(SAMPLE, "other").unwrap().len() == 1);
        let error = launches("==ERROR== ERR_NVGPUCTRPERM", "sketch_all").unwrap_err();
        assert!(error.to_string().contains("ERR_NVGPUCTRPERM"));
    }

    #[test]
    fn lines_add_up_counters_and_become_text() {
        let launch = &launches(SAMPLE, "sketch_all").unwrap()[0];
        let line = line(&PROFILED[0], "V5", "sketch_all", launch).unwrap();
        let cells: Vec<_> = line.trim_end().split('\t').collect();
        assert_eq!(cells.len(), 5 + COUNTERS.len());
        // ns, and 1000 + 200 + 30 FP64 instructions.
        assert_eq!(cells[5..7], ["241000000", "1230"]);

        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(CSV_FOLDER);
        fs::create_dir_all(&folder).unwrap();
        assert!(notes(root.path(), "tensor-sketch").unwrap().is_empty());
        let mut text = "ladder\trow\tkernel\tunit\tunits".to_owned();
        for (heading, _) in COUNTERS {
            text += &format!("\t{heading}");
        }
        fs::write(folder.join(FILE), format!("{text}\n{line}")).unwrap();
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
    fn all_kernels_are_those_of_the_ladders() {
        let ptx = workspace().join("kernels-gpu/ptx/ladder.sm_70.ptx");
        let ptx = fs::read_to_string(ptx).unwrap();
        for profiled in &PROFILED {
            for (kernel, _) in profiled.kernels {
                assert!(ptx.contains(&format!(".entry {kernel}(")), "{kernel}");
            }
        }
    }
}
