//! A table of rows.

use std::collections::BTreeMap;

use figures::Clock;
use serde::Deserialize;

use super::Source;
use crate::bench::FOLDER;
use crate::bench::results::Row;
use crate::{Result, plot, profile, workspace};

/// A time that an article reports, or without a row the machine.
#[derive(Deserialize)]
struct Reported {
    ladder: String,
    row: String,
    reported: String,
}

/// A line of the table: a case by one clock.
struct Line<'a> {
    case: &'a str,
    clock: Clock,
    note: String,
    rows: Vec<&'a Row>,
}

/// The table of a step, as Markdown: of what is behind `rows`, the step's name and the lines with the cases and their notes.
pub fn table(source: &Source, what: &str) -> Result<String> {
    let mut cases = what.lines().map(str::trim).filter(|line| !line.is_empty());
    let step = cases.next().ok_or("a table has no step")?;
    let lines = lines(source, step, cases)?;
    let ladder = step
        .strip_prefix("articles_")
        .map(|name| name.replace('_', "-"));
    let reported = ladder.as_deref().map_or(Ok(BTreeMap::new()), reported)?;
    let counted = ladder.map_or(Ok(BTreeMap::new()), |ladder| {
        profile::notes(&workspace(), &ladder)
    })?;
    let mut programs: Vec<&str> = Vec::new();
    let rows = || lines.iter().flat_map(|line| &line.rows);
    // Ours come first.
    for row in rows().filter(|row| row.is_ours()).chain(rows()) {
        if !programs.contains(&row.measured.program.as_str()) {
            programs.push(&row.measured.program);
        }
    }
    let has_shares = lines.iter().any(|line| share(source, line).is_some());
    let has_notes = lines.iter().any(|line| !line.note.is_empty()) || !counted.is_empty();
    let clocks = |clock: Clock| lines.iter().any(|line| line.clock == clock);
    let is_mixed = [Clock::Device, Clock::Call, Clock::Process]
        .into_iter()
        .filter(|clock| clocks(*clock))
        .count()
        > 1;
    let mut headings = vec![""];
    if !reported.is_empty() {
        headings.push("the article");
    }
    headings.extend(&programs);
    if has_shares {
        headings.push("of the ceiling");
    }
    if has_notes {
        headings.push("");
    }
    let mut text = format!(
        "| {} |\n|{}\n",
        headings.join(" | "),
        "---|".repeat(headings.len())
    );
    for line in &lines {
        let mut cells = vec![match is_mixed {
            true => format!("{}, {}", line.case, line.clock),
            false => line.case.to_owned(),
        }];
        if !reported.is_empty() {
            cells.push(reported.get(line.case).cloned().unwrap_or_default());
        }
        for program in &programs {
            let row = line
                .rows
                .iter()
                .find(|row| row.measured.program == *program);
            cells.push(row.map_or(String::new(), |row| cell(source, row)));
        }
        if has_shares {
            cells.push(share(source, line).map_or(String::new(), figures::percent));
        }
        if has_notes {
            let counted = counted
                .get(line.case)
                .map(|figures| format!("by ncu: {figures}"));
            let parts = [Some(line.note.clone()), counted];
            let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
            cells.push(parts.collect::<Vec<_>>().join("; "));
        }
        text += &format!("| {} |\n", cells.join(" | "));
    }
    let rows: Vec<_> = lines
        .iter()
        .flat_map(|line| line.rows.iter().copied())
        .collect();
    text += &format!("\n{}.", source.machine(rows.iter().copied())?);
    if rows.iter().any(|row| !source.mark(row).is_empty()) {
        text += " † The kernel was another.";
    }
    Ok(text + "\n")
}

/// The lines that are asked for: of each case one by each clock.
fn lines<'a>(
    source: &'a Source,
    step: &'a str,
    cases: impl Iterator<Item = &'a str>,
) -> Result<Vec<Line<'a>>> {
    let mut lines: Vec<Line> = Vec::new();
    for asked in cases {
        let (case, note) = asked.split_once(" | ").unwrap_or((asked, ""));
        let before = lines.len();
        for row in source.results.of_step(step) {
            let measured = &row.measured;
            let is_asked = match case {
                "*" => {
                    measured.point().is_none()
                        && !lines[..before]
                            .iter()
                            .any(|line| line.case == measured.case)
                }
                case => case == measured.case,
            };
            if !is_asked {
                continue;
            }
            let is_same =
                |line: &&mut Line| line.case == measured.case && line.clock == measured.clock;
            match lines.iter_mut().find(is_same) {
                Some(line) => line.rows.push(row),
                None => lines.push(Line {
                    case: &measured.case,
                    clock: measured.clock,
                    note: note.to_owned(),
                    rows: vec![row],
                }),
            }
        }
        if lines.len() == before {
            return Err(format!("no row is {step} / {case}").into());
        }
    }
    Ok(lines)
}

fn cell(source: &Source, row: &Row) -> String {
    let mut text = figures::spread(&row.measured);
    if let Some(share) = row.measured.share {
        text += &format!(", from {} of the work", figures::percent(share));
    }
    text + source.mark(row)
}

/// The share of what the machine can do that gridstride reaches.
fn share(source: &Source, line: &Line) -> Option<f64> {
    let ours = line
        .rows
        .iter()
        .find(|row| row.measured.program == "gridstride")?;
    source.results.share_of_ceiling(ours)
}

/// The times that an article reports, by the names of the ladder's rows.
fn reported(ladder: &str) -> Result<BTreeMap<String, String>> {
    let path = workspace().join(FOLDER).join("articles.csv");
    let all: Vec<Reported> = plot::records(&path)?;
    let of_ladder = all
        .into_iter()
        .filter(|line| line.ladder == ladder && !line.row.is_empty());
    Ok(of_ladder.map(|line| (line.row, line.reported)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Origin;
    use crate::bench::results::tests::{results, row};

    fn source() -> Source {
        let mut whole = row("time_series", "mean", "gridstride", vec![9.0]);
        whole.measured.clock = Clock::Call;
        let mut old = row("time_series", "median", "gridstride", vec![1.0]);
        old.source = Some("of other kernels".to_owned());
        Source {
            results: results(&[
                row("time_series", "mean", "gridstride", vec![0.5, 0.6, 0.4]),
                whole,
                old,
                row("time_series", "mean: 1000", "gridstride", vec![1.0]),
                row("time_series", "mean", "CUB", vec![0.75]),
            ]),
            today: Origin::of_workspace().unwrap(),
        }
    }

    #[test]
    fn programs_stand_beside_each_other() {
        let text = table(&source(), "time_series\nmedian | of a window\n*\n").unwrap();
        let expected = "\
|  | gridstride | CUB |  |
|---|---|---|---|
| median, by events | 1.00 ms† |  | of a window |
| mean, by events | 0.500 ms (0.400 to 0.600) | 0.750 ms |  |
| mean, whole call | 9.00 ms |  |  |

NVIDIA H200, driver 580; Xeon, 16 threads; 2026-11-30, commit 88b441a3; CUB. † The kernel was another.
";
        assert_eq!(text, expected);
        let error = table(&source(), "time_series\nmode").unwrap_err();
        assert_eq!(error.to_string(), "no row is time_series / mode");
    }

    /// The articles' names of rows have to be those of the same ladder's peers.
    #[test]
    fn reported_times_have_rows() {
        let path = workspace().join(FOLDER).join("articles.csv");
        let reported: Vec<Reported> = plot::records(&path).unwrap();
        assert!(reported.len() > 30);
        for line in &reported {
            let start = format!("ladder_{}_", line.ladder.replace('-', "_"));
            let programs = std::fs::read_dir(workspace().join("benches/peers")).unwrap();
            let paths = programs.map(|entry| entry.unwrap().path());
            let of_ladder = paths.filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with(&start) && name.ends_with(".py")
            });
            let mut texts = of_ladder.map(|path| std::fs::read_to_string(path).unwrap());
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
