//! Fewer points that look the same.

use std::ops::Range;

/// A time and a value.
pub type Place = (i64, f64);

/// The points in a column of pixels.
#[derive(Clone, Copy)]
pub struct Column {
    pub lowest: Place,
    pub highest: Place,
    pub count: u64,
}

/// Whether a number can be drawn: NaN and infinities cannot, nor numbers whose differences may be
/// infinite.
pub fn is_drawn(place: &Place) -> bool {
    place.1.abs() <= 1e300
}

/// The lowest and the highest of the points in each of `count` parts of a range of time, so that
/// peaks stay.
pub fn columns(
    times: &Range<i64>,
    count: usize,
    points: impl Iterator<Item = Place>,
) -> Vec<Option<Column>> {
    let mut columns: Vec<Option<Column>> = vec![None; count];
    let scale = count as f64 / times.end.abs_diff(times.start) as f64;
    for place in points.filter(is_drawn) {
        let index = (place.0.abs_diff(times.start) as f64 * scale) as usize;
        match &mut columns[index.min(count - 1)] {
            empty @ None => {
                *empty = Some(Column {
                    lowest: place,
                    highest: place,
                    count: 1,
                });
            }
            Some(column) => {
                if place.1 < column.lowest.1 {
                    column.lowest = place;
                }
                if place.1 > column.highest.1 {
                    column.highest = place;
                }
                column.count += 1;
            }
        }
    }
    columns
}

/// Lines over buckets of so much time: each is flat within its bucket, and the lines of those that
/// follow each other are joined. Where there are more buckets than columns, they go through the
/// lowest and the highest of each.
pub fn lines(
    times: &Range<i64>,
    count: usize,
    width: i64,
    buckets: impl ExactSizeIterator<Item = Place>,
) -> Vec<Vec<Place>> {
    let mut lines: Vec<Vec<Place>> = Vec::new();
    if buckets.len() <= count {
        for (start, value) in buckets.filter(is_drawn) {
            let end = start.saturating_add(width);
            match lines.last_mut() {
                Some(line) if line.last().is_some_and(|last| last.0 == start) => {
                    line.extend([(start, value), (end, value)]);
                }
                _ => lines.push(vec![(start, value), (end, value)]),
            }
        }
        return lines;
    }
    let mut is_joined = false;
    for column in columns(times, count, buckets) {
        if let Some(Column {
            lowest, highest, ..
        }) = column
        {
            if !is_joined {
                lines.push(Vec::new());
            }
            let line = lines.last_mut().expect("there is a line");
            match lowest.0 <= highest.0 {
                true => line.extend([lowest, highest]),
                false => line.extend([highest, lowest]),
            }
        }
        is_joined = column.is_some();
    }
    lines
}
