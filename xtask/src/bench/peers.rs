//! The requirements of peers, and whether they are installed.

use std::collections::BTreeMap;
use std::process::Command;

/// A library or program of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// For PyTorch's programs.
    Torch,
    /// For the programs in Numba.
    Numba,
    /// For exact search on the CPU.
    Faiss,
    /// For STRtree.
    Shapely,
    /// For exact search on the CPU.
    ScikitLearn,
    /// For the grouping of points on the CPU.
    DuckDb,
    /// For edit distances on GPUs.
    StringZilla,
    /// For edit distances, with rapidfuzz.
    Edlib,
    /// For input that is made in Python.
    NumPy,
    /// For CUB.
    Nvcc,
    /// For whole calls from Python: the package of this repository, with its peers.
    Python,
    /// For packages of Rust, which it fetches and builds.
    Cargo,
    /// For the grouping of labels, with the Python package of this repository.
    Polars,
}

impl Need {
    /// Returns its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Need::Torch => "PyTorch",
            Need::Numba => "Numba",
            Need::Faiss => "FAISS",
            Need::Shapely => "Shapely",
            Need::ScikitLearn => "scikit-learn",
            Need::DuckDb => "DuckDB",
            Need::StringZilla => "StringZilla",
            Need::Edlib => "edlib and rapidfuzz",
            Need::NumPy => "NumPy",
            Need::Nvcc => "nvcc",
            Need::Python => "gridstride for Python",
            Need::Cargo => "cargo",
            Need::Polars => "gridstride, pandas and polars for Python",
        }
    }

    /// Whether its programs measure gridstride too.
    pub fn is_with_us(self) -> bool {
        matches!(self, Need::Python | Need::Polars | Need::Cargo)
    }

    /// Its version, or its packages', if all are installed.
    fn version(self) -> Option<String> {
        let modules: &[&str] = match self {
            Need::Torch => &["torch"],
            Need::Numba => &["numba"],
            Need::Faiss => &["faiss"],
            Need::Shapely => &["shapely"],
            Need::ScikitLearn => &["sklearn"],
            Need::DuckDb => &["duckdb"],
            Need::StringZilla => &["stringzillas"],
            Need::Edlib => &["edlib", "rapidfuzz"],
            Need::NumPy => &["numpy"],
            Need::Python => &["gridstride"],
            Need::Polars => &["gridstride", "pandas", "polars"],
            Need::Cargo => return output(Command::new("cargo").arg("--version")),
            Need::Nvcc => {
                let text = output(Command::new("nvcc").arg("--version"))?;
                let release = text.split("release ").nth(1)?;
                return Some(release.split(',').next()?.to_owned());
            }
        };
        let version = |module: &&str| {
            // Packages may have another name than their module: FAISS is `faiss-cpu`.
            let code = format!(
                "import importlib.metadata as m, {module}; \
                 print(m.version(m.packages_distributions()['{module}'][0]))"
            );
            output(Command::new("python3").args(["-c", &code]))
        };
        let versions: Option<Vec<_>> = modules.iter().map(version).collect();
        Some(versions?.join(" and "))
    }
}

/// Returns the trimmed output of a command, if it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The versions of installed peers, each looked up once.
#[derive(Default)]
pub struct Peers {
    versions: BTreeMap<Need, Option<String>>,
}

impl Peers {
    /// Its version.
    pub fn version(&mut self, need: Need) -> Option<String> {
        let version = self.versions.entry(need);
        version.or_insert_with(|| need.version()).clone()
    }
}
