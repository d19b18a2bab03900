//! NVIDIA's assembler, where there is one: proof that the driver will take the PTX, and what each
//! kernel uses of the GPU.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Arch, BuildError};

/// Environment variable: the ptxas to use.
pub const PTXAS_VARIABLE: &str = "CUDA_BUILDER_PTXAS";

/// The resources of the GPU that a kernel uses, as ptxas reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The kernel.
    pub entry: String,
    /// Registers of each thread.
    pub registers: u32,
    /// Bytes of registers that each thread stores to memory for want of registers.
    pub spill_stores: u32,
    /// Bytes of registers that each thread loads back.
    pub spill_loads: u32,
    /// Bytes of static shared memory of each block.
    pub shared: u32,
    /// Bytes of stack of each thread.
    pub stack: u32,
}

/// A ptxas.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: PathBuf,
}

impl Ptxas {
    /// The ptxas named by [`PTXAS_VARIABLE`], else the one on PATH, else the one of the CUDA
    /// toolkit's usual place.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoPtxas`] if there is none.
    pub fn find() -> Result<Self, BuildError> {
        if let Some(program) = std::env::var_os(PTXAS_VARIABLE).filter(|value| !value.is_empty()) {
            return Ok(Self {
                program: PathBuf::from(program),
            });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/local/cuda/bin".into()]);
        let program = folders
            .map(|folder| folder.join(format!("ptxas{EXE_SUFFIX}")))
            .find(|program| program.is_file());
        program
            .map(|program| Self { program })
            .ok_or(BuildError::NoPtxas)
    }

    /// The architectures that this ptxas assembles for and that the builder knows.
    ///
    /// # Errors
    ///
    /// [`BuildError::Run`] or [`BuildError::Tool`] if it does not run.
    pub fn architectures(&self) -> Result<Vec<Arch>, BuildError> {
        let help = self.run(&["--help".as_ref()])?;
        Ok(architectures_in(&help))
    }

    /// Assembles `ptx` for `arch` and says what each of its kernels uses, in the order of their
    /// names.
    ///
    /// # Errors
    ///
    /// [`BuildError::Tool`] with ptxas's message if it refuses the PTX.
    pub fn assemble(&self, ptx: &Path, arch: Arch) -> Result<Vec<Resources>, BuildError> {
        let cubin = tempfile::NamedTempFile::new()
            .map_err(BuildError::io("create a file in", &std::env::temp_dir()))?;
        let arch = format!("-arch={arch}");
        let printed = self.run(&[
            "-v".as_ref(),
            arch.as_ref(),
            "-o".as_ref(),
            cubin.path(),
            ptx,
        ])?;
        Ok(resources_in(&printed))
    }

    fn run(&self, arguments: &[&Path]) -> Result<String, BuildError> {
        let output = Command::new(&self.program)
            .args(arguments)
            .output()
            .map_err(BuildError::run(&self.program))?;
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        printed.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            return Ok(printed);
        }
        Err(BuildError::Tool {
            program: self.program.clone(),
            stderr: printed.trim().to_owned(),
        })
    }
}

/// The architectures in the list that `ptxas --help` gives under `--gpu-name`.
fn architectures_in(help: &str) -> Vec<Arch> {
    let list = help.split_once("--gpu-name").map_or(help, |(_, list)| list);
    let is_listed = |arch: &&Arch| list.contains(&format!("'{arch}'"));
    Arch::ALL.iter().filter(is_listed).copied().collect()
}

/// The kernels in what `ptxas -v` prints.
fn resources_in(printed: &str) -> Vec<Resources> {
    let mut all: Vec<Resources> = Vec::new();
    // The properties of a called function come in the same form, but have no entry.
    let mut in_entry = false;
    for line in printed.lines() {
        if let Some((_, behind)) = line.split_once("Compiling entry function '") {
            let entry = behind.split('\'').next().unwrap_or_default().to_owned();
            all.push(Resources {
                entry,
                ..Resources::default()
            });
        }
        let Some(current) = all.last_mut() else {
            continue;
        };
        if let Some((_, name)) = line.split_once("Function properties for ") {
            in_entry = name.trim().trim_matches('\'') == current.entry;
        } else if line.contains(" bytes stack frame") && in_entry {
            current.stack = number_before(line, " bytes stack frame");
            current.spill_stores = number_before(line, " bytes spill stores");
            current.spill_loads = number_before(line, " bytes spill loads");
        } else if line.contains("Used ") && line.contains(" registers") {
            current.registers = number_before(line, " registers");
            current.shared = number_before(line, " bytes smem");
        }
    }
    all.sort_by(|a, b| a.entry.cmp(&b.entry));
    all
}

/// The number that stands before `unit`, 0 if there is none.
fn number_before(line: &str, unit: &str) -> u32 {
    let Some(end) = line.find(unit) else { return 0 };
    let digits = line[..end]
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by ptxas 13.0.88; `spilling` is after the form of its spill line.
    const PRINTED: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'reverse_blocks' for 'sm_90'
ptxas info    : Function properties for reverse_blocks
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compile time = 3.374 ms
ptxas info    : Compiling entry function 'gather' for 'sm_90'
ptxas info    : Function properties for gather
    40 bytes stack frame, 36 bytes spill stores, 28 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 372 bytes cmem[0]
ptxas info    : Compile time = 3.831 ms
";

    #[test]
    fn resources_are_read() {
        let gather = Resources {
            entry: "gather".to_owned(),
            registers: 255,
            spill_stores: 36,
            spill_loads: 28,
            shared: 0,
            stack: 40,
        };
        let reverse = Resources {
            entry: "reverse_blocks".to_owned(),
            registers: 10,
            shared: 1024,
            ..Resources::default()
        };
        assert_eq!(resources_in(PRINTED), [gather, reverse]);
    }

    #[test]
    fn architectures_are_read() {
        let help = "--gpu-name <gpu name>  (-arch)\n Allowed values for this option:  'compute_75',\
                    'sm_75','sm_88',\n 'sm_90','sm_90a'";
        assert_eq!(
            architectures_in(help),
            [Arch::Sm75, Arch::Sm90, Arch::Sm90a]
        );
    }
}
