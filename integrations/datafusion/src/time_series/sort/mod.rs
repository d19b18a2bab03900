//! Sorting points by series and timestamp, where there are many points for each series.
//!
//! The engine's sort compares rows, texts too. Here, each series gets a number by hashing, points are
//! brought to their series by counting, and the timestamps of a series are sorted only if they are out
//! of order. Points that do not fit in memory are left to the engine's sort, which spills.

mod exec;
mod external;
mod rows;
mod stream;

pub use exec::SeriesSortExec;

/// The name of the plan node in EXPLAIN and in errors.
const NAME: &str = "SeriesSortExec";
