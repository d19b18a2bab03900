//! Columns by their names.

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use csv::ByteRecord;

use super::{ColumnName, TableOptions, shown};
use crate::text::{RETURN_IN_HEADER, UTF16, is_utf16};
use crate::time;

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

    /// Returns the names of the columns: none without a header.
    pub fn names(&self) -> Vec<String> {
        let count = if self.options.has_header {
            self.count()
        } else {
            0
        };
        (0..count).map(|place| self.name(place)).collect()
    }

    /// Returns the places of the columns that are read as `role`: those that the options name, or
    /// else the column of that name.
    ///
    /// # Errors
    /// If a column that is named does not exist, or is there twice.
    pub fn places(&self, role: &str) -> Result<Vec<usize>> {
        let mut places = self.all_given(role)?;
        if places.is_empty() && self.options.has_header {
            places.extend(column(self.record, role)?);
        }
        Ok(places)
    }

    /// Returns the place of the single column that the options read as `role`, if there is one.
    ///
    /// # Errors
    /// As of [`single`](Self::single).
    pub fn given(&self, role: &str) -> Result<Option<usize>> {
        one(&self.all_given(role)?, role)
    }

    fn all_given(&self, role: &str) -> Result<Vec<usize>> {
        let is_role = |name: &&ColumnName| name.role.eq_ignore_ascii_case(role);
        let mut places = Vec::new();
        for name in self.options.columns.iter().filter(is_role) {
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
        one(&self.places(role)?, role)
    }

    /// Refuses texts that are no tables, and columns that are read as something else.
    ///
    /// # Errors
    /// If the text is UTF-16, if its lines end with a carriage return alone, or if a role is not
    /// among `roles`.
    pub fn require_roles(&self, roles: &[&str]) -> Result<()> {
        ensure!(!is_utf16(self.record.as_slice()), UTF16);
        let has_return = |cell: &[u8]| {
            let mut pairs = cell.trim_ascii().windows(2);
            pairs.any(|pair| pair[0] == b'\r' && pair[1] != b'\n')
        };
        ensure!(!self.record.iter().any(has_return), RETURN_IN_HEADER);
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

    /// Returns the error of a table without columns that are read as these roles.
    pub fn missing(&self, roles: &[&str]) -> Error {
        self.refused(
            &format!("there is no column {}", roles.join(", ")),
            roles[0],
        )
    }

    /// Returns an error about the column that is read as `role`: what is wrong, the columns, and what to
    /// do.
    pub fn refused(&self, what: &str, role: &str) -> Error {
        let remedy = match self.options.has_header {
            true if self.other_delimiter().is_some() => String::new(),
            true if self.record.iter().any(is_number) => {
                "; if the first line is a record, give --no-header".into()
            }
            _ => format!("; --columns {role}=NAME reads the column NAME as {role}"),
        };
        anyhow!("{what}: {}{remedy}", self.described())
    }

    /// Says which columns there are, or that another character separates them.
    pub fn described(&self) -> String {
        if !self.options.has_header {
            let count = self.count();
            return format!(
                "without a header, the columns are named by their positions, 1 to {count}"
            );
        }
        let names = self.record.iter().take(LISTED).map(shown);
        let more = (self.count() > LISTED).then(|| "...".to_owned());
        let names: Vec<_> = names.chain(more).collect();
        match self.other_delimiter() {
            Some((plural, name)) => format!(
                "the header is '{}', with {plural} between its cells: give --delimiter {name}, and --decimal ',' if \
                 numbers are written as 0,5",
                names[0]
            ),
            None if names.iter().all(String::is_empty) => {
                format!("the {} cells of the header are empty", self.count())
            }
            None => format!("the columns are {}", names.join(", ")),
        }
    }

    /// Returns the character that may separate the cells instead: its plural, and the option's value.
    fn other_delimiter(&self) -> Option<(&'static str, &'static str)> {
        let delimiters = [
            (b'\t', "tabs", "tab"),
            (b';', "semicolons", "';'"),
            (b',', "commas", "','"),
            (b'|', "bars", "'|'"),
        ];
        let is_other = |delimiter: u8| {
            let is_new = delimiter != self.options.delimiter;
            is_new && self.count() == 1 && self.record[0].contains(&delimiter)
        };
        let found = delimiters.into_iter().find(|(byte, ..)| is_other(*byte));
        found.map(|(_, plural, name)| (plural, name))
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
    if let (Some(first), Some(second)) = (first, places.next()) {
        let [first, second] = [first, second].map(|place| place + 1);
        let name = shown(name.as_bytes());
        bail!(
            "there are two columns {name}, since names of columns are compared without case: columns {first} and \
             {second}, which --columns takes by these numbers"
        );
    }
    Ok(first)
}

/// Returns whether a cell is rather a number than the name of a column: names may be `nan`, `inf`, or
/// years and dates such as 2024.
fn is_number(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell.trim_ascii());
    let number = fast_float2::parse::<f64, _>(&*text);
    number.is_ok_and(f64::is_finite) && time::date_of(&text).is_none()
}

/// Returns the only place of a role, if there is one.
fn one(places: &[usize], role: &str) -> Result<Option<usize>> {
    ensure!(places.len() < 2, "only one column can be read as {role}");
    Ok(places.first().copied())
}
