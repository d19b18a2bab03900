//! Bringing sorted rows together to chunks that are worth a call of the library.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, RecordBatch, make_comparator,
};
use datafusion::arrow::compute::{
    CastOptions, SortOptions, cast_with_options, filter_record_batch, is_not_null, partition,
};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::memory_pool::MemoryReservation;
use gridstride::time_series::{Duplicates, Nan};

use super::exec::NAME;
use super::parameters::TimeBucketParameters;

/// Rows of one batch, without those whose value is null.
pub(super) struct Piece {
    /// `None` if all points are one series.
    pub series: Option<ArrayRef>,
    pub timestamps: Int64Array,
    /// `f32` or `f64`, without nulls.
    pub values: ArrayRef,
    /// The memory of the rows, and of their copy beside those of other pieces.
    bytes: usize,
}

/// Consecutive rows of one series.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The number of the chunk's rows before it.
    pub start: usize,
    /// A row of the series: the index of the piece, and of the row in the piece.
    pub key: (usize, usize),
}

/// Rows for one call of the library: whole buckets.
pub(super) struct Chunk {
    pub pieces: Vec<Piece>,
    pub runs: Vec<Run>,
    pub rows: usize,
    /// Whether the first run goes on with the last series of the chunk before.
    pub continues: bool,
    /// If the first run goes on and there are rates: the last point before it that has a rate.
    pub before: Option<(i64, f64)>,
    /// The memory of the pieces.
    pub reservation: MemoryReservation,
}

/// Gathers sorted rows, and cuts them to chunks where series or buckets begin.
pub(super) struct Gatherer {
    parameters: Arc<TimeBucketParameters>,
    gathered: Chunk,
}

impl Piece {
    fn slice(&self, start: usize, len: usize, bytes: usize) -> Piece {
        Piece {
            series: self.series.as_ref().map(|series| series.slice(start, len)),
            timestamps: self.timestamps.slice(start, len),
            values: self.values.slice(start, len),
            bytes,
        }
    }

    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    fn value(&self, row: usize) -> f64 {
        match self.values.data_type() {
            DataType::Float32 => f64::from(self.values.as_primitive::<Float32Type>().value(row)),
            _ => self.values.as_primitive::<Float64Type>().value(row),
        }
    }
}

impl Gatherer {
    pub fn new(parameters: Arc<TimeBucketParameters>, reservation: MemoryReservation) -> Gatherer {
        let gathered = Chunk {
            pieces: Vec::new(),
            runs: Vec::new(),
            rows: 0,
            continues: false,
            before: None,
            reservation,
        };
        Gatherer {
            parameters,
            gathered,
        }
    }

    /// Adds rows, which follow those before in the order of series and timestamps. Returns them
    /// with the error of the pool if the memory does not suffice.
    ///
    /// # Errors
    /// If series are out of order.
    pub fn push(&mut self, piece: Piece) -> Result<Option<(Piece, DataFusionError)>> {
        let gathered = &mut self.gathered;
        if let Err(error) = gathered.reservation.try_grow(piece.bytes) {
            return Ok(Some((piece, error)));
        }
        let index = gathered.pieces.len();
        let firsts = first_rows(gathered.pieces.last(), &piece)?;
        gathered.runs.extend(firsts.into_iter().map(|row| Run {
            start: gathered.rows + row,
            key: (index, row),
        }));
        gathered.rows += piece.len();
        gathered.pieces.push(piece);
        Ok(None)
    }

    /// Checks a batch, and returns its rows whose value is not null; `None` if there are none.
    ///
    /// # Errors
    /// If a series or timestamp is null.
    pub fn piece(&self, batch: &RecordBatch) -> Result<Option<Piece>> {
        let names = &self.parameters.names;
        let values = batch.num_columns() - 1;
        let columns = [
            names.series.as_deref().unwrap_or_default(),
            &names.timestamp,
        ];
        for (array, name) in batch.columns()[..values]
            .iter()
            .rev()
            .zip(columns.iter().rev())
        {
            let nulls = array.logical_null_count();
            if nulls > 0 {
                return exec_err!(
                    "{NAME}: {nulls} of {} rows are null in column {name:?}: a point needs a series and a timestamp; leave these rows out by a view with {name:?} IS NOT NULL",
                    array.len()
                );
            }
        }
        let filtered;
        let batch = match batch.column(values).null_count() {
            0 => batch,
            _ => {
                filtered = filter_record_batch(batch, &is_not_null(batch.column(values))?)?;
                &filtered
            }
        };
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        let options = CastOptions {
            safe: false,
            ..Default::default()
        };
        // Free except for dates of 32 bits and smaller integers.
        let timestamps = cast_with_options(batch.column(values - 1), &DataType::Int64, &options)?;
        let values_width = batch.column(values).data_type().primitive_width();
        let copied = size_of::<i64>() + values_width.unwrap_or_default();
        Ok(Some(Piece {
            series: (values == 2).then(|| Arc::clone(batch.column(0))),
            timestamps: timestamps.as_primitive::<Int64Type>().clone(),
            values: Arc::clone(batch.column(values)),
            bytes: get_record_batch_memory_size(batch) + copied * batch.num_rows(),
        }))
    }

    /// Returns a chunk if enough rows are gathered, and they can be cut.
    pub fn next_chunk(&mut self) -> Option<Chunk> {
        match self.gathered.rows >= self.parameters.batch_rows {
            true => self.cut_behind(self.parameters.batch_rows.div_ceil(2)),
            false => None,
        }
    }

    /// Returns a chunk of the rows that are gathered, if they can be cut.
    pub fn next_small_chunk(&mut self) -> Option<Chunk> {
        self.cut_behind(1)
    }

    /// Returns the rows before the last series, if they are as many as `rows`, or else those before
    /// the last bucket.
    fn cut_behind(&mut self, rows: usize) -> Option<Chunk> {
        let series = self.gathered.runs.last()?.start;
        match series >= rows {
            true => Some(self.cut(series)),
            false => match self.last_bucket(series) {
                0 => None,
                bucket => Some(self.cut(bucket)),
            },
        }
    }

    /// Returns the error of the pool, with what to do about it.
    pub fn exhausted(&self, error: DataFusionError) -> DataFusionError {
        error.context(format!(
            "{NAME}: the memory does not suffice for {} rows, which are one bucket or few: shorter buckets or fewer partitions take less",
            self.gathered.rows
        ))
    }

    /// Returns all rows that are left.
    pub fn finish(&mut self) -> Option<Chunk> {
        (self.gathered.rows > 0).then(|| self.cut(self.gathered.rows))
    }

    /// Returns the first row of the last bucket, in the last series, which begins at `series`.
    fn last_bucket(&self, series: usize) -> usize {
        let pieces = &self.gathered.pieces;
        let mut end = self.gathered.rows;
        let last = pieces.last().expect("there are rows").timestamps.values();
        let start = bucket_start(&self.parameters, last[last.len() - 1]);
        for piece in pieces.iter().rev() {
            let begin = end - piece.len();
            let timestamps = &piece.timestamps.values()[series.saturating_sub(begin)..];
            let before = timestamps.partition_point(|&timestamp| timestamp < start);
            if before > 0 || begin <= series {
                return end - timestamps.len() + before;
            }
            end = begin;
        }
        0
    }

    /// Returns the rows before `at`, which is a row of the last series or the end.
    fn cut(&mut self, at: usize) -> Chunk {
        let continues = self.gathered.runs.last().is_some_and(|run| run.start < at);
        let rest = Chunk {
            pieces: Vec::new(),
            runs: Vec::new(),
            rows: self.gathered.rows - at,
            continues,
            before: None,
            reservation: self.gathered.reservation.new_empty(),
        };
        let mut chunk = std::mem::replace(&mut self.gathered, rest);
        let rest = &mut self.gathered;
        chunk.rows = at;
        chunk.runs.retain(|run| run.start < at);
        if continues && self.parameters.has_rates() {
            rest.before = chunk.last_with_rate(&self.parameters);
        }
        let mut begin = 0;
        for piece in std::mem::take(&mut chunk.pieces) {
            let len = piece.len();
            let kept = at.saturating_sub(begin).min(len);
            // What a piece is a slice of is kept by the later rows.
            if kept < len {
                rest.pieces.push(piece.slice(kept, len - kept, piece.bytes));
            }
            match kept {
                0 => {}
                kept if kept < len => chunk.pieces.push(piece.slice(0, kept, 0)),
                _ => chunk.pieces.push(piece),
            }
            begin += len;
        }
        let bytes = rest.pieces.iter().map(|piece| piece.bytes).sum::<usize>();
        rest.reservation = chunk.reservation.split(bytes.min(chunk.reservation.size()));
        if rest.rows > 0 {
            rest.runs.push(Run {
                start: 0,
                key: (0, 0),
            });
        }
        chunk
    }
}

impl Chunk {
    /// Returns the last point of the last series after which a rate can be computed: it is neither
    /// left out as a duplicate nor skipped as NaN.
    fn last_with_rate(&self, parameters: &TimeBucketParameters) -> Option<(i64, f64)> {
        let series = self.runs.last()?.start;
        let skips = parameters.options.nan == Nan::Skip;
        let counts = |point: &(i64, f64)| !(skips && point.1.is_nan());
        let begins = self.pieces.iter().scan(0, |begin, piece| {
            *begin += piece.len();
            Some(*begin - piece.len())
        });
        let begins: Vec<_> = begins.collect();
        let points = self
            .pieces
            .iter()
            .zip(begins)
            .rev()
            .flat_map(|(piece, begin)| {
                let rows = (series.saturating_sub(begin)..piece.len()).rev();
                let end = self.rows.saturating_sub(begin);
                let rows = rows.filter(move |&row| row < end);
                rows.map(|row| (piece.timestamps.value(row), piece.value(row)))
            });
        let mut points = points.peekable();
        while let Some(last) = points.next() {
            let mut kept = last;
            if parameters.options.duplicates != Duplicates::Keep {
                while let Some(earlier) = points.next_if(|point| point.0 == last.0) {
                    if parameters.options.duplicates == Duplicates::First {
                        kept = earlier;
                    }
                }
            }
            if counts(&kept) {
                return Some(kept);
            }
        }
        // Nothing of the series is in this chunk, except perhaps what came before.
        if self.runs.len() == 1 {
            self.before
        } else {
            None
        }
    }
}

/// Returns the start of the bucket of a timestamp, or the lowest number for a bucket that has none,
/// which the library will refuse.
pub(super) fn bucket_start(parameters: &TimeBucketParameters, timestamp: i64) -> i64 {
    let (timestamp, origin) = (i128::from(timestamp), i128::from(parameters.origin));
    let start = timestamp - (timestamp - origin).rem_euclid(i128::from(parameters.every));
    i64::try_from(start).unwrap_or(i64::MIN)
}

/// Returns the first row of each series that begins in a piece.
///
/// # Errors
/// If a series is below the one before it.
fn first_rows(before: Option<&Piece>, piece: &Piece) -> Result<Vec<usize>> {
    let Some(series) = &piece.series else {
        return Ok(if before.is_none() {
            vec![0]
        } else {
            Vec::new()
        });
    };
    let mut firsts = Vec::new();
    let options = SortOptions::default();
    match before.and_then(|before| before.series.as_ref()) {
        None => firsts.push(0),
        Some(before) => match make_comparator(before, series, options)?(before.len() - 1, 0) {
            Ordering::Equal => {}
            order => {
                require_order(order)?;
                firsts.push(0);
            }
        },
    }
    let compare = make_comparator(series, series, options)?;
    // Most batches of long series have one.
    if compare(0, series.len() - 1) != Ordering::Equal {
        for range in partition(std::slice::from_ref(series))?
            .ranges()
            .into_iter()
            .skip(1)
        {
            require_order(compare(range.start - 1, range.start))?;
            firsts.push(range.start);
        }
    }
    Ok(firsts)
}

fn require_order(order: Ordering) -> Result<()> {
    match order {
        Ordering::Greater => exec_err!(
            "{NAME}: the input is not in the order of series and timestamps: is the table's WITH ORDER right?"
        ),
        _ => Ok(()),
    }
}
