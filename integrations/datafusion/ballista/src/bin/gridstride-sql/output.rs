//! Writes the rows of a result: to the terminal, or to a file that appears when it is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;
use datafusion::parquet::arrow::ArrowWriter;

use crate::Result;

/// Rows that are shown of a long result.
const SHOWN: usize = 100;

/// Takes the batches of a result.
pub(crate) struct Output {
    rows: usize,
    kind: Kind,
    paths: Option<Paths>,
}

enum Kind {
    Table(Arc<Schema>, Vec<RecordBatch>),
    Csv(Arc<Schema>, csv::Writer<BufWriter<File>>),
    Parquet(ArrowWriter<BufWriter<File>>),
}

/// The file, and its name until it is complete. An incomplete file is removed.
struct Paths {
    complete: PathBuf,
    partial: PathBuf,
}

impl Drop for Paths {
    fn drop(&mut self) {
        // After a success, there is no such file.
        let _ = fs::remove_file(&self.partial);
    }
}

impl Output {
    /// Opens a file, or the terminal for `None`.
    pub(crate) fn create(path: Option<&Path>, schema: &Schema) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self {
                rows: 0,
                kind: Kind::Table(Arc::new(schema.clone()), Vec::new()),
                paths: None,
            });
        };
        let ending = path.extension().and_then(|ending| ending.to_str());
        if !matches!(ending, Some("csv" | "parquet")) {
            return Err(format!("--out {}: only .csv and .parquet", path.display()).into());
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let paths = Paths {
            complete: path.to_owned(),
            partial: partial.into(),
        };
        let file = File::create(&paths.partial)
            .map_err(|error| format!("--out {}: {error}", paths.partial.display()))?;
        let file = BufWriter::new(file);
        let kind = if ending == Some("csv") {
            Kind::Csv(Arc::new(schema.clone()), csv::Writer::new(file))
        } else {
            Kind::Parquet(ArrowWriter::try_new(file, Arc::new(schema.clone()), None)?)
        };
        Ok(Self {
            rows: 0,
            kind,
            paths: Some(paths),
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.kind {
            Kind::Table(_, shown) if self.rows < SHOWN => {
                let rows = batch.num_rows().min(SHOWN - self.rows);
                shown.push(batch.slice(0, rows));
            }
            Kind::Table(..) => {}
            Kind::Csv(_, writer) => writer.write(batch)?,
            Kind::Parquet(writer) => writer.write(batch)?,
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Shows the table or completes the file, and returns the number of rows.
    pub(crate) fn finish(self) -> Result<usize> {
        match self.kind {
            Kind::Table(schema, shown) => {
                let mut text = format!("{}\n", pretty_format_batches_with_schema(schema, &shown)?);
                if self.rows > SHOWN {
                    text += &format!("the first {SHOWN} rows: --out FILE.csv writes all\n");
                }
                show(&text)?;
            }
            Kind::Csv(schema, mut writer) => {
                if self.rows == 0 {
                    // The header comes with the first batch.
                    writer.write(&RecordBatch::new_empty(schema))?;
                }
                writer.into_inner().into_inner()?.sync_all()?;
            }
            Kind::Parquet(writer) => writer.into_inner()?.into_inner()?.sync_all()?,
        }
        if let Some(paths) = &self.paths {
            fs::rename(&paths.partial, &paths.complete)?;
        }
        Ok(self.rows)
    }
}

/// Writes a text to standard output, unless its reader has seen enough, as `head` has.
fn show(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    match written.and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn a_csv_file_without_rows_has_its_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.csv");
        let field = |name| Field::new(name, DataType::Int64, true);
        let schema = Schema::new(vec![field("id"), field("count")]);
        let output = Output::create(Some(&path), &schema).unwrap();
        assert_eq!(output.finish().unwrap(), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "id,count\n");
    }
}
