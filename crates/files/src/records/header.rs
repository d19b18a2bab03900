//! Columns by their names.

use anyhow::{Result, bail};
use csv::ByteRecord;

use super::shown;

/// The most columns that a message lists.
const LISTED: usize = 20;

/// Returns the place of a column, whose name is in any case, or `None` if there is none.
///
/// # Errors
/// If there are two.
pub fn column(header: &ByteRecord, name: &str) -> Result<Option<usize>> {
    let is_named = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    let mut places = (0..header.len()).filter(|&place| is_named(&header[place]));
    let first = places.next();
    if places.next().is_some() {
        bail!("there are two columns {}", shown(name.as_bytes()));
    }
    Ok(first)
}

/// Says which columns there are, or that no comma separates them.
pub fn columns(header: &ByteRecord) -> String {
    let names = header.iter().take(LISTED).map(shown);
    let more = (header.len() > LISTED).then(|| "...".to_owned());
    let names: Vec<_> = names.chain(more).collect();
    let separator = match header.iter().collect::<Vec<_>>()[..] {
        [only] if only.contains(&b'\t') => Some("tabs"),
        [only] if only.contains(&b';') => Some("semicolons"),
        _ => None,
    };
    match separator {
        Some(separator) => format!(
            "the header is '{}', with {separator} between its cells; replace them by commas",
            names[0]
        ),
        None => format!("the columns are {}", names.join(", ")),
    }
}
