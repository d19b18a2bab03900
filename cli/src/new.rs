//! Writes a new crate with a kernel.
//!
//! ```text
//! gridstride new blur && cd blur && cargo test
//! ```

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use new_kernel::{check_name, create};
use program::report::{self, UsageError};
use serde::Serialize;

/// Writes a new crate with a GPU kernel: the module of the kernel and a build script that compiles it,
/// a launch, tests on the CPU and in the simulator, an example and a benchmark.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride new blur
  gridstride new blur --path ~/kernels/blur --gridstride ~/gridstride")]
pub struct Args {
    /// The name of the crate, of its kernel and of the function that launches the kernel, such as
    /// `blur`.
    name: String,

    /// The folder of the crate, which must not exist. By default a folder of the crate's name.
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,

    /// The checkout of gridstride that the crate depends on. By default a folder `gridstride` beside
    /// the crate, or else the checkout that this program was installed from.
    #[arg(long, value_name = "FOLDER")]
    gridstride: Option<PathBuf>,
}

/// The written files.
#[derive(Serialize)]
struct Summary {
    name: String,
    folder: String,
    /// The checkout that it depends on, relative to the folder if it is beside it.
    gridstride: String,
    files: Vec<String>,
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> fmt::Result {
        let Summary {
            name,
            folder,
            gridstride,
            files,
        } = self;
        writeln!(text, "{name} in {folder}:")?;
        for file in files {
            writeln!(text, "  {file}")?;
        }
        writeln!(
            text,
            "it depends on the checkout of gridstride in {gridstride}"
        )?;
        writeln!(text, "next, in that folder:")?;
        writeln!(text, "  cargo test")?;
        writeln!(text, "README.md has the other commands")
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let name = &args.name;
    check_name(name).map_err(|error| UsageError(error.to_string()))?;
    let folder = args.path.clone().unwrap_or_else(|| name.into());
    let created = create(name, &folder, args.gridstride.as_deref())?;
    report::show(&Summary {
        name: name.clone(),
        folder: folder.display().to_string(),
        gridstride: created.checkout.to_string(),
        files: created.files,
    })
}
