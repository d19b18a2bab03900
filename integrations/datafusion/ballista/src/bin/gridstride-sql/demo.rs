//! A small data set to try things out: measurements of eight machines in four Parquet files.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use datafusion::parquet::arrow::ArrowWriter;

use crate::Result;

const FILES: i64 = 4;
const ROWS: i64 = 100_000;
/// 2026-01-01 in milliseconds.
const START: i64 = 1_767_225_600_000;

/// Writes the columns series, timestamp and value, one point a second and machine, with gaps.
pub(crate) fn write(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for file in 0..FILES {
        let rows = file * ROWS..(file + 1) * ROWS;
        let series = rows.clone().map(|row| format!("machine-{}", row % 8));
        let timestamp = rows.clone().map(|row| START + row / 8 * 1000 + row % 8);
        let value = rows.map(|row| {
            let hours = row as f64 / 28_800.0;
            (row % 97 != 0).then(|| 20.0 + (row % 8) as f64 + 5.0 * hours.sin())
        });
        let columns: [(&str, ArrayRef); 3] = [
            ("series", Arc::new(StringArray::from_iter_values(series))),
            (
                "timestamp",
                Arc::new(TimestampMillisecondArray::from_iter_values(timestamp)),
            ),
            ("value", Arc::new(Float64Array::from_iter(value))),
        ];
        let batch = RecordBatch::try_from_iter(columns)?;
        let path = folder.join(format!("{file}.parquet"));
        let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
    }
    eprintln!(
        "{} rows in {FILES} files of {}",
        FILES * ROWS,
        folder.display()
    );
    Ok(())
}
