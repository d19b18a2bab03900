//! A command line of a step, and how it is shown and run.

use std::path::Path;

use super::peers::Need;

/// Where the plots and the results are.
pub const FOLDER: &str = "docs/benchmarks";

/// Timed runs of `--quick`.
const QUICK: &str = "3";

/// A command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How often it runs.
    pub times: usize,
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What the process is in the results, if it is a row itself.
    pub case: Option<String>,
}

/// The program of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// One of ours, by folder and name.
    Ours(String, String),
    /// A peer's, or what makes its input: it may be missing.
    Other(String),
}

impl Line {
    /// Of a line as the steps have them.
    pub fn parse(text: &str) -> Line {
        let (times, text) = match text.split_once(" × ") {
            Some((times, rest)) if !times.contains(' ') => (times.parse().unwrap_or(1), rest),
            _ => (1, text),
        };
        let (text, case) = match text.split_once(" # ") {
            Some((text, case)) => (text, Some(case.to_owned())),
            None => (text, None),
        };
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next().unwrap_or_default();
        let program = match program.split_once('/') {
            Some((folder @ ("benches" | "bin"), name)) => {
                Program::Ours(folder.to_owned(), name.to_owned())
            }
            _ => Program::Other(program),
        };
        Line {
            times,
            program,
            arguments: words.collect(),
            case,
        }
    }

    /// With another folder for the plots.
    pub fn with_folder(mut self, folder: &str) -> Line {
        for word in &mut self.arguments {
            if let Some(name) = word.strip_prefix(FOLDER) {
                *word = format!("{folder}{name}");
            }
        }
        self
    }

    /// With few runs, if it is one of our programs that are told how many.
    pub fn quick(mut self) -> Line {
        let Program::Ours(folder, name) = &self.program else {
            return self;
        };
        let subcommand = self.arguments.first().map(String::as_str);
        self.times = self.times.min(2);
        let option = match (folder.as_str(), name.as_str()) {
            ("bin", "gridstride") if subcommand == Some("vector-add") => "--repeat",
            ("bin", "gridstride") => return self,
            _ => "--runs",
        };
        match self.arguments.iter().position(|word| word == option) {
            Some(place) => QUICK.clone_into(&mut self.arguments[place + 1]),
            None => self.arguments.extend([option, QUICK].map(str::to_owned)),
        }
        self
    }

    /// Returns what has to be installed for the program, if it is not ours.
    pub fn need(&self) -> Option<Need> {
        let Program::Other(program) = &self.program else {
            return None;
        };
        let script = self.arguments.first().map_or("", String::as_str);
        let needs = [
            ("_torch.py", Need::Torch),
            ("_numba.py", Need::Numba),
            ("_numba_cpu.py", Need::Numba),
            ("_faiss.py", Need::Faiss),
            ("_strtree.py", Need::Shapely),
            ("_sklearn.py", Need::ScikitLearn),
            ("_duckdb.py", Need::DuckDb),
            ("_stringzilla.py", Need::StringZilla),
            ("edit_distance_cpu.py", Need::Edlib),
            ("labels.py", Need::Polars),
            ("run.py", Need::Python),
        ];
        match program.as_str() {
            "python3" => (),
            "cargo" => return Some(Need::Cargo),
            _ => return Some(Need::Nvcc),
        }
        let found = needs.iter().find(|(end, _)| script.ends_with(end));
        Some(found.map_or(Need::NumPy, |(_, need)| *need))
    }

    /// Whether it makes input for others, which then cannot run without it.
    pub fn is_preparation(&self) -> bool {
        self.need() == Some(Need::NumPy)
    }

    /// Whether the GPU does the work.
    pub fn is_on_gpu(&self) -> bool {
        match (&self.program, self.need()) {
            (Program::Ours(..), _) => self.arguments.iter().any(|word| word == "cuda"),
            (
                _,
                Some(Need::Torch | Need::Numba | Need::Nvcc | Need::StringZilla | Need::Python),
            ) => !self.arguments.iter().any(|word| word.ends_with("_cpu.py")),
            _ => false,
        }
    }

    /// As one types it; without a bundle cargo runs our programs.
    pub fn text(&self, bundle: Option<&Path>) -> String {
        let mut words = match (&self.program, bundle) {
            (Program::Other(program), _) => vec![program.clone()],
            (Program::Ours(folder, name), Some(bundle)) => {
                vec![format!("{}/{folder}/{name}", bundle.display())]
            }
            (Program::Ours(folder, name), None) => {
                let cargo = match folder.as_str() {
                    "benches" => {
                        format!("cargo bench -p gridstride_benches --features cuda --bench {name}")
                    }
                    _ => format!("cargo run --release -p {}", package(name)),
                };
                match self.arguments.is_empty() {
                    true => vec![cargo],
                    false => vec![cargo, "--".to_owned()],
                }
            }
        };
        words.extend(self.arguments.iter().cloned());
        words.join(" ")
    }
}

/// The package of a program of the folder `bin`.
pub fn package(name: &str) -> &str {
    match name {
        "gridstride" => "gridstride_cli",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATMUL: &str = "benches/matmul --device cuda --sweep";

    #[test]
    fn lines_are_shown_as_one_types_them() {
        let line = Line::parse(MATMUL);
        let bundle = Path::new("gpu-bundle");
        assert_eq!(line.text(Some(bundle)), format!("gpu-bundle/{MATMUL}"));
        assert_eq!(
            line.text(None),
            "cargo bench -p gridstride_benches --features cuda --bench matmul -- --device cuda --sweep"
        );
        assert!(line.is_on_gpu() && line.need().is_none());
        for (line, expected) in [
            (
                "bin/gridstride matmul",
                "cargo run --release -p gridstride_cli -- matmul",
            ),
            (
                "bin/gridstride_learn matmul",
                "cargo run --release -p gridstride_learn -- matmul",
            ),
        ] {
            assert_eq!(Line::parse(line).text(None), expected);
        }
    }

    #[test]
    fn lines_may_be_rows_themselves() {
        let text = "3 × bin/gridstride boxes --plot docs/benchmarks/b.svg # two files";
        let line = Line::parse(text).with_folder("elsewhere");
        assert_eq!((line.times, line.case.as_deref()), (3, Some("two files")));
        assert_eq!(line.arguments, ["boxes", "--plot", "elsewhere/b.svg"]);
    }

    #[test]
    fn quick_takes_few_runs() {
        let quick = |text| Line::parse(text).quick().arguments.join(" ");
        assert_eq!(quick("benches/a --runs 80 --only b"), "--runs 3 --only b");
        assert_eq!(quick("bin/gridstride_learn matmul"), "matmul --runs 3");
        assert_eq!(quick("bin/gridstride vector-add"), "vector-add --repeat 3");
        assert_eq!(
            quick("bin/gridstride tensor-sketch x.fa"),
            "tensor-sketch x.fa"
        );
        assert_eq!(quick("python3 x.py"), "x.py");
    }

    #[test]
    fn peers_need_what_their_name_says() {
        let need = |text| Line::parse(text).need();
        assert_eq!(need("python3 a_torch.py 1"), Some(Need::Torch));
        assert_eq!(need("python3 a_numba_cpu.py"), Some(Need::Numba));
        assert_eq!(need("target/bench/cub"), Some(Need::Nvcc));
        assert_eq!(need("cargo run --release"), Some(Need::Cargo));
        assert_eq!(need("python3 a_duckdb.py"), Some(Need::DuckDb));
        assert_eq!(need("python3 python/benches/labels.py"), Some(Need::Polars));
        assert!(Line::parse("python3 benches/random_sequences.py a 1 1").is_preparation());
        assert!(!Line::parse("python3 a_numba_cpu.py").is_on_gpu());
        assert!(Line::parse("python3 a_numba.py").is_on_gpu());
    }
}
