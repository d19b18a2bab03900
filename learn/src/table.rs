//! Ladders as text.

use std::time::Duration;

use super::rows::{Clock, Ladder, Row, Sweep};

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableStyle {
    /// In columns.
    Plain,
    /// A table of Markdown.
    Markdown,
}

/// The title, the rows and the sweeps of a ladder.
pub fn text(ladder: &Ladder, format: TableStyle) -> String {
    let mut text = format!("{}, on {}\n\n", ladder.title, ladder.place());
    let headings = [
        "version",
        "clock",
        "time",
        "least to most",
        "speed-up",
        "what changed",
    ];
    let mut rows = vec![headings.map(str::to_owned)];
    let speed_ups = ladder.speed_ups();
    rows.extend((ladder.rows.iter().zip(speed_ups)).map(|(row, speed_up)| cells(row, speed_up)));
    text += &lines(&rows, &[2, 3, 4], format);
    text += &legend(ladder);
    for sweep in &ladder.sweeps {
        text += &format!("\n{} ({})\n\n", sweep.title, sweep.clock.name());
        text += &sweep_lines(sweep, format);
    }
    text
}

/// Returns explanations of the clocks, if there are several, and of extrapolated times.
fn legend(ladder: &Ladder) -> String {
    let has = |clock| ladder.rows.iter().any(|row| row.clock == clock);
    let mut text = String::new();
    if has(Clock::WholeCall) && has(Clock::Kernel) {
        text += "\nwhole call: from the host's memory to the host's memory, by the host's clock; \
                 kernel: on data in the device's\nmemory, by events. Speed-ups are over the first \
                 version with the same clock.\n";
    }
    if ladder.rows.iter().any(|row| row.share < 1.0) {
        text += "\n≈: extrapolated from a part of the work; --whole-cpu computes all of it.\n";
    }
    text
}

fn cells(row: &Row, speed_up: f64) -> [String; 6] {
    let speed_up = match speed_up.is_finite() {
        true if speed_up < 0.1 => format!("{speed_up:.4}×"),
        true if speed_up < 10.0 => format!("{speed_up:.2}×"),
        true => format!("{speed_up:.0}×"),
        // A clock that is too coarse.
        false => "-".to_owned(),
    };
    let remarks = remarks(row);
    let changed = match remarks.is_empty() {
        true => row.changed.clone(),
        false => format!("{} ({})", row.changed, remarks.join("; ")),
    };
    let range = match row.runs {
        1 => "one run".to_owned(),
        _ => format!("{} to {}", time(row.range[0]), time(row.range[1])),
    };
    [
        row.version.clone(),
        row.clock.name().to_owned(),
        row_time(row),
        range,
        speed_up,
        changed,
    ]
}

fn remarks(row: &Row) -> Vec<String> {
    let mut remarks = Vec::new();
    if !row.remark.is_empty() {
        remarks.push(row.remark.clone());
    }
    if row.share < 1.0 {
        remarks.push(format!("from {:.2} % of the work", 100.0 * row.share));
    }
    // The simulator knows no registers, and what it says is no more than a bound.
    if let Some(found) = row.occupancy
        && let Some(registers) = found.registers_per_thread
    {
        let share = 100.0 * found.share();
        remarks.push(format!("{registers} registers, occupancy {share:.0} %"));
    }
    remarks
}

/// The time of a row, with a sign if it is extrapolated.
pub fn row_time(row: &Row) -> String {
    let sign = if row.share < 1.0 { "≈ " } else { "" };
    format!("{sign}{}", time(row.time))
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

fn sweep_lines(sweep: &Sweep, format: TableStyle) -> String {
    let names = sweep.lines.iter().map(|line| line.name.clone());
    let mut rows = vec![[vec![sweep.parameter.to_owned()], names.collect()].concat()];
    for (i, value) in sweep.values.iter().enumerate() {
        let of_line = |times: &[Option<Duration>]| times[i].map_or("-".to_owned(), time);
        let times = sweep.lines.iter().map(|line| of_line(&line.times));
        rows.push([vec![value.to_string()], times.collect()].concat());
    }
    let numeric: Vec<usize> = (0..=sweep.lines.len()).collect();
    lines(&rows, &numeric, format)
}

/// Rows, of which the first are the headings, with some columns to the right.
fn lines<R: AsRef<[String]>>(rows: &[R], numeric: &[usize], format: TableStyle) -> String {
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
            TableStyle::Plain => text += cells.join("  ").trim_end(),
            TableStyle::Markdown => text += &format!("| {} |", cells.join(" | ")),
        }
        text += "\n";
        if i == 0 && format == TableStyle::Markdown {
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
        let row = |version: &str, clock, runs, micros, spread, share, remark: &str| Row {
            version: version.to_owned(),
            clock,
            runs,
            time: Duration::from_micros(micros),
            range: [micros, micros + spread].map(Duration::from_micros),
            share,
            changed: "tiles".to_owned(),
            remark: remark.to_owned(),
            occupancy: None,
        };
        Ladder {
            title: "A ladder".to_owned(),
            variant: String::new(),
            device: "cpu".to_owned(),
            rows: vec![
                row("plain", Clock::WholeCall, 1, 12_300_000, 0, 0.125, ""),
                row("v1", Clock::Kernel, 5, 1500, 20, 1.0, "3 wrong pairs"),
                row("v2", Clock::Kernel, 5, 500, 0, 1.0, ""),
                row("copies", Clock::WholeCall, 5, 1000, 0, 1.0, ""),
            ],
            sweeps: Vec::new(),
        }
    }

    #[test]
    fn columns_line_up_and_speed_ups_keep_to_a_clock() {
        let expected = "A ladder, on cpu\n\n\
            version  clock           time         least to most  speed-up  what changed\n\
            plain    whole call  ≈ 12.3 s               one run     1.00×  tiles (from 12.50 % of the work)\n\
            v1       kernel      1.500 ms  1.500 ms to 1.520 ms     1.00×  tiles (3 wrong pairs)\n\
            v2       kernel      0.500 ms  0.500 ms to 0.500 ms     3.00×  tiles\n\
            copies   whole call  1.000 ms  1.000 ms to 1.000 ms    12300×  tiles\n\
            \nwhole call: ";
        let found = text(&ladder(), TableStyle::Plain);
        assert!(found.starts_with(expected), "{found}");
        assert!(found.contains("≈: extrapolated"), "{found}");
    }

    #[test]
    fn times_of_the_simulator_are_marked() {
        let ladder = Ladder {
            device: "simulator:0".to_owned(),
            ..ladder()
        };
        let expected = "A ladder, on simulator:0, whose times say nothing about a GPU\n";
        assert!(text(&ladder, TableStyle::Plain).starts_with(expected));
    }

    #[test]
    fn sweeps_follow_in_markdown() {
        let line = crate::rows::Line {
            name: "v1".to_owned(),
            times: vec![Some(Duration::from_millis(20)), None],
        };
        let sweep = Sweep {
            title: "Blocks".to_owned(),
            clock: Clock::Kernel,
            parameter: "threads",
            axis: crate::rows::Axis::Linear,
            values: vec![16, 32],
            lines: vec![line],
        };
        let found = text(
            &Ladder {
                sweeps: vec![sweep],
                ..ladder()
            },
            TableStyle::Markdown,
        );
        let expected = "\nBlocks (kernel)\n\n| threads |      v1 |\n|--:|--:|\n|      16 | 20.0 ms |\n\
                        |      32 |       - |\n";
        assert!(found.ends_with(expected), "{found}");
    }
}
