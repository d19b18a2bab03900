//! Rust-CUDA's own kernels, compiled against this workspace's `cuda_std`.
//!
//! A checkout of Rust-CUDA is copied, its packages are pointed at the `cuda_std` and `cuda_builder` of this workspace, and nothing
//! else is changed. Then its example kernels are compiled, and each of its compile tests that has to pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{Arch, BuildError, CudaBuilder, Ptxas};

use crate::table::Table;
use crate::{Result, workspace};

/// The kernel crates of the examples.
const EXAMPLES: [&str; 4] = ["vecadd", "gemm", "sha2_crates_io", "path_tracer"];
const TESTS: &str = "tests/compiletests/ui";
/// In the comment of a compile test that has to pass.
const PASSES: &str = "build-pass";
/// Why a compile test that has to pass is left out.
const LEFT_OUT: [(&str, &str); 1] = [("dis/", "compares the text of the PTX")];

/// Compiles the kernels of the checkout at `path`, and prints what became of each.
pub fn check(path: &Path) -> Result<()> {
    let target = workspace().join("target/rust-cuda");
    let checkout = target.join("checkout");
    if checkout.exists() {
        fs::remove_dir_all(&checkout)?;
    }
    copy(path, &checkout)?;
    point_at_ours(&checkout)?;
    let ptxas = Ptxas::find().ok();
    if ptxas.is_none() {
        println!("there is no ptxas: the PTX is not assembled");
    }
    let compiler = Compiler { target, ptxas };
    let mut table = Table::new(&["kernels", "result"]);
    let mut failures = 0;
    let mut add = |name: String, result: std::result::Result<String, BuildError>| {
        let result = result.unwrap_or_else(|error| {
            failures += 1;
            format!("FAILED: {}", first_error(&error.to_string()))
        });
        println!("{name}: {result}");
        table.add(vec![name, result]);
    };
    for example in EXAMPLES {
        let kernels = checkout.join("examples/cuda").join(example).join("kernels");
        add(example.to_owned(), compiler.compile(&kernels, example));
    }
    let crate_of_tests = compiler.target.join("ui");
    for test in tests(&checkout.join(TESTS))? {
        let name = test.strip_prefix(checkout.join(TESTS))?;
        let name = name.to_string_lossy().into_owned();
        if LEFT_OUT.iter().any(|(folder, _)| name.starts_with(folder)) {
            continue;
        }
        write_test(&crate_of_tests, &fs::read_to_string(&test)?)?;
        add(name, compiler.compile(&crate_of_tests, "ui"));
    }
    println!();
    table.print();
    for (folder, reason) in LEFT_OUT {
        println!("left out: {folder}: {reason}");
    }
    match failures {
        0 => Ok(()),
        count => Err(format!("{count} do not compile").into()),
    }
}

struct Compiler {
    target: PathBuf,
    ptxas: Option<Ptxas>,
}

impl Compiler {
    /// Compiles a kernel crate and assembles its PTX. Returns what there is to say about it.
    fn compile(&self, kernels: &Path, name: &str) -> std::result::Result<String, BuildError> {
        let build = CudaBuilder::new(kernels)
            .target_dir(self.target.join("build"))
            .copy_to(self.target.join(name).with_extension("ptx"))
            .build()?;
        if let Some(ptxas) = &self.ptxas {
            for arch in [Arch::Sm80, Arch::Sm90] {
                ptxas.assemble(&build.ptx_path, arch)?;
            }
        }
        Ok(build.summary.entries.join(", "))
    }
}

/// Copies what git tracks.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(from)
        .output()?;
    if !listed.status.success() {
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

/// Points the packages at the crates of this workspace, and leaves their workspace, whose other members need CUDA.
fn point_at_ours(checkout: &Path) -> Result<()> {
    for name in ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"] {
        let file = checkout.join(name);
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    for example in EXAMPLES {
        let manifest = checkout.join(format!("examples/cuda/{example}/kernels/Cargo.toml"));
        let mut text = fs::read_to_string(&manifest)?;
        text.push_str("\n[workspace]\n");
        fs::write(manifest, text)?;
    }
    let mut open = vec![checkout.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.ends_with("Cargo.toml") {
                let text = fs::read_to_string(&path)?;
                let lines: Vec<_> = text.lines().map(dependency).collect();
                fs::write(&path, lines.join("\n"))?;
            }
        }
    }
    Ok(())
}

/// The line of a manifest, with the dependency on ours in the place of theirs.
fn dependency(line: &str) -> String {
    let ours = |name: &str, rest: &str| {
        let path = workspace().join("crates").join(name);
        format!("{name} = {{ package = \"gridstride_{name}\", path = {path:?}{rest} }}")
    };
    if line.starts_with("cuda_std = ") {
        ours("cuda_std", ", features = [\"vek\"]")
    } else if line.starts_with("cuda_builder = ") {
        ours("cuda_builder", "")
    } else {
        line.to_owned()
    }
}

/// The compile tests that have to pass, in the order of their names.
fn tests(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && fs::read_to_string(&path)?.contains(PASSES)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a crate of a compile test, under the name that its source asks for.
fn write_test(folder: &Path, source: &str) -> Result<()> {
    let name = source
        .split_once("#![crate_name = \"")
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("ui");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\n\n[dependencies]\n{}\n\
         glam = {{ version = \"0.30\", default-features = false, features = [\"cuda\", \"libm\"] }}\n\n[workspace]\n",
        dependency("cuda_std = ")
    );
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), source)?;
    Ok(())
}

/// The first line of a compiler's errors.
fn first_error(text: &str) -> &str {
    let mut lines = text.lines();
    let first = lines.clone().find(|line| line.starts_with("error"));
    first.or_else(|| lines.next()).unwrap_or_default()
}
