//! Ladders: every step from a plain version of a computation to a fast one, as a kernel of its own.
//!
//! ```text
//! gridstride_learn matmul
//! gridstride_learn matmul --plot matmul.svg
//! ```
//!
//! A ladder runs its versions in order, compares each result with the reference, and tells how long
//! each took and what it changed. The last row is the library's own. The kernels are in
//! `kernels-gpu/ladder`.

mod block_shape;
mod box_overlap;
mod climb;
#[cfg(test)]
mod command_lines;
mod matmul;
mod plot;
mod products;
mod rows;
mod setup;
mod streams;
mod summary;
mod table;
mod tensor_sketch;
#[cfg(test)]
mod tests;
mod times;
mod timestamps;
mod vector_add;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::builder::RangedU64ValueParser;
use clap::{Parser, Subcommand};
use gridstride::Device;
use gridstride::device::{DeviceKind, DeviceName, Image, Module, UnknownDevice};
use program::Global;
use program::device_name::DeviceParser;
use program::output::{self, OutputFile, check_outputs};
use program::report::{self, UsageError};

use rows::Ladder;
use setup::Setup;
use summary::Summary;
use table::TableStyle;

/// The PTX that the build script takes or makes. The simulator and the CPU do without.
#[cfg(feature = "cuda")]
const IMAGES: &[Image] = &[Image::new(
    "sm_70",
    include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
)];
#[cfg(not(feature = "cuda"))]
const IMAGES: &[Image] = &[];

static KERNELS: Module = Module::new("ladder", IMAGES);

/// Bytes of shared memory that every GPU gives to a block.
const SHARED_BYTES: u32 = 48 << 10;

/// The seed unless another is chosen.
const SEED: u64 = 42;

/// Timed runs, on other devices and in the simulator.
const RUNS: usize = 5;
const RUNS_SIMULATED: usize = 1;

/// Runs every version of a computation, from a plain one to the library's, checks each against the
/// reference, and prints what each version changed and how long it took.
///
/// The default sizes keep a GPU busy, and are smaller on other devices. Without a GPU the CPU
/// versions are timed, and then all kernels run in the simulator, whose times say nothing about a
/// GPU. With the feature cuda, kernels that you have changed are compiled during the build, which
/// needs a device compiler (see CONTRIBUTING.md).
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  gridstride_learn matmul
  gridstride_learn box-overlap --sweep --plot box_overlap.svg
  gridstride_learn tensor-sketch --device simulator"
)]
struct Cli {
    #[command(flatten)]
    global: Global,

    #[command(subcommand)]
    ladder: Name,

    /// Where the kernels run: auto, cpu (no kernels), cuda, cuda:N or simulator.
    #[arg(
        long,
        global = true,
        default_value = "auto",
        value_parser = DeviceParser::new(one_device, &DeviceName::NAMES),
        hide_possible_values = true,
        help_heading = "Computation"
    )]
    device: DeviceName,

    /// Timed runs of each version, after one that is not timed; the median is printed. A version
    /// that takes a second runs once. 5 by default, 1 in the simulator.
    #[arg(
        long,
        global = true,
        value_name = "R",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000),
        help_heading = "Computation"
    )]
    runs: Option<usize>,

    /// Seed of the random numbers; 42 by default.
    #[arg(long, global = true, help_heading = "Input")]
    seed: Option<u64>,

    /// Skip the CPU versions.
    #[arg(long, global = true, help_heading = "Computation")]
    no_cpu: bool,

    /// Let the CPU versions compute everything, which can take minutes at the default sizes for a
    /// GPU. By default the slow ones compute a part, and their times are extrapolated and marked.
    #[arg(long, global = true, help_heading = "Computation")]
    whole_cpu: bool,

    /// Draw the times of the sweeps, or else of the first table, to this file.
    #[arg(long, global = true, value_name = "SVG|PNG", help_heading = "Output")]
    plot: Option<PathBuf>,

    /// Print tables as Markdown.
    #[arg(long, global = true, help_heading = "Output")]
    markdown: bool,
}

/// Reads the name of a device: the versions of a ladder are compared on one.
fn one_device(text: &str) -> std::result::Result<DeviceName, String> {
    match text == "gpus" || text.contains(',') {
        true => Err("a ladder runs on one device: name one, for example cuda:0".into()),
        false => text
            .parse()
            .map_err(|error: UnknownDevice| error.to_string()),
    }
}

/// The ladders.
#[derive(Subcommand)]
enum Name {
    /// Tensor sketches of sequences, from plain loops to V15, and the same of equal lengths.
    #[command(alias = "tensor_sketch")]
    TensorSketch(tensor_sketch::Options),
    /// Overlapping boxes by testing every pair: plain, through shared memory, in half precision.
    #[command(alias = "box_overlap")]
    BoxOverlap(box_overlap::Options),
    /// Matrix products: naive, and with tiles in shared memory.
    Matmul(matmul::Options),
    /// A naive matrix product in blocks of all shapes.
    #[command(alias = "block_shape")]
    BlockShape(block_shape::Options),
    /// Vector addition: a grid-stride loop, one stream and five.
    #[command(alias = "vector_add")]
    VectorAdd(vector_add::Options),
    /// Sums of points in buckets of time.
    Timestamps(timestamps::Options),
}

impl Name {
    /// Whether a sweep is asked for.
    fn has_sweep(&self) -> bool {
        match self {
            Name::TensorSketch(options) => options.sweep,
            Name::BoxOverlap(options) => options.sweep,
            Name::BlockShape(options) => options.sweep,
            Name::VectorAdd(options) => options.sweep,
            Name::Matmul(_) | Name::Timestamps(_) => false,
        }
    }

    /// The file that is read, if there is one.
    fn input(&self) -> Option<&Path> {
        match self {
            Name::TensorSketch(options) => options.fasta.as_deref(),
            _ => None,
        }
    }

    fn climb(&self, setup: &Setup) -> Result<Vec<Ladder>> {
        let one = |ladder| vec![ladder];
        match self {
            // With a second one, of equal lengths.
            Name::TensorSketch(options) => tensor_sketch::climb(options, setup),
            Name::BoxOverlap(options) => box_overlap::climb(options, setup).map(one),
            Name::Matmul(options) => matmul::climb(options, setup).map(one),
            Name::BlockShape(options) => block_shape::climb(options, setup).map(one),
            Name::VectorAdd(options) => vector_add::climb(options, setup).map(one),
            Name::Timestamps(options) => timestamps::climb(options, setup).map(one),
        }
    }
}

fn main() -> ExitCode {
    program::main::<Cli>(program::command::<Cli>(), |cli| &cli.global, run)
}

/// Climbs the ladder, and prints what came out.
fn run(args: &Cli) -> Result<()> {
    // clap does not see a conflict of options before and behind the name of the ladder.
    if args.no_cpu && args.whole_cpu {
        bail!(UsageError(
            "--no-cpu cannot be used with --whole-cpu".into()
        ));
    }
    if args.ladder.input().is_some() && args.seed.is_some() {
        bail!(UsageError(
            "--seed cannot be used with --fasta: nothing is random".into()
        ));
    }
    let inputs: Vec<_> = args.ladder.input().into_iter().collect();
    let plot = ("--plot", args.plot.as_deref(), output::Format::Picture);
    check_outputs(&[plot], &inputs)?;
    let device = args.device.open()?;
    let has_gpu = device.kind() != DeviceKind::Cpu;
    let simulator = match args.device {
        DeviceName::Auto if !has_gpu => Some(Device::simulator()?),
        _ => None,
    };
    if args.ladder.has_sweep() && !has_gpu && simulator.is_none() {
        report::warn(
            "--sweep is left out: it times kernels, which the CPU does not run; choose --device cuda or \
             simulator",
        );
    }
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let picture = args.plot.as_deref().map(OutputFile::create).transpose()?;
    let format = match args.markdown {
        true => TableStyle::Markdown,
        false => TableStyle::Plain,
    };
    // As benchmarks do.
    let rows = env::var_os(figures::FILE);
    let mut ladders = Vec::new();
    for device in [device].into_iter().chain(simulator) {
        let runs = match device.kind() {
            DeviceKind::Simulator => RUNS_SIMULATED,
            _ => RUNS,
        };
        let climbed = args.ladder.climb(&Setup {
            device,
            runs: args.runs.unwrap_or(runs),
            seed: args.seed.unwrap_or(SEED),
            has_cpu_rows: !args.no_cpu,
            is_whole: args.whole_cpu,
        })?;
        for ladder in climbed {
            let gap = if ladders.is_empty() { "" } else { "\n" };
            report::show_text(&format!("{gap}{}", table::text(&ladder, format)))?;
            if let Some(path) = &rows {
                for row in ladder.measured() {
                    row.append(Path::new(path))?;
                }
            }
            ladders.push(ladder);
        }
    }
    if let Some(mut picture) = picture {
        let swept = ladders.iter().find(|ladder| !ladder.sweeps.is_empty());
        let svg = plot::svg(swept.unwrap_or(&ladders[0]))?;
        picture.write_picture(&svg)?;
        picture.publish()?;
    }
    report::show_json(&Summary::new(ladders))
}
