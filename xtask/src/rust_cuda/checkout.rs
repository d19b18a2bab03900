//! A copy of a checkout of Rust-CUDA whose packages depend on this workspace's crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, workspace};

/// The kernel crates of the examples.
pub const EXAMPLES: [&str; 4] = ["vecadd", "gemm", "sha2_crates_io", "path_tracer"];
/// The examples whose host programs need nothing but a GPU.
pub const HOSTS: [&str; 3] = ["vecadd", "gemm", "sha2_crates_io"];
/// Below it are the compile tests.
pub const TESTS: &str = "tests/compiletests/ui";

/// The part of gemm's host that calls cuBLAS, which belongs to the CUDA toolkit: its dependencies,
/// its call, and where its definition begins and ends.
const CUBLAS_DEPENDENCIES: [&str; 2] = ["blastoff", "cust_raw"];
const CUBLAS_CALL: &str = "    run_cublas(&stream)?;\n";
const CUBLAS: [&str; 2] = ["/// Runs the cuBLAS GEMM", "/// Runs a GEMM kernel"];

/// The copy.
pub struct Checkout {
    pub folder: PathBuf,
}

impl Checkout {
    /// Copies what git tracks in `original`, and changes the manifests.
    pub fn copy(original: &Path, folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy_tracked(original, &folder)?;
        let checkout = Self { folder };
        checkout.write_workspace(&[])?;
        for manifest in files(checkout.folder.clone(), "Cargo.toml")? {
            if manifest != checkout.folder.join("Cargo.toml") {
                let text = fs::read_to_string(&manifest)?;
                let lines: Vec<_> = text.lines().filter_map(dependency).collect();
                fs::write(&manifest, lines.join("\n"))?;
            }
        }
        checkout.leave_out_cublas()?;
        Ok(checkout)
    }

    /// Writes a workspace of the packages that are compiled, `added` among them. The original has
    /// members that need CUDA.
    pub fn write_workspace(&self, added: &[&str]) -> Result<()> {
        let examples = |name: &&str| format!("examples/cuda/{name}");
        let hosts = HOSTS.iter().map(examples);
        let kernels = EXAMPLES
            .iter()
            .map(|name| format!("{}/kernels", examples(name)));
        let added = added.iter().map(ToString::to_string);
        let members: Vec<_> = hosts.chain(kernels).chain(added).collect();
        let text = format!(
            "[workspace]\nresolver = \"2\"\nmembers = {members:?}\n\n[workspace.dependencies]\n{}\n",
            ours("cuda_std")
        );
        fs::write(self.folder.join("Cargo.toml"), text)?;
        let toolchain = self.folder.join("rust-toolchain.toml");
        if toolchain.exists() {
            fs::remove_file(toolchain)?;
        }
        Ok(())
    }

    /// The kernel crate of an example.
    pub fn kernels(&self, example: &str) -> PathBuf {
        self.folder
            .join("examples/cuda")
            .join(example)
            .join("kernels")
    }

    /// The compile tests that have to pass, by their names.
    pub fn tests(&self) -> Result<Vec<(String, String)>> {
        let folder = self.folder.join(TESTS);
        let mut tests = Vec::new();
        for path in files(folder.clone(), ".rs")? {
            let source = fs::read_to_string(&path)?;
            if source.contains("build-pass") {
                let name = path.strip_prefix(&folder)?.to_string_lossy().into_owned();
                tests.push((name, source));
            }
        }
        tests.sort();
        Ok(tests)
    }

    /// Takes gemm's comparison with cuBLAS out of its host program.
    fn leave_out_cublas(&self) -> Result<()> {
        let file = self.folder.join("examples/cuda/gemm/src/main.rs");
        let text = fs::read_to_string(&file)?.replacen(CUBLAS_CALL, "", 1);
        let [start, end] = CUBLAS.map(|line| text.find(line));
        let (Some(start), Some(end)) = (start, end) else {
            return Err("gemm's host program has another part for cuBLAS".into());
        };
        fs::write(file, text[..start].to_owned() + &text[end..])?;
        Ok(())
    }
}

/// The files in a folder and below it whose names end so.
fn files(folder: PathBuf, end: &str) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn copy_tracked(from: &Path, to: &Path) -> Result<()> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(from)
        .output()?;
    let has_examples = from.join("examples/cuda/vecadd/kernels").is_dir();
    if !listed.status.success() || !has_examples {
        return Err(format!("{} is no checkout of Rust-CUDA", from.display()).into());
    }
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

/// The line of a manifest, with a dependency on ours in place of theirs; `None` for a dependency
/// that is left out.
fn dependency(line: &str) -> Option<String> {
    let name = line.split(" = ").next().unwrap_or_default();
    match name {
        // Continues in the next line: only in a host program that is not built.
        _ if line.ends_with('[') => Some(line.to_owned()),
        "cuda_std" | "cuda_builder" | "gpu_rand" | "cust" | "cust_core" => Some(ours(name)),
        _ if CUBLAS_DEPENDENCIES.contains(&name) => None,
        _ => Some(line.to_owned()),
    }
}

/// The dependency on a crate of this workspace.
pub fn ours(name: &str) -> String {
    let path = workspace().join("crates").join(name);
    let features = match name {
        // Rust-CUDA has no feature for it.
        "cuda_std" => ", features = [\"vek\"]",
        // The example path_tracer asks for it.
        "cust_core" => ", features = [\"glam\"]",
        _ => "",
    };
    format!("{name} = {{ package = \"gridstride_{name}\", path = {path:?}{features} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_ours() {
        let path = "cuda_std = { version = \"0.2\", path = \"../../crates/cuda_std\" }";
        assert!(dependency(path).unwrap().contains("gridstride_cuda_std"));
        let path = "cust = { path = \"../cust\" }";
        assert!(dependency(path).unwrap().contains("gridstride_cust"));
        assert_eq!(dependency("blastoff = { path = \"../blastoff\" }"), None);
        let path = "cust_core = { path = \"../cust_core\", features = [\"glam\"] }";
        assert!(dependency(path).unwrap().contains("gridstride_cust_core"));
        for line in [
            "optix_device = { path = \"../optix_device\" }",
            "[dependencies]",
            "",
        ] {
            assert_eq!(dependency(line).unwrap(), line);
        }
    }
}
