//! Rust-CUDA's own kernels, compiled against this workspace's `cuda_std`.
//!
//! A checkout of Rust-CUDA is copied, its packages are pointed at the crates of this workspace, and
//! no kernel is changed. Then its example kernels are compiled, and each of its compile tests that
//! has to pass. The examples' kernels run in the simulator too, and their host programs are built
//! with this workspace's `cust` for a machine with a GPU.

mod checkout;
mod compile;
mod programs;

use std::path::PathBuf;

use clap::Args;

use crate::table::Table;
use crate::{Result, workspace};
use checkout::{Checkout, EXAMPLES};
use compile::Compiler;

#[derive(Args)]
pub struct Options {
    /// The folder of the checkout.
    path: PathBuf,
    /// Check only examples and compile tests whose names contain one of these, separated by
    /// commas: `vecadd` is an example, which also runs in the simulator, and `warp/` a folder of
    /// compile tests. `simulator` runs all examples in the simulator and compiles none to PTX.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Also gather programs to run on a machine with a GPU and without a toolchain, in this folder.
    #[arg(long)]
    bundle: Option<PathBuf>,
}

/// The result of each attempt.
struct Report {
    table: Table,
    tried: usize,
    failures: usize,
}

impl Report {
    fn add(&mut self, name: &str, result: Result<Vec<String>>) {
        self.tried += 1;
        let mut cells = result.unwrap_or_else(|error| {
            self.failures += 1;
            vec![format!("FAILED: {}", first_error(&error.to_string()))]
        });
        println!("{name}: {}", cells.join("; "));
        cells.insert(0, name.to_owned());
        cells.resize(3, String::new());
        self.table.add(cells);
    }
}

/// Compiles and runs what the checkout has, and prints what became of each.
pub fn check(options: &Options) -> Result<()> {
    let target = workspace().join("target/rust-cuda");
    let checkout = Checkout::copy(&options.path, target.join("checkout"))?;
    let compiler = Compiler::new(target.clone())?;
    let mut report = Report {
        table: Table::new(&["program", "result", "GPUs"]),
        tried: 0,
        failures: 0,
    };
    let is_wanted = |name: &str| {
        let only = &options.only;
        only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
    };
    for example in EXAMPLES.into_iter().filter(|name| is_wanted(name)) {
        report.add(
            example,
            compiler.example(&checkout.kernels(example), example),
        );
    }
    let mut left_out = Vec::new();
    for (name, source) in checkout.tests()? {
        match compile::architecture(&source) {
            _ if !is_wanted(&name) => {}
            Ok(arch) => report.add(&name, compiler.test(&source, arch)),
            Err(reason) => left_out.push(format!("{name}: {reason}")),
        }
    }
    let is_simulated = |name: &&str| is_wanted("simulator") || is_wanted(name);
    let simulated: Vec<_> = (programs::SIMULATED_EXAMPLES.into_iter())
        .filter(is_simulated)
        .collect();
    if !simulated.is_empty() {
        report.add("simulator", programs::simulate(&checkout, &simulated));
    }
    if let Some(bundle) = &options.bundle {
        report.add("bundle", programs::gather(&checkout, &target, bundle));
    }
    println!();
    report.table.print();
    for line in left_out {
        println!("left out: {line}");
    }
    match (report.tried, report.failures) {
        (0, _) => Err("no example and no compile test was tried: see `--only`".into()),
        (_, 0) => Ok(()),
        (_, count) => Err(format!("{count} failed").into()),
    }
}

/// The first line of a compiler's errors, or of a panic.
fn first_error(text: &str) -> &str {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let first = lines().find(|line| line.starts_with("error"));
    let panic = lines()
        .skip_while(|line| !line.contains(" panicked at "))
        .nth(1);
    first
        .or(panic)
        .or_else(|| lines().next())
        .unwrap_or_default()
}
