//! Names of rows.

use std::path::Path;

use anyhow::{Result, ensure};
use gridstride::Number;

use super::args::Args;
use super::lines::read_lines;
use super::rows::{RowSet, Rows};

/// The names of the rows and columns of the result.
pub struct Names {
    pub rows: NameList,
    pub columns: NameList,
}

/// Names, or numbers from 0 on.
#[derive(Clone)]
pub enum NameList {
    Given(Vec<String>),
    Numbers(usize),
}

impl Names {
    /// Reads the names that are asked for.
    pub fn read<T: Number>(args: &Args, rows: &Rows<T>) -> Result<Names> {
        let first = NameList::read(args.names.as_deref(), &args.rows, &rows.first)?;
        let second = match &args.other {
            Some(other) => NameList::read(args.other_names.as_deref(), other, rows.second())?,
            None => first.clone(),
        };
        Ok(Names {
            rows: first,
            columns: second,
        })
    }
}

impl NameList {
    /// Reads a name for each of the rows or sequences of the file `of`.
    fn read<T: Number>(path: Option<&Path>, of: &Path, rows: &RowSet<T>) -> Result<NameList> {
        let count = rows.len();
        let Some(path) = path else {
            return Ok(NameList::Numbers(count));
        };
        let names = read_lines(path, "a name", count)?;
        ensure!(
            names.len() == count,
            "{} has {} names, but {} has {count} {}: there must be a name for each",
            path.display(),
            names.len(),
            of.display(),
            rows.things()
        );
        Ok(NameList::Given(names))
    }

    /// Returns the name of a row.
    pub fn name(&self, index: usize) -> String {
        match self {
            NameList::Given(names) => names[index].clone(),
            NameList::Numbers(_) => index.to_string(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            NameList::Given(names) => names.len(),
            NameList::Numbers(count) => *count,
        }
    }
}
