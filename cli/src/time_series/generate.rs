//! Data to try: temperatures of three rooms in a week, as a logger in the house writes them.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use checks::random::Random;
use files::time::{SECOND, timestamp};
use program::output::OutputFile;
use program::progress;
use program::report;

use crate::common::generated::Generated;

const ROOMS: [&str; 3] = ["kitchen", "cellar", "attic"];

/// 2026-03-02T00:00:00Z, a Monday.
const START: i64 = 1_772_409_600 * SECOND;
const HOUR: i64 = 3600 * SECOND;
const WEEK: i64 = 7 * 24 * HOUR;

/// When the logger was off, since the start.
const OFF: Range<i64> = 74 * HOUR..80 * HOUR;

/// Hours of the day at which somebody cooks, and by how much that warms the kitchen at most.
const MEALS: [(f64, f64); 3] = [(7.0, 1.5), (12.5, 2.5), (18.5, 5.0)];

/// One in so many values is missing, and one in so many of the kitchen's was taken beside an open
/// oven.
const MISSING: u64 = 400;
const OVEN: u64 = 250;

/// Rows of a text.
const BLOCK: u64 = 1 << 13;

/// Writes `count` temperatures to a file.
pub fn run(path: &Path, count: u64, seed: u64) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(b"timestamp,series,value\n")?;
    // The shortest line.
    let bytes = count as f64 * "2026-01-05T00:00:00Z,cellar,\n".len() as f64;
    file.require_space(bytes, "choose a smaller --generate")?;
    let week = Week { count, seed };
    let bar = progress::count("writing", count, "rows");
    let text = |block| {
        let first = block as u64 * BLOCK;
        week.text(first..count.min(first + BLOCK))
    };
    let progress = |blocks| bar.set_position(blocks as u64 * BLOCK);
    file.write_texts(usize::try_from(count.div_ceil(BLOCK))?, &text, &progress)?;
    bar.finish_and_clear();
    file.publish()?;
    let file = path.display().to_string();
    report::show(&Generated {
        rows: count,
        text: format!("{count} temperatures in {file}"),
        files: vec![file],
        seed,
    })
}

struct Week {
    count: u64,
    seed: u64,
}

impl Week {
    fn text(&self, rows: Range<u64>) -> Vec<u8> {
        let mut text = Vec::new();
        for row in rows {
            const TAKEN: &str = "memory takes all";
            let mut random = Random::new(self.seed, row + 1);
            let room = (row % ROOMS.len() as u64) as usize;
            let time = self.time(row, &mut random);
            write!(text, "{},{},", timestamp(START + time), ROOMS[room]).expect(TAKEN);
            if random.below(MISSING) != 0 {
                let value = self.temperature(room, time, &mut random);
                write!(text, "{value:.2}").expect(TAKEN);
            }
            text.push(b'\n');
        }
        text
    }

    /// When a row was written, since the start: the rows are spread over the week, and are late by
    /// up to half of what is between them.
    fn time(&self, row: u64, random: &mut Random) -> i64 {
        let active = (WEEK - (OFF.end - OFF.start)) as u64;
        let between = active / self.count;
        let late = random.below((between / 2).max(1));
        let time = u128::from(row) * u128::from(active) / u128::from(self.count);
        let time = time as i64 + late as i64;
        // No finer than is needed to tell rows apart.
        let unit = match between as i64 {
            SECOND.. => 100_000_000,
            1_000_000.. => 10_000,
            _ => 1,
        };
        let time = time / unit * unit;
        match time < OFF.start {
            true => time,
            false => time + (OFF.end - OFF.start),
        }
    }

    /// In degrees Celsius. Of sums, products and quotients alone, so that it is the same on every
    /// machine.
    fn temperature(&self, room: usize, time: i64, random: &mut Random) -> f64 {
        let hours = time as f64 / HOUR as f64;
        let day = (hours / 24.0).floor();
        let hour = hours - 24.0 * day;
        let noise = (random.unit() + random.unit() + random.unit() - 1.5) * 0.3;
        // It is warmest outside at 15, and there is a front in the middle of the week.
        let outside = wave((hour + 15.0) / 24.0) * 5.0 + wave(hours / 168.0) * 2.5;
        match ROOMS[room] {
            "attic" => 13.0 + outside + 2.0 * noise,
            "cellar" => 11.5 + 0.06 * outside + 0.3 * noise,
            _ => {
                let mut warmer = 0.0;
                for (meal, (start, most)) in MEALS.into_iter().enumerate() {
                    // Not each day alike.
                    let mut random = Random::new(self.seed ^ day as u64, meal as u64);
                    let since = hour - start - random.unit();
                    let most = most * (0.4 + 0.6 * random.unit());
                    warmer += most * warmth(since);
                }
                if random.below(OVEN) == 0 {
                    warmer += 2.0 + 3.0 * random.unit();
                }
                19.5 + 0.2 * outside + warmer + noise
            }
        }
    }
}

/// A wave of parabolas from −1 to 1 with the period 1, which rises through 0 at 0.
fn wave(x: f64) -> f64 {
    let x = x - x.floor();
    match x < 0.5 {
        true => 16.0 * x * (0.5 - x),
        false => 16.0 * (x - 0.5) * (x - 1.0),
    }
}

/// Returns the share of a meal's heat that is there `since` hours after it began.
fn warmth(since: f64) -> f64 {
    match since {
        _ if since < 0.0 => 0.0,
        _ if since < 0.5 => since / 0.5,
        _ => 1.0 / (1.0 + (since - 0.5) * (since - 0.5)),
    }
}
