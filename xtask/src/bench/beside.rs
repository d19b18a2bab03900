//! A ladder's rows beside the times of the article that it follows, and of the article's programs on
//! the same machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::command::CSV_FOLDER;
use crate::{Result, profile};

/// A time that an article reports, or without a row the machine.
#[derive(Deserialize)]
struct Reported {
    ladder: String,
    row: String,
    reported: String,
}

/// The used part of the output of `gridstride_learn --json`.
#[derive(Deserialize)]
struct Ladders {
    ladders: Vec<Ladder>,
}

#[derive(Deserialize)]
struct Ladder {
    title: String,
    device: String,
    rows: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    version: String,
    clock: Option<String>,
    #[serde(flatten)]
    time: Time,
    computed_share: Option<f64>,
    changed: String,
    remark: Option<String>,
}

/// A line of a program in `benches/peers/ladder_*.py`. One with an empty row describes the run.
#[derive(Deserialize)]
struct Peer {
    row: String,
    kernel: Option<Time>,
    call: Option<Time>,
    share: f64,
    versions: Option<String>,
    remark: Option<String>,
}

/// The times of some runs.
#[derive(Clone, Copy, Deserialize)]
struct Time {
    runs: usize,
    median_ms: f64,
    least_ms: f64,
    most_ms: f64,
}

impl Time {
    fn text(self, share: f64) -> String {
        let mut text = milliseconds(self.median_ms);
        let range = [self.least_ms, self.most_ms].map(milliseconds);
        text += &match self.runs {
            1 => " (one run)".to_owned(),
            _ => format!(" ({} to {})", range[0], range[1]),
        };
        if share < 0.999 {
            text += &format!(", from {:.2}% of the work", 100.0 * share);
        }
        text
    }
}

/// Three digits, with the unit.
fn milliseconds(time: f64) -> String {
    match time {
        _ if time < 10.0 => format!("{time:.3} ms"),
        _ if time < 1e4 => format!("{time:.1} ms"),
        _ => format!("{:.1} s", time / 1e3),
    }
}

/// The table of a ladder, as Markdown: from the files `LADDER.json` and `LADDER.*.jsonl` of a
/// folder, which the step's other commands have written, and the reported times.
///
/// # Errors
/// If there is no output of the ladder, or a file is not what it should be.
pub fn table(ladder: &str, scratch: &Path, root: &Path) -> Result<String> {
    let path = scratch.join(format!("{ladder}.json"));
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let ours: Ladders = json(&text, &path)?;
    // Of several devices the last one, and of the lengths of sequences those that vary.
    let of_equal_lengths = |ladder: &Ladder| ladder.title.starts_with("V14");
    let mut ours = ours.ladders.into_iter().rev();
    let ours = ours.find(|ladder| !of_equal_lengths(ladder));
    let ours = ours.ok_or_else(|| format!("{} has no ladder", path.display()))?;
    let peers = peers(ladder, scratch)?;
    let path = root.join(CSV_FOLDER).join("articles.csv");
    let reported: Vec<Reported> = crate::plot::records(&path)?;
    let reported = reported.into_iter().filter(|line| line.ladder == ladder);
    let notes = profile::notes(root, ladder)?;
    Ok(markdown(
        &ours,
        &peers,
        &reported.collect::<Vec<_>>(),
        &notes,
    ))
}

/// The lines of all peers of a ladder.
fn peers(ladder: &str, scratch: &Path) -> Result<Vec<Peer>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(scratch)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!("{ladder}.")) && name.ends_with(".jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut peers = Vec::new();
    for path in paths {
        for line in fs::read_to_string(&path)?.lines() {
            peers.push(json(line, &path)?);
        }
    }
    Ok(peers)
}

fn json<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    Ok(serde_json::from_str(text)
        .map_err(|error| format!("{} is not as expected: {error}", path.display()))?)
}

fn markdown(
    ours: &Ladder,
    peers: &[Peer],
    reported: &[Reported],
    notes: &BTreeMap<String, String>,
) -> String {
    let versions = peers.iter().filter_map(|peer| peer.versions.clone());
    let versions = versions.collect::<std::collections::BTreeSet<_>>();
    let versions: Vec<_> = versions.into_iter().collect();
    let machine = reported.iter().find(|line| line.row.is_empty());
    let mut text = format!(
        "{}, on {}; {}\n\n\
         | version | the article{} | Numba, kernel | Numba, whole call | gridstride's ladder | its clock | what changed |\n\
         |---|---|--:|--:|--:|---|---|\n",
        ours.title,
        ours.device,
        versions.join(", "),
        machine.map_or(String::new(), |line| format!(", {}", line.reported)),
    );
    let reported_of: BTreeMap<_, _> = reported.iter().map(|line| (&line.row, line)).collect();
    let names = merged(&[
        reported.iter().map(|line| line.row.as_str()).collect(),
        peers.iter().map(|peer| peer.row.as_str()).collect(),
        ours.rows.iter().map(|row| row.version.as_str()).collect(),
    ]);
    for name in names {
        let peer = peers.iter().find(|peer| peer.row == name);
        let row = ours.rows.iter().find(|row| row.version == name);
        let of_peer = |time: fn(&Peer) -> Option<Time>| {
            let time = peer.and_then(|peer| Some(time(peer)?.text(peer.share)));
            time.unwrap_or_default()
        };
        let remarks = [
            row.map(|row| row.changed.clone()),
            row.and_then(|row| row.remark.clone()),
            peer.and_then(|peer| Some(format!("Numba: {}", peer.remark.as_ref()?))),
            notes.get(name).map(|figures| format!("by ncu: {figures}")),
        ];
        let cells = [
            name.to_owned(),
            reported_of
                .get(&name.to_owned())
                .map_or(String::new(), |line| line.reported.clone()),
            of_peer(|peer| peer.kernel),
            of_peer(|peer| peer.call),
            row.map_or(String::new(), |row| {
                row.time.text(row.computed_share.unwrap_or(1.0))
            }),
            row.and_then(|row| row.clock.clone())
                .unwrap_or_default()
                .replace('-', " "),
            remarks.into_iter().flatten().collect::<Vec<_>>().join("; "),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

/// All names once, in an order that each list has: a name that is new in a list follows the one
/// before it there.
fn merged<'a>(lists: &[Vec<&'a str>]) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for list in lists {
        let mut place = 0;
        for &name in list.iter().filter(|name| !name.is_empty()) {
            match all.iter().position(|known| *known == name) {
                Some(known) => place = known + 1,
                None => {
                    all.insert(place, name);
                    place += 1;
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    const LADDER: &str = r#"{"ladders": [{"title": "Blocks", "device": "H200", "sweeps": [], "rows": [
        {"version": "1×256", "clock": "kernel", "runs": 5, "median_ms": 0.862, "least_ms": 0.85, "most_ms": 0.87,
         "speed_up": 1, "computed_share": 1.0, "changed": "rows", "remark": null},
        {"version": "gridstride", "runs": 1, "median_ms": 0.1, "least_ms": 0.1, "most_ms": 0.1, "speed_up": 9,
         "changed": "once", "remark": "odd"}]}]}"#;

    const PEER: &str = r#"{"ladder": "block-shape", "row": "", "kernel": null, "call": null, "share": 1, "versions": "Numba 1"}
{"ladder": "block-shape", "row": "1×256", "kernel": {"median_ms": 2.5, "least_ms": 2.4, "most_ms": 2.6, "runs": 5}, "call": null, "share": 0.1}
"#;

    const PROFILE: &str = "ladder\trow\tkernel\tunit\tunits\tns\tfp64_instructions\twarp_instructions\tstalled_at_barriers_percent\tbank_conflicts\tregisters\tsectors_a_load\tsectors_a_store
block-shape\t1×256\tblock_shape\tmultiply-add\t392000000\t955104\t0\t196000000\t0\t0\t32\t2\t3
";

    #[test]
    fn a_row_has_all_that_is_known_of_it() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("block-shape.json"), LADDER).unwrap();
        fs::write(scratch.path().join("block-shape.numba.jsonl"), PEER).unwrap();
        // Of another ladder.
        fs::write(scratch.path().join("matmul.numba.jsonl"), "nothing").unwrap();
        // The articles' times, and one line of a profile.
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("docs/benchmarks");
        fs::create_dir_all(&folder).unwrap();
        let times = workspace().join("docs/benchmarks/articles.csv");
        fs::copy(times, folder.join("articles.csv")).unwrap();
        fs::write(folder.join("ladder_profile.tsv"), PROFILE).unwrap();
        let found = table("block-shape", scratch.path(), root.path()).unwrap();
        assert!(found.starts_with("Blocks, on H200; Numba 1\n\n| version"));
        let row = "| 1×256 | 14.6 ms | 2.500 ms (2.400 ms to 2.600 ms), from 10.00% of the work |  | 0.862 ms (0.850 ms to 0.870 ms) | kernel | rows; by ncu: 0.500 warp instructions a multiply-add, 32 registers, 2.0 and 3.0 sectors a load and a store |\n";
        assert!(found.contains(row), "{found}");
        assert!(found.contains("| 16×16 | 5.5 ms |  |  |  |  |  |\n"));
        assert!(found.contains("| gridstride |  |  |  | 0.100 ms (one run) |  | once; odd |\n"));
    }

    #[test]
    fn a_ladder_that_did_not_run_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let error = table("matmul", scratch.path(), &workspace()).unwrap_err();
        assert!(error.to_string().contains("matmul.json"));
    }

    #[test]
    fn names_are_in_the_order_of_their_lists() {
        let lists = [vec!["b", "d"], vec!["", "a", "b", "c"], vec!["d", "e"]];
        assert_eq!(merged(&lists), ["a", "b", "c", "d", "e"]);
    }

    /// The articles' names of rows have to be those of the same ladder's peers.
    #[test]
    fn reported_times_have_rows() {
        let reported: Vec<Reported> =
            crate::plot::records(&workspace().join(CSV_FOLDER).join("articles.csv")).unwrap();
        assert!(reported.len() > 30);
        for line in &reported {
            let folder = workspace().join("benches/peers");
            let programs = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            let start = format!("ladder_{}_", line.ladder.replace('-', "_"));
            let of_ladder = programs.filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with(&start) && name.ends_with(".py")
            });
            let mut texts = of_ladder.map(|path| fs::read_to_string(path).unwrap());
            // Names that a program puts together.
            let is_made =
                line.row.is_empty() || line.ladder == "block-shape" || line.row == "five streams";
            let quoted = format!("\"{}\"", line.row);
            assert!(
                is_made || texts.any(|text| text.contains(&quoted)),
                "{}: {}",
                line.ladder,
                line.row
            );
        }
    }
}
