//! Programs of a checkout that run: its kernels in the simulator, and its host programs on a GPU.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::checkout::{Checkout, HOSTS, ours};
use super::compile::programs_ptx;
use crate::{Result, cargo};

const SIMULATED: &str = include_str!("programs/simulated.rs.txt");
const LOAD_PTX: &str = include_str!("programs/load_ptx.rs.txt");
const RUN: &str = include_str!("programs/run.sh");
const PACKAGES: [&str; 2] = ["ours/simulated", "ours/load_ptx"];

/// The examples whose kernels run in the simulator.
pub const SIMULATED_EXAMPLES: [&str; 3] = ["vecadd", "gemm", "sha2_crates_io"];

/// Runs the kernels of some of these examples in the simulator and checks their results.
pub fn simulate(checkout: &Checkout, examples: &[&str]) -> Result<Vec<String>> {
    write_packages(checkout)?;
    let mut cargo = cargo(checkout);
    cargo.args(["run", "--quiet", "--package", "simulated", "--"]);
    cargo.args(examples);
    let output = succeeded(cargo.output()?)?;
    Ok(vec![
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .replace('\n', "; "),
    ])
}

/// Builds the host programs, and gathers them with the PTX in `bundle`.
pub fn gather(checkout: &Checkout, target: &Path, bundle: &Path) -> Result<Vec<String>> {
    write_packages(checkout)?;
    let names = HOSTS.iter().chain(["load_ptx"].iter());
    let mut cargo = cargo(checkout);
    cargo.args(["build", "--release"]);
    for name in names.clone() {
        cargo.args(["--package", name]);
    }
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    succeeded(cargo.output()?)?;

    fs::create_dir_all(bundle.join("ptx"))?;
    let built = checkout.folder.join("target/release");
    for name in names {
        fs::copy(built.join(name), bundle.join(name))?;
    }
    for entry in fs::read_dir(programs_ptx(target))? {
        let path = entry?.path();
        fs::copy(
            &path,
            bundle
                .join("ptx")
                .join(path.file_name().unwrap_or_default()),
        )?;
    }
    let script = bundle.join("run.sh");
    fs::write(&script, RUN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    }
    Ok(vec![format!(
        "{}, load_ptx in {}",
        HOSTS.join(", "),
        bundle.display()
    )])
}

/// Writes the packages that this program adds to the checkout's workspace.
fn write_packages(checkout: &Checkout) -> Result<()> {
    let kernels = |package: &str, example: &str| {
        format!("{package} = {{ path = {:?} }}", checkout.kernels(example))
    };
    let simulated = [
        ours("simt"),
        ours("cuda_std"),
        kernels("vecadd-kernels", "vecadd"),
        kernels("gemm-kernels", "gemm"),
        kernels("sha2_crates_io_kernels", "sha2_crates_io"),
    ];
    let load_ptx = [ours("cust")];
    let packages = [(SIMULATED, &simulated[..]), (LOAD_PTX, &load_ptx[..])];
    for (package, (source, dependencies)) in PACKAGES.iter().zip(packages) {
        let folder = checkout.folder.join(package);
        let name = package.trim_start_matches("ours/");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{}\n",
            dependencies.join("\n")
        );
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), source)?;
    }
    checkout.write_workspace(&PACKAGES)
}

fn cargo(checkout: &Checkout) -> Command {
    let mut command = cargo::command();
    command
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(&checkout.folder);
    command
}

fn succeeded(output: Output) -> Result<Output> {
    match output.status.success() {
        true => Ok(output),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}
