//! Points of time series from CSV: the points of each series in the order of the file.

#![no_main]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::mem;

use arbitrary::Arbitrary;
use csv::ByteRecord;
use files::points::{Demands, parse, value};
use files::records::{Header, TableOptions, column, comparison, sequential};
use files::time::{self, TimeUnit};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    needs_order: bool,
    width: i64,
    origin: i64,
    text: &'a [u8],
}

/// Timestamps and bits of values.
type Points = Vec<(i64, u64)>;

/// The points of each series by its names, one record after the other; `None` if the text is
/// refused.
fn expected(text: &[u8], demands: &Demands) -> Option<BTreeMap<Vec<String>, Points>> {
    let mut reader = sequential(text, b',').ok()?;
    let (mut header, mut record) = (ByteRecord::new(), ByteRecord::new());
    if !reader.next(&mut header).ok()? {
        return None;
    }
    let options = TableOptions::default();
    Header::new(&header, &options).require_roles(&[]).ok()?;
    let place = |name| column(&header, name).ok();
    let (timestamps, values) = (place("timestamp")??, place("value")??);
    let names = place("series")?;
    let column = match names {
        Some(_) => place("column")?,
        None => None,
    };
    let names: Vec<_> = names.into_iter().chain(column).collect();
    let mut series = BTreeMap::<Vec<String>, Points>::new();
    if names.is_empty() {
        series.insert(Vec::new(), Vec::new());
    }
    let mut start = header.position().expect("each record has one").byte() as usize;
    while reader.next(&mut record).ok()? {
        if record.len() != header.len() {
            return None;
        }
        let timestamp = time::parse(record[timestamps].trim_ascii(), TimeUnit::Ns).ok()?;
        let value = value::parse(record[values].trim_ascii()).ok()?;
        let end = record.position().expect("each record has one").byte() as usize;
        let read = &text[mem::replace(&mut start, end)..end.min(text.len())];
        let cells = comparison::names(read, b',');
        // A point without a series is an error.
        if names.first().is_some_and(|&place| cells[place].is_empty()) {
            return None;
        }
        let name = names.iter().map(|&place| cells[place].clone());
        let name = name.map(String::from_utf8).collect::<Result<_, _>>();
        let points = series.entry(name.ok()?).or_default();
        let latest = points.last().map_or(i64::MIN, |(timestamp, _)| *timestamp);
        if demands.order && timestamp < latest || timestamp < demands.lowest {
            return None;
        }
        points.push((timestamp, value.to_bits()));
    }
    // A row without a value is no point, though its timestamp has to be in order.
    for points in series.values_mut() {
        points.retain(|(_, value)| !value::is_missing(f64::from_bits(*value)));
    }
    Some(series)
}

fuzz_target!(|input: Input| {
    let demands = Demands::new(TimeUnit::Ns, input.needs_order, input.width, input.origin);
    let rows = parse(
        Cursor::new(input.text.to_vec()),
        demands.clone(),
        &TableOptions::default(),
    );
    let found = rows.ok().map(|rows| {
        let points = rows.group().expect("memory suffices");
        assert_eq!(points.offsets.last(), Some(&points.len()));
        let columns = [&points.names, &points.columns].into_iter().flatten();
        let columns: Vec<_> = columns.collect();
        for names in &columns {
            assert_eq!(names.len(), points.series_count());
        }
        let series = points.offsets.windows(2).enumerate();
        let series = series.map(|(index, range)| {
            let name = columns.iter().map(|names| names[index].clone()).collect();
            let range = range[0]..range[1];
            let values = points.values[0][range.clone()]
                .iter()
                .map(|value| value.to_bits());
            let timestamps = points.timestamps[range].iter().copied();
            (name, timestamps.zip(values).collect())
        });
        series.collect::<BTreeMap<Vec<String>, Points>>()
    });
    assert_eq!(found, expected(input.text, &demands));
});
