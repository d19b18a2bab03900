//! Several columns of values.

use anyhow::Result;
use files::memory::room_for;
use files::points::Points;

/// The series of a file: each has the values of one column.
pub struct Series {
    /// With a single column of values.
    pub points: Points,
    /// The column of each series, if the file has a column of series and several of values, or is an
    /// output of such a file.
    pub columns: Option<Vec<String>>,
}

impl Series {
    /// Makes each column of values of each series a series. Without a column of series, they have the
    /// names of the columns.
    pub fn of_columns(mut points: Points) -> Result<Series> {
        let width = points.values.len();
        if width == 1 {
            let columns = points.columns.take();
            return Ok(Series { points, columns });
        }
        let count = points.len() * width;
        let (mut timestamps, mut values) = (room_for(count)?, room_for(count)?);
        let (mut offsets, mut names, mut columns) = (vec![0], Vec::new(), Vec::new());
        for series in 0..points.series_count() {
            let range = points.offsets[series]..points.offsets[series + 1];
            for (column, name) in points.values.iter().zip(&points.value_names) {
                timestamps.extend_from_slice(&points.timestamps[range.clone()]);
                values.extend_from_slice(&column[range.clone()]);
                offsets.push(timestamps.len());
                columns.push(name.clone());
                names.extend(points.names.as_ref().map(|names| names[series].clone()));
            }
        }
        let (names, columns) = match points.names {
            Some(_) => (names, Some(columns)),
            None => (columns, None),
        };
        let points = Points {
            timestamps,
            values: vec![values],
            value_names: vec!["value".into()],
            offsets,
            names: Some(names),
            columns: None,
            left_out: points.left_out,
        };
        Ok(Series { points, columns })
    }

    /// Returns the columns that outputs have before the timestamp: the name of each, and the names of the
    /// series in it.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let labels = [("series", &self.points.names), ("column", &self.columns)];
        let labels = labels.into_iter();
        labels.filter_map(|(name, labels)| Some((name, labels.as_deref()?)))
    }

    /// Returns what a series is called for people, if it has a name.
    pub fn title(&self, series: usize) -> Option<String> {
        let name = &self.points.names.as_ref()?[series];
        Some(match &self.columns {
            Some(columns) => format!("{name}, {}", columns[series]),
            None => name.clone(),
        })
    }
}
