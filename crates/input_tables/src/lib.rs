//! The tables of input files in tests/data/inputs, for the tests of the front ends that go through
//! their rows.

use std::fs;

use serde_json::Value;

/// A row of a table: a file, and what a front end finds in it.
pub struct Row {
    row: Value,
    /// The front end, as a key of the row.
    front_end: &'static str,
}

impl Row {
    /// Returns the rows of the table `kind` that are for a front end.
    pub fn all(kind: &str, front_end: &'static str) -> Vec<Row> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/inputs");
        let text = fs::read_to_string(format!("{folder}/{kind}.json")).expect("there is a table");
        let rows: Vec<Value> = serde_json::from_str(&text).expect("the table is JSON");
        let rows = rows.into_iter().map(|row| Row { row, front_end });
        rows.filter(|row| !row.is_left_out()).collect()
    }

    /// Returns the name of the file.
    pub fn file(&self) -> &str {
        self.row["file"].as_str().expect("each row has a file")
    }

    /// Returns the content of the file.
    pub fn content(&self) -> Vec<u8> {
        let Some(hex) = self.row["hex"].as_str() else {
            let text = self.row["text"].as_str();
            return text.expect("a file has text or hex").into();
        };
        let bytes = (0..hex.len()).step_by(2);
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("these are two digits");
        bytes.map(byte).collect()
    }

    /// Returns what the row says about all front ends under `key`.
    pub fn of_all(&self, key: &str) -> Option<&str> {
        self.row[key].as_str()
    }

    /// Returns what the row says about this front end alone.
    pub fn own(&self) -> &Value {
        &self.row[self.front_end]
    }

    /// Returns the expected rows, sorted, or a part of the expected error.
    pub fn expected(&self) -> Result<Vec<&str>, &str> {
        let stated = match self.is_stated() {
            true => self.own(),
            false => &self.row,
        };
        let Some(is) = stated["is"].as_str() else {
            return Err(stated["error"].as_str().expect("a row has is or error"));
        };
        let mut is: Vec<_> = is.split("; ").filter(|row| !row.is_empty()).collect();
        is.sort_unstable();
        Ok(is)
    }

    /// Returns a part of the only warning, if there is one.
    pub fn warning(&self) -> Option<&str> {
        let own = self.own()["warning"].as_str();
        own.or_else(|| self.of_all("warning").filter(|_| !self.is_stated()))
    }

    /// Compares what is found, or the message of an error. Returns what differs, as a sentence.
    pub fn difference(&self, found: Result<Vec<String>, String>) -> Option<String> {
        let found = found.map(|mut rows| {
            rows.sort();
            rows
        });
        let agrees = match (self.expected(), &found) {
            (Ok(is), Ok(found)) => *found == is,
            (Err(part), Err(said)) => said.contains(part),
            _ => false,
        };
        let expected = self.expected();
        (!agrees).then(|| format!("{}: {found:?}, expected {expected:?}\n", self.file()))
    }

    /// Whether the row says something else about this front end.
    fn is_stated(&self) -> bool {
        ["is", "error"]
            .iter()
            .any(|key| self.own()[key].is_string())
    }

    /// Whether the row is not for this front end, and says why.
    fn is_left_out(&self) -> bool {
        self.own()["because"].is_string() && !self.is_stated()
    }
}
