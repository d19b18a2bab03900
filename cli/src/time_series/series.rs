//! Several columns of values.

use anyhow::Result;
use files::memory::room_for;
use files::points::Points;

/// Makes each column of values of each series a series, which is called as the column, or as
/// `series:column`. A single column stays as it is.
pub fn of_columns(points: Points) -> Result<Points> {
    let columns = points.values.len();
    if columns == 1 {
        return Ok(points);
    }
    let count = points.len() * columns;
    let (mut timestamps, mut values) = (room_for(count)?, room_for(count)?);
    let (mut offsets, mut names) = (vec![0], Vec::new());
    for series in 0..points.series_count() {
        let range = points.offsets[series]..points.offsets[series + 1];
        for (column, name) in points.values.iter().zip(&points.value_names) {
            timestamps.extend_from_slice(&points.timestamps[range.clone()]);
            values.extend_from_slice(&column[range.clone()]);
            offsets.push(timestamps.len());
            names.push(match &points.names {
                Some(names) => format!("{}:{name}", names[series]),
                None => name.clone(),
            });
        }
    }
    Ok(Points {
        timestamps,
        values: vec![values],
        value_names: vec!["value".into()],
        offsets,
        names: Some(names),
        left_out: points.left_out,
    })
}
