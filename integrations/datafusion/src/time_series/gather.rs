//! Bringing sorted rows together to chunks that are worth a call of the library.

use std::sync::Arc;

use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryReservation;
use gridstride::time_series::{Duplicates, Nan};

use super::parameters::{EXEC_NAME, TimeBucketParameters};
use super::piece::Piece;

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
    /// The memory of the pieces, of their copy, and of the most buckets that they can have.
    pub reservation: MemoryReservation,
}

/// Gathers sorted rows, and cuts them to chunks where series or buckets begin.
pub(super) struct Gatherer {
    parameters: Arc<TimeBucketParameters>,
    gathered: Chunk,
    /// The memory above which rows are cut, if they can be.
    budget: usize,
    /// The buffers of what is gathered. Batches may share them.
    counter: RecordBatchMemoryCounter,
    /// The number of rows from which on cutting is tried: fewer could not be cut.
    next_try: usize,
}

impl Gatherer {
    pub fn new(
        parameters: Arc<TimeBucketParameters>,
        reservation: MemoryReservation,
        budget: usize,
    ) -> Gatherer {
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
            budget,
            counter: RecordBatchMemoryCounter::new(),
            next_try: 0,
        }
    }

    /// Adds rows, which follow those before in the order of series and timestamps. Returns them
    /// with the error of the pool if the memory does not suffice.
    ///
    /// # Errors
    /// If series are out of order.
    pub fn push(&mut self, piece: Piece) -> Result<Option<(Piece, DataFusionError)>> {
        let bytes = memory(&self.parameters, &piece, &mut self.counter)?;
        let gathered = &mut self.gathered;
        if let Err(error) = gathered.reservation.try_grow(bytes) {
            // The rows will be counted again.
            self.counter = RecordBatchMemoryCounter::new();
            for piece in &gathered.pieces {
                memory(&self.parameters, piece, &mut self.counter)?;
            }
            return Ok(Some((piece, error)));
        }
        let index = gathered.pieces.len();
        let firsts = piece.first_rows(gathered.pieces.last())?;
        gathered.runs.extend(firsts.into_iter().map(|row| Run {
            start: gathered.rows + row,
            key: (index, row),
        }));
        gathered.rows += piece.len();
        gathered.pieces.push(piece);
        Ok(None)
    }

    /// Returns a chunk if enough rows are gathered, or as many as the memory of a partition allows,
    /// and they can be cut.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let (rows, most) = (self.gathered.rows, self.parameters.batch_rows);
        let is_full = rows >= most || self.reserved() >= self.budget;
        if !is_full || rows < self.next_try {
            return Ok(None);
        }
        let chunk = self.cut_behind(rows.min(most).div_ceil(2))?;
        if chunk.is_none() {
            // Rows of one bucket: looking for a cut after each batch would take quadratic time.
            self.next_try = rows + rows / 8 + 1;
        }
        Ok(chunk)
    }

    /// Returns the bytes that are reserved.
    pub fn reserved(&self) -> usize {
        self.gathered.reservation.size()
    }

    /// Returns a chunk of the rows that are gathered, if they can be cut.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn next_small_chunk(&mut self) -> Result<Option<Chunk>> {
        self.cut_behind(1)
    }

    /// Returns the rows before the last series, if they are as many as `rows`, or else those before
    /// the last bucket.
    fn cut_behind(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let Some(last) = self.gathered.runs.last() else {
            return Ok(None);
        };
        let at = match last.start >= rows {
            true => last.start,
            false => self.last_bucket(last.start),
        };
        (at > 0).then(|| self.cut(at)).transpose()
    }

    /// Returns the error of the pool, with what to do about it.
    pub fn exhausted(&self, error: DataFusionError) -> DataFusionError {
        if self.gathered.rows == 0 {
            return error.context(format!(
                "{EXEC_NAME}: the memory does not suffice for a batch of rows beside what the other partitions and operators have: fewer partitions (datafusion.execution.target_partitions) or a smaller datafusion.execution.batch_size take less"
            ));
        }
        error.context(format!(
            "{EXEC_NAME}: the memory does not suffice for {} rows, which are one bucket or few: shorter buckets or fewer partitions take less",
            self.gathered.rows
        ))
    }

    /// Returns all rows that are left.
    ///
    /// # Errors
    /// If Arrow cannot tell the memory of the series' type.
    pub fn finish(&mut self) -> Result<Option<Chunk>> {
        let rows = self.gathered.rows;
        (rows > 0).then(|| self.cut(rows)).transpose()
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
    fn cut(&mut self, at: usize) -> Result<Chunk> {
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
        let mut begin = 0;
        for piece in std::mem::take(&mut chunk.pieces) {
            let len = piece.len();
            let kept = at.saturating_sub(begin).min(len);
            // The later rows keep the batch that the piece is a slice of.
            if kept < len {
                rest.pieces.push(piece.slice(kept, len - kept));
            }
            match kept {
                0 => {}
                kept if kept < len => chunk.pieces.push(piece.slice(0, kept)),
                _ => chunk.pieces.push(piece),
            }
            begin += len;
        }
        if continues && self.parameters.has_rates() {
            rest.before = chunk.last_with_rate(&self.parameters);
        }
        self.next_try = 0;
        self.counter = RecordBatchMemoryCounter::new();
        let mut bytes = 0;
        for piece in &rest.pieces {
            bytes += memory(&self.parameters, piece, &mut self.counter)?;
        }
        rest.reservation = chunk.reservation.split(bytes.min(chunk.reservation.size()));
        if rest.rows > 0 {
            rest.runs.push(Run {
                start: 0,
                key: (0, 0),
            });
        }
        Ok(chunk)
    }
}

/// Returns the memory of a piece, of its copy, and of its buckets if each row has its own: the
/// output's memory is reserved before it is made, when fewer rows still are possible.
fn memory(
    parameters: &TimeBucketParameters,
    piece: &Piece,
    counter: &mut RecordBatchMemoryCounter,
) -> Result<usize> {
    let numbers = (1 + parameters.methods.0.len()) * size_of::<f64>();
    let buckets = piece.len() * numbers + piece.series_memory()?;
    // The number of the series of each bucket.
    let series_numbers = piece.len() * size_of::<u64>();
    Ok(piece.memory(counter)? + series_numbers + buckets * parameters.copies_of_buckets())
}

impl Chunk {
    /// Returns the last point of the last series after which a rate can be computed: it is neither
    /// left out as a duplicate nor skipped as NaN.
    fn last_with_rate(&self, parameters: &TimeBucketParameters) -> Option<(i64, f64)> {
        let series = self.runs.last()?.start;
        let skips = parameters.options.nan == Nan::Skip;
        let counts = |point: &(i64, f64)| !(skips && point.1.is_nan());
        let mut end = self.rows;
        let points = self.pieces.iter().rev().flat_map(|piece| {
            end -= piece.len();
            let rows = (series.saturating_sub(end)..piece.len()).rev();
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
