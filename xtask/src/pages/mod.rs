//! The figures of the pages: each stands between two comments of Markdown, the first of which says which row of
//! `docs/benchmarks/results.json` it is from.
//!
//! A table has a line for each case, and a column for each program that has measured one of them:
//!
//! ```text
//! <!-- rows time_series
//! mean, buckets of 7
//! mean, buckets of 1000 | with a note
//! -->
//! …
//! <!-- end -->
//! ```
//!
//! `*` stands for all cases that are no points of a plot. In a sentence, `<!-- time STEP / CASE -->…<!-- end -->` is a
//! median by events, ending in ` / PROGRAM` that of another program than gridstride; `call` and `process` in place of `time` are
//! of whole calls and processes, `rate` is in bytes or operations a second, `share` that of what the machine can do,
//! `faster … / PROGRAM` how many times as fast as a peer gridstride is by the peer's clock, and `machine STEP` the device and
//! the day.

mod blocks;
#[cfg(test)]
mod prose;
mod table;

use std::fs;
use std::path::PathBuf;

use blocks::replace;
use figures::Clock;

use crate::bench::Origin;
use crate::bench::results::{Results, Row};
use crate::bench::steps::STEPS;
use crate::{Result, workspace};

/// The comments before figures.
const KINDS: [&str; 8] = [
    "rows", "time", "call", "process", "rate", "share", "faster", "machine",
];

/// What the figures of pages are made from.
struct Source {
    results: Results,
    today: Origin,
}

/// The pages that may have figures.
fn pages() -> Result<Vec<PathBuf>> {
    let root = workspace();
    let mut pages = vec![
        root.join("README.md"),
        root.join("BENCHMARKS.md"),
        root.join("python/README.md"),
    ];
    for folder in ["docs/guide", "docs", "learn", "integrations"] {
        let mut folders = vec![root.join(folder)];
        if folder == "integrations" {
            folders = fs::read_dir(&folders[0])?
                .map(|entry| Ok(entry?.path()))
                .collect::<Result<_>>()?;
        }
        for folder in folders {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "md") {
                    pages.push(path);
                }
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Writes the figures of all pages anew.
///
/// # Errors
/// If a page names a row that does not exist.
pub fn write(results: Results) -> Result<()> {
    for (path, old, new) in all(results)? {
        if old != new {
            fs::write(&path, new)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

/// Each page as it is, and as it should be.
fn all(results: Results) -> Result<Vec<(PathBuf, String, String)>> {
    let source = Source {
        results,
        today: Origin::of_workspace()?,
    };
    let pages = pages()?.into_iter().map(|path| {
        let old = fs::read_to_string(&path)?;
        let new = replace(&old, |what| source.text(what))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path, old, new))
    });
    pages.collect()
}

impl Source {
    /// The text that belongs behind a comment; nothing if the comment is another's.
    fn text(&self, comment: &str) -> Result<Option<String>> {
        let (kind, what) = comment.split_once([' ', '\n']).unwrap_or((comment, ""));
        if !KINDS.contains(&kind) {
            return Ok(None);
        }
        let step = what.split(['\n', '/']).next().unwrap_or_default().trim();
        if !STEPS.iter().any(|known| known.name == step) {
            return Err(format!("there is no step {step}").into());
        }
        // A step that nobody has run yet leaves gaps; a case that a step does not have is a mistake.
        if self.results.of_step(step).next().is_none() {
            return Ok(Some(match kind {
                "rows" => "\n\nNot measured yet.\n\n".to_owned(),
                _ => "(not measured yet)".to_owned(),
            }));
        }
        let mut parts = what.split(" / ").map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let text = match kind {
            "rows" => format!("\n\n{}\n", table::table(self, what)?),
            "time" | "rate" | "share" | "faster" | "call" | "process" => {
                let (step, case, program) = (next(), next(), next());
                let clock = match kind {
                    "call" => Some(Clock::Call),
                    "process" => Some(Clock::Process),
                    "time" => Some(Clock::Device),
                    _ => None,
                };
                let or_ours = if program.is_empty() {
                    "gridstride"
                } else {
                    program
                };
                match kind {
                    "rate" => rate(self.row(step, case, or_ours, clock)?)?,
                    "share" => {
                        let row = self.row(step, case, "gridstride", Some(Clock::Device))?;
                        let share = self.results.share_of_ceiling(row);
                        figures::percent(
                            share.ok_or_else(|| format!("{step} / {case} has no share"))?,
                        )
                    }
                    "faster" => {
                        let peer = &self.row(step, case, program, None)?.measured;
                        let ours = self.row(step, case, "gridstride", Some(peer.clock))?;
                        figures::ratio(peer.median_ms / ours.measured.median_ms)
                    }
                    _ => figures::median(&self.row(step, case, or_ours, clock)?.measured),
                }
            }
            _ => self.machine(self.results.of_step(step))?,
        };
        Ok(Some(text))
    }

    /// A row by what is said of it.
    fn row(&self, step: &str, case: &str, program: &str, clock: Option<Clock>) -> Result<&Row> {
        let mut rows = self.results.of_step(step).filter(|row| {
            let measured = &row.measured;
            measured.case == case
                && measured.program == program
                && clock.is_none_or(|clock| clock == measured.clock)
        });
        Ok(rows
            .next()
            .ok_or_else(|| format!("no row of {program} is {step} / {case}"))?)
    }

    /// The device, the host, the commit and the day of rows, and the versions of the peers among them.
    fn machine<'a>(&'a self, rows: impl Iterator<Item = &'a Row>) -> Result<String> {
        let rows: Vec<_> = rows.collect();
        let ours = rows.iter().find(|row| row.is_ours()).or(rows.first());
        let ours = ours.ok_or("there are no rows")?;
        let mut text = match &ours.driver {
            Some(driver) => format!("{}, driver {driver}; {}", ours.device, ours.host),
            None => ours.host.clone(),
        };
        text += &format!("; {}, commit {}", ours.date, ours.commit);
        // By their runs, so that each run is named once.
        let mut peers: Vec<(String, Vec<String>)> = Vec::new();
        for row in rows.iter().filter(|row| !row.is_ours()) {
            let name = row.measured.program.split(" (").next().unwrap_or_default();
            let version = row.measured.version.as_deref().unwrap_or_default();
            // Peers that have not changed are kept from earlier runs.
            let run = match (row.date == ours.date, row.commit == ours.commit) {
                (true, true) => String::new(),
                (true, false) => format!(" (commit {})", row.commit),
                (false, _) => format!(" ({}, commit {})", row.date, row.commit),
            };
            let peer = format!("{name} {version}").trim_end().to_owned();
            let place = peers.iter().position(|(known, _)| *known == run);
            let place = place.unwrap_or_else(|| {
                peers.push((run, Vec::new()));
                peers.len() - 1
            });
            if !peers[place].1.contains(&peer) {
                peers[place].1.push(peer);
            }
        }
        for (run, names) in peers {
            text += &format!("; {}{run}", names.join(", "));
        }
        Ok(text)
    }

    /// A mark for a row that is older than its kernel.
    fn mark(&self, row: &Row) -> &'static str {
        match row.is_older_than(&self.today) {
            true => "†",
            false => "",
        }
    }
}

/// Bytes or operations a second.
fn rate(row: &Row) -> Result<String> {
    let measured = &row.measured;
    let (count, unit) = match (measured.operations, measured.bytes) {
        (Some(operations), _) => (operations as f64, "T operations/s"),
        (None, Some(bytes)) => (bytes as f64 * 1e3, "GB/s"),
        (None, None) => return Err(format!("{} / {} has no rate", row.step, measured.case).into()),
    };
    Ok(format!(
        "{} {unit}",
        figures::three_digits(count / measured.median_ms / 1e9)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::RESULTS;
    use crate::bench::results::tests::{results, row};

    fn source() -> Source {
        let mut mean = row("time_series", "mean", "gridstride", vec![0.5]);
        mean.measured.bytes = Some(2_000_000_000);
        let mut cub = row("time_series", "mean", "CUB (sum)", vec![0.75]);
        cub.measured.version = Some("13.0".to_owned());
        cub.date = "2026-11-29".to_owned();
        Source {
            results: results(&[mean, cub]),
            today: Origin::of_workspace().unwrap(),
        }
    }

    #[test]
    fn sentences_have_figures_of_rows() {
        let source = source();
        for (comment, expected) in [
            ("time time_series / mean", "0.500 ms"),
            ("time time_series / mean / CUB (sum)", "0.750 ms"),
            ("rate time_series / mean", "4000 GB/s"),
            ("faster time_series / mean / CUB (sum)", "1.50"),
            (
                "machine time_series",
                "NVIDIA H200, driver 580; Xeon, 16 threads; 2026-11-30, commit 88b441a3; CUB 13.0 (2026-11-29, commit 88b441a3)",
            ),
        ] {
            assert_eq!(source.text(comment).unwrap().as_deref(), Some(expected));
        }
        assert_eq!(source.text("another comment").unwrap(), None);
        let error = source.text("time time_series / median").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no row of gridstride is time_series / median"
        );
        assert!(source.text("call time_series / mean").is_err());
        let error = source.text("rows no_step").unwrap_err();
        assert_eq!(error.to_string(), "there is no step no_step");
        let gap = source.text("time matmul / 128³, f32").unwrap();
        assert_eq!(gap.as_deref(), Some("(not measured yet)"));
    }

    #[test]
    fn pages_have_the_figures_of_the_file() {
        let results = Results::read(&workspace().join(RESULTS)).unwrap();
        for (path, old, new) in all(results).unwrap() {
            assert!(
                old == new,
                "{} has other figures: run `cargo xtask pages`",
                path.display()
            );
        }
    }
}
