//! The figures of the file, as text for tables.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::FILE;
use crate::bench::FOLDER;
use crate::{Result, plot};

/// A line of the file.
#[derive(Deserialize)]
struct Figures {
    ladder: String,
    row: String,
    unit: String,
    units: f64,
    fp64_instructions: f64,
    warp_instructions: f64,
    stalled_at_barriers_percent: f64,
    bank_conflicts: f64,
    registers: u32,
    sectors_a_load: f64,
    sectors_a_store: f64,
}

impl Figures {
    /// A sentence for a table.
    fn text(&self) -> String {
        let each = |count: f64| format!("{:.3}", count / self.units);
        let mut parts = vec![
            format!(
                "{} warp instructions a {}",
                each(self.warp_instructions),
                self.unit
            ),
            format!("{} registers", self.registers),
        ];
        if self.fp64_instructions > 0.0 {
            let count = each(self.fp64_instructions);
            parts.push(format!("{count} FP64 instructions a {}", self.unit));
        }
        if self.stalled_at_barriers_percent > 0.0 {
            let share = self.stalled_at_barriers_percent;
            parts.push(format!("{share:.0}% of the time at barriers"));
        }
        if self.bank_conflicts > 0.0 {
            let count = each(self.bank_conflicts);
            parts.push(format!("{count} bank conflicts a {}", self.unit));
        }
        let (load, store) = (self.sectors_a_load, self.sectors_a_store);
        parts.push(format!(
            "{load:.1} and {store:.1} sectors a load and a store"
        ));
        parts.join(", ")
    }
}

/// The figures of a ladder's rows as text, by the rows' names; none if there is no file.
///
/// # Errors
/// If the file is not one of figures.
pub fn notes(root: &Path, ladder: &str) -> Result<BTreeMap<String, String>> {
    let all: Vec<Figures> = plot::tab_separated(&root.join(FOLDER).join(FILE))?;
    let rows = all.iter().filter(|figures| figures.ladder == ladder);
    Ok(rows
        .map(|figures| (figures.row.clone(), figures.text()))
        .collect())
}
