//! Formats and compressions by the endings of outputs' names.

use std::path::Path;

use anyhow::{Result, bail};

use crate::report::UsageError;

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    /// Cells with commas between them.
    Csv,
    /// Cells with tabs between them.
    Tsv,
    /// A matrix in NumPy's format.
    Npy,
    /// A tree in Newick's format.
    Newick,
    /// Sequences.
    Fasta,
    /// SVG, or PNG if the name says so.
    Picture,
    /// The format that another option chooses.
    Chosen,
}

const FORMATS: [Format; 6] = [
    Format::Csv,
    Format::Tsv,
    Format::Npy,
    Format::Newick,
    Format::Fasta,
    Format::Picture,
];

/// Endings that promise a format which the program does not write.
const OTHERS: [&str; 39] = [
    "7z", "arrow", "avro", "br", "bz2", "eps", "feather", "gif", "h5", "hdf5", "html", "ipc",
    "jpeg", "jpg", "json", "jsonl", "lz4", "lzma", "mat", "ndjson", "npz", "ods", "orc", "parquet",
    "pdf", "pkl", "ps", "rar", "svgz", "tar", "tgz", "tif", "tiff", "webp", "xls", "xlsx", "xz",
    "z", "zip",
];

/// The compression of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compression {
    /// No compression.
    Plain,
    /// By gzip.
    Gzip,
    /// By zstd.
    Zstd,
}

impl Format {
    /// Returns the endings that name the format.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Format::Csv => &["csv", "txt"],
            Format::Tsv => &["tsv", "tab", "txt"],
            Format::Npy => &["npy"],
            Format::Newick => &["nwk", "newick", "tre", "tree", "txt"],
            Format::Fasta => &["fa", "fasta", "fna", "faa", "txt"],
            Format::Picture => &["svg", "png"],
            Format::Chosen => &[],
        }
    }

    /// Returns an error if the ending of a name belongs to another format. A name without an ending, or
    /// with an ending of no format, such as that of a temporary file, is accepted.
    pub fn check(self, option: &str, path: &Path) -> Result<()> {
        let (ending, _) = endings(path);
        let is_format = |ending: &&str| {
            let mut all = FORMATS.iter().flat_map(|format| format.endings());
            OTHERS.contains(ending) || all.any(|other| other == ending)
        };
        let ending = ending.as_deref().filter(is_format);
        match ending {
            Some(ending) if self != Format::Chosen && !self.endings().contains(&ending) => {
                let endings = self.endings().iter().map(|ending| format!(".{ending}"));
                bail!(UsageError(format!(
                    "{option} cannot write {}: possible endings are {}, also with .gz or .zst behind them",
                    path.display(),
                    endings.collect::<Vec<_>>().join(", ")
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the ending of a name in lower case and its compression. For `a.csv.gz` the ending is `csv`.
pub fn endings(path: &Path) -> (Option<String>, Compression) {
    let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    let last = ending(path);
    let compression = match last.as_deref() {
        Some("gz") => Compression::Gzip,
        Some("zst") => Compression::Zstd,
        _ => return (last, Compression::Plain),
    };
    (
        path.file_stem().map(Path::new).and_then(ending),
        compression,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_promise_another_format_are_refused() {
        for (format, name) in [
            (Format::Csv, "a.csv"),
            (Format::Csv, "a.CSV.gz"),
            (Format::Csv, "a"),
            (Format::Csv, "a.gz"),
            (Format::Csv, "tmp.Xa81bN"),
            (Format::Csv, "2026.01"),
            (Format::Picture, "a.svg.zst"),
            (Format::Picture, "a.PNG"),
            (Format::Npy, "-"),
        ] {
            format.check("--out", Path::new(name)).expect(name);
        }
        for (format, name) in [
            (Format::Csv, "a.tsv"),
            (Format::Csv, "a.csv.bz2"),
            (Format::Csv, "a.npy.gz"),
            (Format::Tsv, "a.parquet"),
            (Format::Picture, "a.pdf"),
            (Format::Npy, "a.csv"),
        ] {
            let said = format.check("--out", Path::new(name)).unwrap_err();
            assert!(said.is::<UsageError>(), "{name}");
            let said = said.to_string();
            assert!(
                said.starts_with(&format!(
                    "--out cannot write {name}: possible endings are ."
                )),
                "{said}"
            );
        }
    }

    #[test]
    fn compression_follows_the_name() {
        for (name, expected) in [
            ("a.csv", Compression::Plain),
            ("a.csv.GZ", Compression::Gzip),
            ("a.zst", Compression::Zstd),
            ("gz", Compression::Plain),
            (".gz", Compression::Plain),
        ] {
            assert_eq!(endings(Path::new(name)).1, expected, "{name}");
        }
    }
}
