//! Ladders as text.

use std::time::Duration;

use super::climb::{Ladder, Row, Sweep};

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// In columns.
    Plain,
    /// As Markdown has tables.
    Markdown,
}

/// The title, the rows and the sweep of a ladder.
pub fn text(ladder: &Ladder, format: Format) -> String {
    let mut text = format!("{}, on {}\n\n", ladder.title, ladder.device);
    let mut rows = vec![
        [
            "version",
            "time",
            "least to most",
            "speed-up",
            "what changed",
        ]
        .map(str::to_owned),
    ];
    let first = ladder.rows.first().map_or(Duration::ZERO, |row| row.time);
    rows.extend(ladder.rows.iter().map(|row| cells(row, first)));
    text += &lines(&rows, &[1, 2, 3], format);
    if let Some(sweep) = &ladder.sweep {
        text += "\n";
        text += &sweep_lines(sweep, format);
    }
    text
}

fn cells(row: &Row, first: Duration) -> [String; 5] {
    let speed_up = row.speed_up(first);
    let speed_up = match speed_up.is_finite() {
        true if speed_up < 0.1 => format!("{speed_up:.4}×"),
        true if speed_up < 10.0 => format!("{speed_up:.2}×"),
        true => format!("{speed_up:.0}×"),
        // A clock that is too coarse.
        false => "-".to_owned(),
    };
    let changed = match row.remark.is_empty() {
        true => row.changed.clone(),
        false => format!("{} ({})", row.changed, row.remark),
    };
    let range = match row.range[0] == row.range[1] {
        // One run.
        true => String::new(),
        false => format!("{} to {}", time(row.range[0]), time(row.range[1])),
    };
    [
        row.version.clone(),
        time(row.time),
        range,
        speed_up,
        changed,
    ]
}

/// A time with its unit.
pub fn time(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        _ if milliseconds < 10.0 => format!("{milliseconds:.3} ms"),
        _ if milliseconds < 1e4 => format!("{milliseconds:.1} ms"),
        _ => format!("{:.1} s", milliseconds / 1e3),
    }
}

fn sweep_lines(sweep: &Sweep, format: Format) -> String {
    let names = sweep.lines.iter().map(|line| line.name.clone());
    let mut rows = vec![[vec!["threads".to_owned()], names.collect()].concat()];
    for (i, threads) in sweep.threads.iter().enumerate() {
        let of_line = |times: &[Option<Duration>]| times[i].map_or("-".to_owned(), time);
        let times = sweep.lines.iter().map(|line| of_line(&line.times));
        rows.push([vec![threads.to_string()], times.collect()].concat());
    }
    let numeric: Vec<usize> = (0..=sweep.lines.len()).collect();
    lines(&rows, &numeric, format)
}

/// Rows, of which the first are the headings, with some columns to the right.
fn lines<R: AsRef<[String]>>(rows: &[R], numeric: &[usize], format: Format) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row.as_ref()[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        let cells = row.as_ref().iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            match numeric.contains(&column) {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            }
        });
        let cells: Vec<String> = cells.collect();
        match format {
            Format::Plain => text += cells.join("  ").trim_end(),
            Format::Markdown => text += &format!("| {} |", cells.join(" | ")),
        }
        text += "\n";
        if i == 0 && format == Format::Markdown {
            let rules = (0..columns).map(|column| match numeric.contains(&column) {
                true => "--:",
                false => "---",
            });
            text += &format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder() -> Ladder {
        let row = |version: &str, micros, spread, remark: &str| Row {
            version: version.to_owned(),
            time: Duration::from_micros(micros),
            range: [micros, micros + spread].map(Duration::from_micros),
            changed: "tiles".to_owned(),
            remark: remark.to_owned(),
        };
        Ladder {
            title: "A ladder".to_owned(),
            device: "cpu".to_owned(),
            rows: vec![
                row("plain", 12_300_000, 0, ""),
                row("v1", 1500, 20, "3 wrong pairs"),
            ],
            sweep: None,
        }
    }

    #[test]
    fn columns_line_up() {
        let expected = "A ladder, on cpu\n\n\
            version      time         least to most  speed-up  what changed\n\
            plain      12.3 s                           1.00×  tiles\n\
            v1       1.500 ms  1.500 ms to 1.520 ms     8200×  tiles (3 wrong pairs)\n";
        assert_eq!(text(&ladder(), Format::Plain), expected);
    }

    #[test]
    fn sweeps_follow_in_markdown() {
        let line = super::super::climb::SweepLine {
            name: "v1".to_owned(),
            times: vec![Some(Duration::from_millis(20)), None],
        };
        let sweep = Sweep {
            threads: vec![16, 32],
            lines: vec![line],
        };
        let found = text(
            &Ladder {
                sweep: Some(sweep),
                ..ladder()
            },
            Format::Markdown,
        );
        let expected =
            "| threads |      v1 |\n|--:|--:|\n|      16 | 20.0 ms |\n|      32 |       - |\n";
        assert!(found.ends_with(expected), "{found}");
    }
}
