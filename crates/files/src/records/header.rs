//! Columns by their names.

use anyhow::{Context, Result, bail, ensure};
use csv::ByteRecord;

use super::{ColumnName, TableOptions, shown};

/// The most columns that a message lists.
const LISTED: usize = 20;

/// The first record of a table, and the columns that are asked for.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    record: &'a ByteRecord,
    options: &'a TableOptions,
}

impl<'a> Header<'a> {
    /// Takes the first record of a table. Without a header the record is as long as all others.
    pub fn new(record: &'a ByteRecord, options: &'a TableOptions) -> Header<'a> {
        Header { record, options }
    }

    /// Returns the number of columns.
    pub fn count(&self) -> usize {
        self.record.len()
    }

    /// Returns whether there are names, and none of the roles has been given another column.
    pub fn has_usual_names(&self) -> bool {
        self.options.has_header && self.options.columns.is_empty()
    }

    /// Returns the places of the columns that are read as `role`: those that the options name, or
    /// else the column of that name.
    ///
    /// # Errors
    /// If a column that is named does not exist, or is there twice.
    pub fn places(&self, role: &str) -> Result<Vec<usize>> {
        let is_role = |name: &str| name.eq_ignore_ascii_case(role);
        let named = self.options.columns.iter();
        let mut named = named.filter(|column| is_role(&column.role)).peekable();
        if named.peek().is_none() {
            let place = match self.options.has_header {
                true => column(self.record, role)?,
                false => None,
            };
            return Ok(place.into_iter().collect());
        }
        let mut places = Vec::new();
        for name in named {
            let place = self.place(&name.column)?;
            ensure!(
                !places.contains(&place),
                "the column '{}' is read as {role} twice",
                shown(name.column.as_bytes())
            );
            places.push(place);
        }
        Ok(places)
    }

    /// Returns the place of the single column that is read as `role`, if there is one.
    ///
    /// # Errors
    /// As of [`places`](Self::places), and if there are several.
    pub fn single(&self, role: &str) -> Result<Option<usize>> {
        let places = self.places(role)?;
        ensure!(places.len() < 2, "only one column can be read as {role}");
        Ok(places.first().copied())
    }

    /// Refuses columns that are read as something else.
    ///
    /// # Errors
    /// If a role is not among `roles`.
    pub fn require_roles(&self, roles: &[&str]) -> Result<()> {
        for ColumnName { role, .. } in &self.options.columns {
            let is_known = roles.iter().any(|known| role.eq_ignore_ascii_case(known));
            ensure!(
                is_known,
                "a column is read as '{}', but possible are {}",
                shown(role.as_bytes()),
                roles.join(", ")
            );
        }
        Ok(())
    }

    /// Returns the name of a column for messages and outputs: its position without a header.
    pub fn name(&self, place: usize) -> String {
        match self.options.has_header {
            true => String::from_utf8_lossy(self.record[place].trim_ascii()).into_owned(),
            false => (place + 1).to_string(),
        }
    }

    /// Says which columns there are, or that another character separates them.
    pub fn described(&self) -> String {
        match self.options.has_header {
            true => columns(self.record, self.options.delimiter),
            false => format!(
                "without a header, the columns are named by their positions, 1 to {}",
                self.count()
            ),
        }
    }

    fn place(&self, name: &str) -> Result<usize> {
        let by_name = match self.options.has_header {
            true => column(self.record, name)?,
            false => None,
        };
        let by_position = || {
            let position = name.parse::<usize>().ok()?;
            let place = position.checked_sub(1)?;
            (place < self.count()).then_some(place)
        };
        let place = by_name.or_else(by_position);
        let missing = || {
            let name = shown(name.as_bytes());
            format!("there is no column '{name}': {}", self.described())
        };
        place.with_context(missing)
    }
}

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

/// Says which columns there are, or that another character than `delimiter` separates them.
pub fn columns(header: &ByteRecord, delimiter: u8) -> String {
    let names = header.iter().take(LISTED).map(shown);
    let more = (header.len() > LISTED).then(|| "...".to_owned());
    let names: Vec<_> = names.chain(more).collect();
    let other = match header.iter().collect::<Vec<_>>()[..] {
        [only] => [
            (b'\t', "tabs", "tab"),
            (b';', "semicolons", "';'"),
            (b',', "commas", "','"),
            (b'|', "bars", "'|'"),
        ]
        .into_iter()
        .find(|(character, ..)| *character != delimiter && only.contains(character)),
        _ => None,
    };
    match other {
        Some((_, plural, name)) => format!(
            "the header is '{}', with {plural} between its cells: give --delimiter {name}, and --decimal ',' if \
             numbers are written as 0,5",
            names[0]
        ),
        None if names.iter().all(String::is_empty) => {
            format!("the {} cells of the header are empty", header.len())
        }
        None => format!("the columns are {}", names.join(", ")),
    }
}
