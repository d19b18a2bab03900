//! Records of the sources and compilers of checked-in PTX, and checks against them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::sources::text_hash;
use crate::{Arch, Build, BuildError, PtxSummary};

/// The first line of every record.
const HEADER: &str = "# What the PTX beside this file was made from, and by what. Written by cuda_builder: do not edit.\n";

/// The key under which the barriers of functions that were not inlined into a kernel are counted.
const CALLED_FUNCTIONS: &str = "called functions";

/// The record of a folder of checked-in PTX.
///
/// PTX depends on its sources and on the compiler, and the compiler moves on in time. So a rebuild
/// is held against the record in three ways, see [`Record::check`].
///
/// A program that writes PTX and record for
/// [`CudaBuilder::checked_in`](crate::CudaBuilder::checked_in):
///
/// ```no_run
/// use std::path::Path;
///
/// use cuda_builder::{Arch, CudaBuilder, Record, ptx_file_name};
///
/// # fn main() -> Result<(), cuda_builder::BuildError> {
/// let folder = Path::new("ptx");
/// let file = folder.join(ptx_file_name("my_kernels", Arch::Sm70));
/// let build = CudaBuilder::new("kernels").arch(Arch::Sm70).copy_to(file).build()?;
/// let mut record = Record::load(&folder.join("record.toml"))?;
/// record.put("my_kernels", &[build]);
/// record.save(&folder.join("record.toml"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record {
    crates: BTreeMap<String, CrateRecord>,
}

/// The record of a kernel crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrateRecord {
    /// The hash of the sources, see [`CudaBuilder::source_hash`](crate::CudaBuilder::source_hash).
    pub sources: String,
    /// The rustc.
    pub compiler: String,
    /// The version of LLVM.
    pub llvm: String,
    /// The PTX for each architecture, by its name.
    pub ptx: BTreeMap<String, PtxRecord>,
}

/// The record of a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PtxRecord {
    /// SHA-256 of the text, with `\n` at line ends.
    pub sha256: String,
    /// Barrier instructions of each kernel: a compiler that copies one changes its kernel's count.
    pub barriers: BTreeMap<String, usize>,
}

/// The result of a rebuild that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Sources, compiler and PTX are those of the record.
    Identical,
    /// The sources are those of the record, the compiler is another: the PTX may differ, and has to
    /// be assembled and tested by itself.
    OtherCompiler {
        /// The compiler of the record.
        recorded: String,
        /// The compiler of the rebuild.
        present: String,
        /// Each kernel with more or fewer barriers than recorded, as a sentence. Empty if both
        /// compilers have the same LLVM: then other barriers are [`CheckError::Barriers`].
        barriers: Vec<String>,
    },
}

/// Why the checked-in PTX cannot stand.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// Nothing is recorded.
    #[error("`{name}` is not in the record: build its PTX")]
    Unrecorded {
        /// The kernel crate.
        name: String,
    },
    /// The sources are not those that the PTX was made from.
    #[error("the PTX of `{name}` is older than its sources: rebuild it")]
    Stale {
        /// The kernel crate.
        name: String,
    },
    /// The architectures are not those of the record.
    #[error("`{name}` asks for PTX for {present}, but the record has {recorded}: rebuild it")]
    Architectures {
        /// The kernel crate.
        name: String,
        /// The architectures of the record.
        recorded: String,
        /// The architectures that the crate asks for.
        present: String,
    },
    /// The same sources and the same compiler gave other PTX.
    #[error(
        "the PTX of `{name}` for {arch} is not what its sources and the recorded compiler give"
    )]
    Different {
        /// The kernel crate.
        name: String,
        /// The architecture.
        arch: String,
    },
    /// A kernel has more or fewer barriers than recorded.
    #[error("in the PTX of `{name}` for {arch}, {}", .kernels.join(", "))]
    Barriers {
        /// The kernel crate.
        name: String,
        /// The architecture.
        arch: String,
        /// Each kernel that differs, with both counts in words.
        kernels: Vec<String>,
    },
    /// A checked-in file is not the one that was recorded.
    #[error("{file} is missing or was changed since it was recorded: rebuild it")]
    Changed {
        /// The file's name.
        file: String,
    },
}

/// The name of a kernel crate's PTX file: `tensor_sketch.sm_70.ptx`.
#[must_use]
pub fn ptx_file_name(name: &str, arch: Arch) -> String {
    format!("{name}.{arch}.ptx")
}

impl Record {
    /// Reads a record; an empty one if the file does not exist.
    ///
    /// # Errors
    ///
    /// [`BuildError::Io`] if the file cannot be read, [`BuildError::Record`] if it is not a record.
    pub fn load(path: &Path) -> Result<Self, BuildError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(BuildError::io("read", path)(error)),
        };
        toml::from_str(&text).map_err(|error| Self::unusable(path, &error))
    }

    /// Writes the record.
    ///
    /// # Errors
    ///
    /// [`BuildError::Io`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), BuildError> {
        let text = toml::to_string(self).map_err(|error| Self::unusable(path, &error))?;
        fs::write(path, format!("{HEADER}\n{text}")).map_err(BuildError::io("write", path))
    }

    fn unusable(path: &Path, error: &dyn std::error::Error) -> BuildError {
        BuildError::Record {
            path: path.to_owned(),
            message: error.to_string(),
        }
    }

    /// The kernel crates, with what is recorded of each.
    pub fn crates(&self) -> impl Iterator<Item = (&str, &CrateRecord)> {
        self.crates
            .iter()
            .map(|(name, recorded)| (name.as_str(), recorded))
    }

    /// Puts a kernel crate's builds, one for each architecture, in place of what was recorded of
    /// it. Without builds the crate is taken out.
    ///
    /// The record has one hash for all of them, that of the first: the builds have to come from the
    /// same sources, with the same options except the architecture.
    pub fn put(&mut self, name: &str, builds: &[Build]) {
        match CrateRecord::of(builds) {
            Some(recorded) => self.crates.insert(name.to_owned(), recorded),
            None => self.crates.remove(name),
        };
    }

    /// Takes out every crate that is not among `names`.
    pub fn keep(&mut self, names: &[String]) {
        self.crates.retain(|name, _| names.contains(name));
    }

    /// Holds a rebuild against the record: other sources fail; with the recorded compiler the PTX
    /// has to be the same; another compiler is said.
    ///
    /// Other barriers fail if both compilers have the same major version of LLVM. Between versions
    /// they are said only: LLVM 23 unrolls a loop with a barrier where all threads go through it
    /// equally often, LLVM 22 does not.
    ///
    /// # Errors
    ///
    /// [`CheckError`] says what does not agree.
    pub fn check(&self, name: &str, builds: &[Build]) -> Result<Verdict, CheckError> {
        let recorded = self.find(name)?;
        let Some(present) = CrateRecord::of(builds) else {
            return Err(CheckError::Unrecorded {
                name: name.to_owned(),
            });
        };
        recorded.check(name, &present)
    }

    /// Whether the PTX files in `folder` are those that were recorded for the crate, and have the
    /// recorded barriers.
    ///
    /// # Errors
    ///
    /// [`CheckError::Changed`] names the file that is not, [`CheckError::Barriers`] the kernel.
    pub fn check_files(&self, name: &str, folder: &Path) -> Result<(), CheckError> {
        for (arch, recorded) in &self.find(name)?.ptx {
            let file = format!("{name}.{arch}.ptx");
            let text = fs::read_to_string(folder.join(&file)).unwrap_or_default();
            let present = PtxRecord::of(&text, &PtxSummary::of(&text));
            if present.sha256 != recorded.sha256 {
                return Err(CheckError::Changed { file });
            }
            recorded.check_barriers(name, arch, &present)?;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&CrateRecord, CheckError> {
        self.crates.get(name).ok_or_else(|| CheckError::Unrecorded {
            name: name.to_owned(),
        })
    }
}

impl CrateRecord {
    fn of(builds: &[Build]) -> Option<Self> {
        let first = builds.first()?;
        let ptx = builds.iter().map(|build| {
            (
                build.arch.to_string(),
                PtxRecord::of(&build.ptx, &build.summary),
            )
        });
        Some(Self {
            sources: first.sources.hash.clone(),
            compiler: first.compiler.rustc_version.clone(),
            llvm: first.compiler.llvm_version.clone(),
            ptx: ptx.collect(),
        })
    }

    fn check(&self, name: &str, present: &Self) -> Result<Verdict, CheckError> {
        let name = name.to_owned();
        if self.sources != present.sources {
            return Err(CheckError::Stale { name });
        }
        if !self.ptx.keys().eq(present.ptx.keys()) {
            let (recorded, present) = (self.arch_names(), present.arch_names());
            return Err(CheckError::Architectures {
                name,
                recorded,
                present,
            });
        }
        let same_compiler = self.compiler_name() == present.compiler_name();
        let mut barriers = Vec::new();
        for ((arch, recorded), present_ptx) in self.ptx.iter().zip(present.ptx.values()) {
            match recorded.check_barriers(&name, arch, present_ptx) {
                Err(error) if self.llvm_major() != present.llvm_major() => {
                    barriers.push(error.to_string());
                }
                result => result?,
            }
            if same_compiler && recorded.sha256 != present_ptx.sha256 {
                return Err(CheckError::Different {
                    name,
                    arch: arch.clone(),
                });
            }
        }
        if same_compiler {
            return Ok(Verdict::Identical);
        }
        let (recorded, present) = (self.compiler_name(), present.compiler_name());
        Ok(Verdict::OtherCompiler {
            recorded,
            present,
            barriers,
        })
    }

    fn llvm_major(&self) -> Option<&str> {
        self.llvm.split('.').next()
    }

    fn arch_names(&self) -> String {
        self.ptx
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn compiler_name(&self) -> String {
        format!("{} with LLVM {}", self.compiler, self.llvm)
    }
}

impl PtxRecord {
    fn of(ptx: &str, summary: &PtxSummary) -> Self {
        let mut barriers = BTreeMap::new();
        for (function, count) in &summary.barriers {
            // The names of other functions come from the compiler and change with it.
            let key = if summary.entries.contains(function) {
                function
            } else {
                CALLED_FUNCTIONS
            };
            *barriers.entry(key.to_owned()).or_default() += count;
        }
        Self {
            sha256: text_hash(ptx),
            barriers,
        }
    }

    fn check_barriers(&self, name: &str, arch: &str, present: &Self) -> Result<(), CheckError> {
        if self.barriers == present.barriers {
            return Ok(());
        }
        let names: BTreeSet<&String> = self
            .barriers
            .keys()
            .chain(present.barriers.keys())
            .collect();
        let count = |of: &Self, kernel: &String| of.barriers.get(kernel).copied().unwrap_or(0);
        let kernels = names.into_iter().filter_map(|kernel| {
            let (recorded, present) = (count(self, kernel), count(present, kernel));
            let differ = format!("`{kernel}` has {present} barriers and the record {recorded}");
            (recorded != present).then_some(differ)
        });
        Err(CheckError::Barriers {
            name: name.to_owned(),
            arch: arch.to_owned(),
            kernels: kernels.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{DeviceCompiler, Sources};

    fn build(arch: Arch, ptx: &str, sources: &str, rustc: &str) -> Build {
        Build {
            package: "kernels".to_owned(),
            arch,
            ptx_path: PathBuf::new(),
            ptx: ptx.to_owned(),
            summary: PtxSummary::of(ptx),
            compiler: DeviceCompiler {
                cargo: PathBuf::new(),
                rustc: PathBuf::new(),
                opt: PathBuf::new(),
                llc: PathBuf::new(),
                rustc_version: rustc.to_owned(),
                llvm_version: "22.1.8".to_owned(),
            },
            sources: Sources {
                files: Vec::new(),
                hash: sources.to_owned(),
                packages: Vec::new(),
                macros: Vec::new(),
                workspace_root: PathBuf::new(),
            },
        }
    }

    const PTX: &str = ".visible .entry k()\n{\nbar.sync 0;\nret;\n}\n";
    const LONGER: &str = ".visible .entry k()\n{\nbar.sync 0;\nadd.s32 %r1, %r2, 0;\nret;\n}\n";
    const TWO_BARRIERS: &str = ".visible .entry k()\n{\nbar.sync 0;\nbar.sync 0;\nret;\n}\n";

    fn recorded() -> Record {
        let mut record = Record::default();
        record.put("kernels", &[build(Arch::Sm70, PTX, "s", "rustc 1")]);
        record
    }

    fn check(arch: Arch, ptx: &str, sources: &str, rustc: &str) -> Result<Verdict, CheckError> {
        recorded().check("kernels", &[build(arch, ptx, sources, rustc)])
    }

    #[test]
    fn the_same_is_identical() {
        assert_eq!(
            check(Arch::Sm70, PTX, "s", "rustc 1"),
            Ok(Verdict::Identical)
        );
    }

    #[test]
    fn other_sources_fail_whatever_the_compiler() {
        for rustc in ["rustc 1", "rustc 2"] {
            let result = check(Arch::Sm70, PTX, "other", rustc);
            assert!(matches!(result, Err(CheckError::Stale { .. })));
        }
    }

    #[test]
    fn other_ptx_fails_with_the_same_compiler_only() {
        let same = check(Arch::Sm70, LONGER, "s", "rustc 1");
        assert!(matches!(same, Err(CheckError::Different { .. })));
        let other = check(Arch::Sm70, LONGER, "s", "rustc 2");
        assert!(matches!(other, Ok(Verdict::OtherCompiler { .. })));
    }

    #[test]
    fn other_barriers_fail_with_the_same_llvm() {
        const SENTENCE: &str =
            "in the PTX of `kernels` for sm_70, `k` has 2 barriers and the record 1";
        for rustc in ["rustc 1", "rustc 2"] {
            let error = check(Arch::Sm70, TWO_BARRIERS, "s", rustc).unwrap_err();
            assert_eq!(error.to_string(), SENTENCE);
        }
        let mut build = build(Arch::Sm70, TWO_BARRIERS, "s", "rustc 2");
        build.compiler.llvm_version = "23.1.4".to_owned();
        let verdict = recorded().check("kernels", &[build]).unwrap();
        let Verdict::OtherCompiler { barriers, .. } = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(barriers, [SENTENCE]);
    }

    #[test]
    fn other_architectures_and_unknown_crates_fail() {
        let result = check(Arch::Sm80, PTX, "s", "rustc 1");
        assert!(matches!(result, Err(CheckError::Architectures { .. })));
        assert!(matches!(
            recorded().check("other", &[]),
            Err(CheckError::Unrecorded { .. })
        ));
    }

    #[test]
    fn files_are_held_against_the_record() {
        let folder = tempfile::tempdir().unwrap();
        let changed = Err(CheckError::Changed {
            file: "kernels.sm_70.ptx".to_owned(),
        });
        assert_eq!(recorded().check_files("kernels", folder.path()), changed);
        let file = folder.path().join(ptx_file_name("kernels", Arch::Sm70));
        fs::write(&file, PTX.replace('\n', "\r\n")).unwrap();
        assert_eq!(recorded().check_files("kernels", folder.path()), Ok(()));
        fs::write(&file, LONGER).unwrap();
        assert_eq!(recorded().check_files("kernels", folder.path()), changed);
    }

    #[test]
    fn records_are_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.toml");
        assert_eq!(Record::load(&path).unwrap(), Record::default());
        recorded().save(&path).unwrap();
        assert_eq!(Record::load(&path).unwrap(), recorded());
        fs::write(&path, "kernels = 3").unwrap();
        assert!(matches!(
            Record::load(&path),
            Err(BuildError::Record { .. })
        ));
    }
}
