//! Tables in JSON.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use gridstride::tensor_sketch::Tables;
use ndarray::Array2;
use serde::Deserialize;

use crate::text::shortened;
use crate::{Monitor, open};

/// The most bytes of a file. Tables have 2·8 numbers for each of 256 letters at most.
const LARGEST: usize = 1 << 20;

/// Characters of an error of JSON that are shown. Such an error quotes the text.
const SHOWN: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TablesFile {
    hashes: Vec<Vec<i64>>,
    signs: Vec<Vec<i64>>,
}

/// Reads tables that must be for `alphabet_size` letters and, if given, for tuples of `tuple`.
pub fn read(
    path: &Path,
    alphabet_size: usize,
    tuple: Option<usize>,
    dim: usize,
    monitor: &Monitor,
) -> Result<Tables> {
    read_unnamed(path, alphabet_size, tuple, dim, monitor)
        .with_context(|| format!("cannot use the tables in {}", path.display()))
}

fn read_unnamed(
    path: &Path,
    alphabet_size: usize,
    tuple: Option<usize>,
    dim: usize,
    monitor: &Monitor,
) -> Result<Tables> {
    let mut text = Vec::new();
    let file = open(path, monitor)?;
    file.take(LARGEST as u64 + 1).read_to_end(&mut text)?;
    ensure!(
        text.len() <= LARGEST,
        "it has more than {LARGEST} bytes, which no tables have"
    );
    parse(&text, alphabet_size, tuple, dim)
}

/// As [`read`], from the text of a file.
pub fn parse(
    text: &[u8],
    alphabet_size: usize,
    tuple: Option<usize>,
    dim: usize,
) -> Result<Tables> {
    let file: TablesFile = serde_json::from_slice(text)
        .map_err(|error| anyhow!("{}", shortened(&error.to_string(), SHOWN)))?;
    let (hashes, signs) = (matrix("hashes", file.hashes)?, matrix("signs", file.signs)?);
    let tables = Tables::new(hashes.view(), signs.view(), dim)?;
    let letters = tables.alphabet_size();
    ensure!(
        letters == alphabet_size,
        "they are for {letters} letters, but the alphabet has {alphabet_size}"
    );
    let places = tables.tuple_length();
    ensure!(
        tuple.is_none_or(|tuple| tuple == places),
        "they are for tuples of {places}, but --tuple asks for another length"
    );
    Ok(tables)
}

fn matrix(name: &str, rows: Vec<Vec<i64>>) -> Result<Array2<i64>> {
    let columns = rows.first().map_or(0, Vec::len);
    for (i, row) in rows.iter().enumerate() {
        ensure!(
            row.len() == columns,
            "row {i} of the {name} has {} numbers, but row 0 has {columns}",
            row.len()
        );
    }
    Ok(Array2::from_shape_vec(
        (rows.len(), columns),
        rows.concat(),
    )?)
}
