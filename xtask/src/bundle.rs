//! A folder of programs to run on a machine with a GPU and without a toolchain.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{ORIGIN, Origin};
use crate::cargo::{self, Program};
use crate::table::Table;
use crate::{Result, kernels, workspace};

/// The bundle has to stay small enough to be sent around.
const LIMIT: u64 = 64 << 20;
const RUN: &str = include_str!("run.sh");

/// All programs contain the library: with a dictionary that holds them all, they shrink to a fifth
/// of what they take one by one.
const PACKER: &str = "xz --lzma2=preset=3,dict=256MiB";

const TESTS: &str = "tests";
const EXAMPLES: &str = "examples";
const BENCHES: &str = "benches";
const BIN: &str = "bin";
const FOLDERS: [&str; 4] = [TESTS, EXAMPLES, BENCHES, BIN];

/// The parts that are built: their arguments, and the kinds of targets that are taken. Building tests also builds
/// the programs that they may start.
const PARTS: [(&[&str], &[&str]); 4] = [
    (
        &[
            "test",
            "--no-run",
            "--release",
            "--lib",
            "--bins",
            "--tests",
            "--package=gridstride",
            "--package=gridstride_cli",
            "--package=gridstride_learn",
            "--features=gridstride/cuda,gridstride/simulator",
        ],
        &["lib", "test", "bin-test"],
    ),
    (
        &[
            "build",
            "--release",
            "--bins",
            "--examples",
            "--package=gridstride",
            "--package=gridstride_cli",
            "--package=gridstride_learn",
            "--package=custom_aggregate",
            "--package=own_kernel",
            "--package=rust_cuda_style",
            "--features=gridstride/cuda,gridstride/simulator,custom_aggregate/cuda,own_kernel/cuda,rust_cuda_style/cuda",
        ],
        &["bin", "example"],
    ),
    (
        &[
            "bench",
            "--no-run",
            "--benches",
            "--package=gridstride_benches",
            "--features=cuda,simulator",
        ],
        &["bench"],
    ),
    (&["build", "--release", "--package=xtask"], &["bin"]),
];

/// Builds the programs and gathers them in `gpu-bundle`, packed, with a script that unpacks and
/// runs them.
pub fn gather() -> Result<()> {
    let bundle = workspace().join("gpu-bundle");
    let programs = workspace().join("target/gpu-bundle");
    for folder in [&bundle, &programs] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    let mut table = Table::new(&["program", "KiB"]);
    for program in build()? {
        let Some(name) = place(&program) else {
            continue;
        };
        let path = programs.join(&name);
        fs::create_dir_all(path.parent().unwrap_or(&programs))?;
        let size = fs::copy(&program.executable, path)?;
        table.add(vec![name, (size >> 10).to_string()]);
    }
    write_script(&bundle.join("run.sh"))?;
    let origin = serde_json::to_string(&Origin::of_workspace()?)?;
    fs::write(bundle.join(ORIGIN), origin)?;
    let size = pack(&programs, &bundle.join("programs.tar.xz"))?;
    table.add(vec!["packed".to_owned(), (size >> 10).to_string()]);
    table.print();
    check_size(size)
}

/// All programs, stripped.
fn build() -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    let hosts: Vec<_> = (kernels::host_crates()?.iter())
        .map(|name| format!("--package=gridstride_{name}"))
        .collect();
    for (arguments, kinds) in PARTS {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "test" {
            arguments.extend(hosts.iter().map(String::as_str));
        }
        let built = cargo::build(&arguments, true)?;
        programs.extend(
            built
                .into_iter()
                .filter(|program| kinds.contains(&program.kind.as_str())),
        );
    }
    Ok(programs)
}

/// The folder and name that a program has in the bundle, if it belongs there.
fn place(program: &Program) -> Option<String> {
    let name = &program.name;
    let (folder, name) = match program.kind.as_str() {
        // It needs the sources, and nothing of the GPU.
        "test" if name == "repository" => return None,
        "test" => (TESTS, name.clone()),
        "lib" => (TESTS, format!("{name}-unit")),
        "bin-test" if name == "gridstride_learn" => (TESTS, "learn-unit".to_owned()),
        "bin-test" => (TESTS, "cli-unit".to_owned()),
        "example" => (EXAMPLES, name.clone()),
        "bench" => (BENCHES, name.clone()),
        // They run without arguments, as the examples do.
        "bin"
            if [
                "custom_aggregate",
                "own_kernel",
                "rust_cuda_style",
                "rust_cuda_style_gridstride",
            ]
            .contains(&name.as_str()) =>
        {
            (EXAMPLES, name.clone())
        }
        "bin" => (BIN, name.clone()),
        _ => return None,
    };
    Some(format!("{folder}/{name}"))
}

/// Packs the programs and returns the size of the archive.
fn pack(programs: &Path, archive: &Path) -> Result<u64> {
    let status = Command::new("tar")
        .args(["-I", PACKER, "-cf"])
        .arg(archive)
        .arg("-C")
        .arg(programs)
        .args(FOLDERS)
        .status()?;
    if !status.success() {
        return Err("tar could not pack the programs".into());
    }
    Ok(fs::metadata(archive)?.len())
}

/// # Errors
/// If it is too much.
fn check_size(size: u64) -> Result<()> {
    match size <= LIMIT {
        true => Ok(()),
        false => Err(format!(
            "the bundle has {} MiB, and more than {} cannot be sent around",
            size >> 20,
            LIMIT >> 20
        )
        .into()),
    }
}

fn write_script(path: &Path) -> Result<()> {
    fs::write(path, RUN)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_the_folder_of_their_kind() {
        let place = |kind: &str, name: &str| {
            place(&Program {
                name: name.to_owned(),
                kind: kind.to_owned(),
                executable: "/t/x".into(),
            })
        };
        let found = [
            place("lib", "gridstride"),
            place("test", "kernels"),
            place("example", "matmul"),
            place("bench", "matmul"),
            place("bin", "gridstride"),
            place("bin-test", "gridstride"),
            place("bin-test", "gridstride_learn"),
            place("bin", "custom_aggregate"),
        ];
        let expected = [
            "tests/gridstride-unit",
            "tests/kernels",
            "examples/matmul",
            "benches/matmul",
            "bin/gridstride",
            "tests/cli-unit",
            "tests/learn-unit",
            "examples/custom_aggregate",
        ];
        assert_eq!(found, expected.map(|name| Some(name.to_owned())));
        assert_eq!(place("test", "repository"), None);
        assert_eq!(place("cdylib", "x"), None);
    }

    #[test]
    fn large_bundles_are_refused() {
        assert!(check_size(60 << 20).is_ok());
        let error = check_size(70 << 20).unwrap_err().to_string();
        assert!(error.contains("70 MiB"), "{error}");
    }
}
