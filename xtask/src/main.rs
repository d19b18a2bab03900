//! Chores of the gridstride workspace: `cargo xtask --help` lists them.

#![forbid(unsafe_code)]

mod api;
mod bench;
mod bundle;
mod cargo;
mod fuzz;
mod guide;
mod kernels;
mod launched;
mod models;
mod new_kernel;
mod pages;
mod plot;
mod profile;
mod ptx;
mod ptxas;
mod race;
mod rust_cuda;
mod sanitize;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cuda_builder::Arch;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Chores of the gridstride workspace.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Rebuild the PTX of the kernel crates, and the record of it.
    Ptx {
        /// Change nothing: rebuild elsewhere, and fail unless the checked-in PTX is what its
        /// sources give.
        #[arg(long)]
        check: bool,
        /// Kernel crates, by the names of their folders; all by default.
        names: Vec<String>,
    },
    /// Assemble every checked-in PTX for every GPU, and show what its kernels use.
    Ptxas {
        /// GPUs, such as `sm_75,sm_90`; all that ptxas knows by default.
        #[arg(long, value_delimiter = ',')]
        arch: Vec<Arch>,
    },
    /// Print the names of the kernels, a line each: `crates/<kernel>` has the host side.
    Kernels,
    /// Compare the barriers in the checked-in PTX with the record.
    Barriers,
    /// Fail unless tests have launched all kernels of kernels-gpu.
    Launched {
        /// The file that the variable GRIDSTRIDE_LAUNCHED named when the tests ran.
        file: PathBuf,
    },
    /// List the public items of the published libraries in docs/public-api.
    Api {
        /// Change nothing: fail unless the files list what the sources have.
        #[arg(long)]
        check: bool,
    },
    /// Run tests with miri, which finds undefined behaviour; needs a nightly with miri and rust-src.
    Miri,
    /// Run the models of locks and queues under many orders of their threads.
    Models,
    /// Run the fuzz targets for some seconds each; needs a nightly compiler. Fails if an input
    /// makes a target fail.
    Fuzz(fuzz::Options),
    /// Measure the library and its peers, and compare or record the results: the figures of all pages are from them.
    Bench(bench::Options),
    /// Gather the release builds of tests, examples, benchmarks, ladders and of this program in
    /// gpu-bundle, to run them on a machine with a GPU and without a toolchain.
    Bundle,
    /// Count with Nsight Compute what the ladders' kernels do, on a machine with a GPU, and write
    /// docs/benchmarks/ladder_profile.tsv, which the tables of the articles show.
    Profile(profile::Options),
    /// Add a kernel to this repository: its crate under kernels-gpu, its host code, a test, and its
    /// entries in the lists. Prints what is left to do. Outside of this repository, use `gridstride
    /// new`.
    NewKernel {
        /// The kernel's name, such as `blur`.
        name: String,
    },
    /// Write the figures of all pages and the plots anew, from docs/benchmarks/results.json.
    Pages,
    /// Make the crates of docs/guide from its pages, and test them; with a device compiler also
    /// compile their kernels.
    Guide {
        /// Crates, by their names on the pages; all by default.
        names: Vec<String>,
    },
    /// Run the tests of kernels in the simulator with its race detector, on small inputs.
    Race {
        /// Only those of one package: gridstride or gridstride_simt.
        #[arg(short, long)]
        package: Option<String>,
        /// Parts of the names of tests; all by default.
        filters: Vec<String>,
    },
    /// Run the test programs kernels and devices on the CPU with a sanitizer, on small inputs; needs
    /// the toolchain nightly on Linux on x86-64, for `thread` with rust-src.
    Sanitize {
        /// The sanitizer.
        sanitizer: sanitize::Sanitizer,
        /// Parts of the names of tests; all by default.
        filters: Vec<String>,
    },
    /// Compile the example kernels and compile tests of a checkout of Rust-CUDA against this
    /// workspace's cuda_std, and run the examples' kernels in the simulator.
    RustCuda(rust_cuda::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Ptx {
            check: false,
            names,
        } => ptx::rebuild(&names),
        Chore::Ptx { check: true, names } => ptx::check(&names),
        Chore::Ptxas { arch } => ptxas::assemble_all(&arch),
        Chore::Kernels => kernels::print(),
        Chore::Barriers => ptx::barriers(),
        Chore::Launched { file } => launched::check(&file),
        Chore::Api { check } => api::list(check),
        Chore::Miri => models::interpret(),
        Chore::Models => models::run(),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Bundle => bundle::gather(),
        Chore::NewKernel { name } => new_kernel::add(&name),
        Chore::Pages => bench::pages(),
        Chore::Profile(options) => profile::run(&options),
        Chore::Guide { names } => guide::check(&names),
        Chore::Race { package, filters } => race::run(package.as_deref(), &filters),
        Chore::Sanitize { sanitizer, filters } => sanitize::run(sanitizer, &filters),
        Chore::RustCuda(options) => rust_cuda::check(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace's folder.
fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}
