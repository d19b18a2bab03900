//! Sequences that are too short for a sketch.

use files::text::shortened;
use serde::Serialize;

use super::SHOWN_NAME;
use super::args::Windows;
use crate::common::report::warn;

/// Names that are kept.
const NAMES: usize = 20;

/// Names that a warning has.
const SHOWN: usize = 3;

/// Sequences without a window or a tuple, whatever is made of the sketches.
#[derive(Clone, Default, Serialize)]
pub struct Short {
    #[serde(rename = "short_sequences")]
    count: u64,
    #[serde(rename = "first_short_sequences")]
    names: Vec<String>,
}

impl Short {
    pub fn add(&mut self, name: &str) {
        self.count += 1;
        if self.names.len() < NAMES {
            self.names.push(name.to_owned());
        }
    }

    /// Warns of them. `sequences` is the number of all.
    pub fn warn(&self, windows: Option<Windows>, tuple: usize, sequences: u64) {
        if self.count == 0 {
            return;
        }
        let names = self.names.iter().take(SHOWN);
        let mut names: Vec<_> = names.map(|name| shortened(name, SHOWN_NAME)).collect();
        if let more @ 1.. = self.count - names.len() as u64 {
            names.push(format!("{more} more"));
        }
        let (count, names) = (self.count, names.join(", "));
        let what = match windows {
            Some(windows) => format!(
                "are shorter than a window of {} letters and have no sketch",
                windows.width
            ),
            None => {
                format!("are shorter than a tuple of {tuple} letters, and their sketches are zero")
            }
        };
        warn(&format!("{count} of {sequences} sequences {what}: {names}"));
    }
}
