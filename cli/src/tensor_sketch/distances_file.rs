//! Distances as a table.

use anyhow::Result;
use ndarray::Array2;

use crate::common::output::OutputFile;

/// Writes the square `values`, tab-separated, with `names` as the first row and column.
pub fn write(file: &mut OutputFile, names: &[String], values: &Array2<f64>) -> Result<()> {
    file.write(|file| {
        let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(file);
        table.write_record([""].into_iter().chain(names.iter().map(String::as_str)))?;
        for (name, row) in names.iter().zip(values.outer_iter()) {
            table.write_field(name)?;
            table.write_record(row.iter().map(f64::to_string))?;
        }
        Ok(table.flush()?)
    })
}
