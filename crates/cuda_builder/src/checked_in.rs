//! PTX that is checked in, and build scripts.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::builder::write_if_changed;
use crate::sources::Sources;
use crate::{Arch, BuildError, CudaBuilder, Record, ptx_file_name, report};

/// A kernel crate whose PTX is checked in: made by [`CudaBuilder::checked_in`].
#[derive(Clone, Debug)]
#[must_use = "nothing is read or compiled before `provide` or `build_script`"]
pub struct CheckedIn {
    builder: CudaBuilder,
    folder: PathBuf,
    name: String,
}

/// PTX from [`CheckedIn::provide`].
#[derive(Clone, Debug)]
pub struct Provided {
    /// The PTX file: the last [`CudaBuilder::copy_to`], else the file that is checked in or was
    /// compiled.
    pub ptx_path: PathBuf,
    /// Whether the PTX is the one that is checked in.
    pub is_checked_in: bool,
    /// The files that this result depends on: the sources, the record and the checked-in PTX.
    pub files: Vec<PathBuf>,
}

impl CudaBuilder {
    /// Takes PTX from `folder` while its sources are those of the record, so that a device compiler
    /// is needed only after a kernel has changed.
    ///
    /// The folder holds `<name>.<architecture>.ptx` and `record.toml`. [`Record`] shows how to
    /// write both.
    ///
    /// While the checked-in PTX is current nothing is compiled, so
    /// [`emit_llvm_ir`](Self::emit_llvm_ir), [`emit_llvm_bitcode`](Self::emit_llvm_bitcode) and
    /// [`final_module_path`](Self::final_module_path) write no file.
    ///
    /// ```no_run
    /// use cuda_builder::{Arch, CudaBuilder};
    ///
    /// // In the `main` of build.rs:
    /// let builder = CudaBuilder::new("kernels").arch(Arch::Sm70);
    /// builder.checked_in("ptx", "my_kernels").build_script("my_kernels.ptx");
    /// ```
    pub fn checked_in(self, folder: impl Into<PathBuf>, name: impl Into<String>) -> CheckedIn {
        CheckedIn {
            builder: self,
            folder: folder.into(),
            name: name.into(),
        }
    }

    /// Compiles the kernel crate from a build script, into `file_name` in cargo's `OUT_DIR`.
    ///
    /// Tells cargo which files and variables the PTX depends on. An error becomes `cargo::error`
    /// lines: cargo prints them and stops once the build script has ended, and there is no panic
    /// with a backtrace.
    ///
    /// ```no_run
    /// // In the `main` of build.rs:
    /// cuda_builder::CudaBuilder::new("kernels").build_script("my_kernels.ptx");
    /// ```
    pub fn build_script(self, file_name: &str) {
        report::outcome(out_file(file_name).and_then(|file| {
            let build = self.copy_to(file).compile()?;
            Ok(build.sources.files)
        }));
    }
}

impl CheckedIn {
    /// Returns the checked-in PTX if the record has it for the architecture and with the hash of the
    /// sources as they are now, and compiles the kernel crate otherwise.
    ///
    /// # Errors
    ///
    /// [`BuildError::Record`] if the checked-in PTX is missing or differs from the record,
    /// [`BuildError::Outdated`] if the record does not have it and compiling the sources failed.
    pub fn provide(self) -> Result<Provided, BuildError> {
        self.builder.options.check()?;
        let arch = Arch::try_from(self.builder.arch)?;
        let sources = self.builder.source_hash()?;
        let record_path = self.folder.join("record.toml");
        let record = Record::load(&record_path)?;
        let ptx_path = self.folder.join(ptx_file_name(&self.name, arch));
        let mut files = sources.files.clone();
        files.extend([record_path.clone(), ptx_path.clone()]);
        if let Some(reason) = self.reason_against(&record, &sources, arch) {
            let build = self
                .builder
                .compile()
                .map_err(|error| BuildError::Outdated {
                    name: self.name,
                    folder: self.folder,
                    reason,
                    error: Box::new(error),
                })?;
            return Ok(Provided {
                ptx_path: build.ptx_path,
                is_checked_in: false,
                files,
            });
        }
        record
            .check_files(&self.name, &self.folder)
            .map_err(|error| BuildError::Record {
                path: record_path,
                message: error.to_string(),
            })?;
        let ptx_path = match self.builder.copy_to {
            None => ptx_path,
            Some(copy) => {
                let text =
                    fs::read_to_string(&ptx_path).map_err(BuildError::io("read", &ptx_path))?;
                write_if_changed(&copy, &text)?;
                copy
            }
        };
        Ok(Provided {
            ptx_path,
            is_checked_in: true,
            files,
        })
    }

    /// Writes the PTX to `file_name` in cargo's `OUT_DIR`, from a build script.
    ///
    /// Reports files, variables and errors to cargo as [`CudaBuilder::build_script`] does.
    pub fn build_script(mut self, file_name: &str) {
        report::outcome(out_file(file_name).and_then(|file| {
            self.builder = self.builder.copy_to(file);
            Ok(self.provide()?.files)
        }));
    }

    /// Why the record does not stand for PTX of these sources and this architecture, if so.
    fn reason_against(&self, record: &Record, sources: &Sources, arch: Arch) -> Option<String> {
        let Some((_, recorded)) = record.crates().find(|(name, _)| *name == self.name) else {
            let names: Vec<_> = record.crates().map(|(name, _)| name).collect();
            return Some(match names.is_empty() {
                true => "is not recorded".to_owned(),
                false => format!("is not recorded (the record has {})", names.join(", ")),
            });
        };
        if recorded.sources != sources.hash {
            return Some("was not made from its sources as they are now".to_owned());
        }
        if recorded.ptx.contains_key(arch.name()) {
            return None;
        }
        let archs: Vec<_> = recorded.ptx.keys().map(String::as_str).collect();
        Some(format!("is for {}, not for {arch}", archs.join(", ")))
    }
}

fn out_file(name: &str) -> Result<PathBuf, BuildError> {
    let folder = env::var_os("OUT_DIR").ok_or(BuildError::NotABuildScript)?;
    Ok(Path::new(&folder).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeviceCompiler, source_hash, sources};

    const PTX: &str = ".visible .entry k()\n{\nret;\n}\n";

    /// A crate `kernels` whose PTX is checked in, in a folder of its own.
    fn checked_in() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let kernels = folder.path().join("kernels");
        fs::create_dir_all(kernels.join("src")).unwrap();
        let manifest =
            "[package]\nname = \"k\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(kernels.join("Cargo.toml"), manifest).unwrap();
        fs::write(kernels.join("src/lib.rs"), "").unwrap();
        let ptx = folder.path().join("ptx");
        fs::create_dir(&ptx).unwrap();
        fs::write(ptx.join("k.sm_70.ptx"), PTX).unwrap();
        let record = format!(
            "[k]\nsources = \"{}\"\ncompiler = \"rustc\"\nllvm = \"22\"\n\
             [k.ptx.sm_70]\nsha256 = \"{}\"\n[k.ptx.sm_70.barriers]\nk = 0\n",
            source_hash(&kernels).unwrap().hash,
            sources::text_hash(PTX)
        );
        fs::write(ptx.join("record.toml"), record).unwrap();
        folder
    }

    /// Provides PTX as a machine without a device compiler does.
    fn provide(folder: &Path) -> Result<Provided, BuildError> {
        provide_as(folder, "k", Arch::Sm70)
    }

    fn provide_as(folder: &Path, name: &str, arch: Arch) -> Result<Provided, BuildError> {
        let missing = PathBuf::from("/nonexistent");
        let compiler = DeviceCompiler {
            cargo: missing.clone(),
            rustc: missing.clone(),
            opt: missing.clone(),
            llc: missing,
            rustc_version: "rustc 1.96.0".to_owned(),
            llvm_version: "22".to_owned(),
        };
        CudaBuilder::new(folder.join("kernels"))
            .arch(arch)
            .compiler(compiler)
            .copy_to(folder.join("out/k.ptx"))
            .checked_in(folder.join("ptx"), name)
            .provide()
    }

    #[test]
    fn ptx_of_the_same_sources_needs_no_compiler() {
        let folder = checked_in();
        let provided = provide(folder.path()).unwrap();
        assert!(provided.is_checked_in);
        assert_eq!(fs::read_to_string(&provided.ptx_path).unwrap(), PTX);
        let names: Vec<_> = provided
            .files
            .iter()
            .filter_map(|file| file.file_name()?.to_str())
            .collect();
        assert_eq!(
            names,
            ["Cargo.toml", "lib.rs", "record.toml", "k.sm_70.ptx"]
        );
    }

    #[test]
    fn changed_sources_are_compiled() {
        let folder = checked_in();
        fs::write(folder.path().join("kernels/src/lib.rs"), "// changed").unwrap();
        let error = provide(folder.path()).unwrap_err();
        assert!(matches!(error, BuildError::Outdated { .. }), "{error}");
        let sentence = "was not made from its sources as they are now, and the sources do not \
                        compile here: cannot run";
        assert!(error.to_string().contains(sentence), "{error}");
    }

    #[test]
    fn ptx_that_the_record_does_not_have_is_named() {
        let folder = checked_in();
        for (name, arch, reason) in [
            (
                "other",
                Arch::Sm70,
                "is not recorded (the record has k), and",
            ),
            ("k", Arch::Sm80, "is for sm_70, not for sm_80, and"),
        ] {
            let error = provide_as(folder.path(), name, arch).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        fs::remove_file(folder.path().join("ptx/record.toml")).unwrap();
        let error = provide(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains(" is not recorded, and"),
            "{error}"
        );
    }

    #[test]
    fn changed_ptx_is_refused() {
        let folder = checked_in();
        fs::write(folder.path().join("ptx/k.sm_70.ptx"), "edited").unwrap();
        let message = provide(folder.path()).unwrap_err().to_string();
        let sentence = "k.sm_70.ptx is missing or was changed since it was recorded";
        assert!(message.contains(sentence), "{message}");
    }
}
