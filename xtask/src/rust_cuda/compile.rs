//! Kernel crates to PTX, and PTX through ptxas.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, CudaBuilder, Ptxas};

use super::checkout::ours;
use crate::Result;

/// In the comments of a compile test: the only architecture that it is for.
const ONLY: &str = "// only-compute_";

/// Compiles into a folder of its own.
pub struct Compiler {
    target: PathBuf,
    ptxas: Option<(Ptxas, Vec<Arch>)>,
}

impl Compiler {
    /// Without a ptxas, PTX is not assembled.
    pub fn new(target: PathBuf) -> Result<Self> {
        let ptxas = match Ptxas::find() {
            Ok(ptxas) => {
                let gpus = ptxas.architectures()?;
                Some((ptxas, gpus))
            }
            Err(error) => {
                println!("PTX is not assembled: {error}");
                None
            }
        };
        Ok(Self { target, ptxas })
    }

    /// Compiles the kernels of an example.
    pub fn example(&self, kernels: &Path, name: &str) -> Result<Vec<String>> {
        let ptx = programs_ptx(&self.target).join(name).with_extension("ptx");
        self.compile(kernels, ptx, Arch::Sm70)
    }

    /// Compiles a compile test as the crate that its source asks for.
    pub fn test(&self, source: &str, arch: Arch) -> Result<Vec<String>> {
        let folder = self.target.join("ui");
        let name = source
            .split_once("#![crate_name = \"")
            .and_then(|(_, rest)| rest.split('"').next())
            .unwrap_or("ui");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\n\n[dependencies]\n{}\n\
             glam = {{ version = \"0.30\", default-features = false, features = [\"cuda\", \"libm\"] }}\n\n[workspace]\n",
            ours("cuda_std")
        );
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/lib.rs"), source)?;
        self.compile(&folder, self.target.join("ui.ptx"), arch)
    }

    /// Returns the names of the kernels and of the GPUs that their PTX was assembled for.
    fn compile(&self, kernels: &Path, ptx: PathBuf, arch: Arch) -> Result<Vec<String>> {
        let build = CudaBuilder::new(kernels)
            .target_dir(self.target.join("build"))
            .arch(arch)
            .copy_to(ptx)
            .build()?;
        let mut gpus = Vec::new();
        if let Some((ptxas, known)) = &self.ptxas {
            let is_base =
                |gpu: &&Arch| arch.runs_on(**gpu) && (!gpu.is_specific() || **gpu == arch);
            for &gpu in known.iter().filter(is_base) {
                ptxas.assemble(&build, gpu)?;
                gpus.push(gpu.name().trim_start_matches("sm_"));
            }
        }
        Ok(vec![build.summary.entries.join(", "), gpus.join(" ")])
    }
}

/// The folder of the PTX that programs on a GPU machine load.
pub fn programs_ptx(target: &Path) -> PathBuf {
    target.join("ptx")
}

/// The architecture that a compile test is for, or why it cannot be compiled.
pub fn architecture(source: &str) -> std::result::Result<Arch, String> {
    let Some((_, only)) = source.split_once(ONLY) else {
        return Ok(Arch::Sm70);
    };
    let only = only.lines().next().unwrap_or_default().trim();
    let arch = format!("sm_{only}").parse::<Arch>();
    arch.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_say_what_they_are_for() {
        assert_eq!(architecture("// build-pass\n"), Ok(Arch::Sm70));
        assert_eq!(architecture("// only-compute_90a\n// x"), Ok(Arch::Sm90a));
        assert!(
            architecture("// only-compute_61\n")
                .unwrap_err()
                .contains("sm_61")
        );
    }
}
