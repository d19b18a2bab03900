//! The reader of `gridstride time-series`.
// These items are public here alone.
#![allow(dead_code, clippy::len_without_is_empty)]

#[path = "../../cli/src/time_series/columns.rs"]
pub mod columns;
#[path = "../../cli/src/time_series/names.rs"]
pub mod names;
#[path = "../../cli/src/time_series/points_file.rs"]
pub mod points_file;
#[path = "../../cli/src/time_series/time.rs"]
pub mod time;
#[path = "../../cli/src/time_series/value.rs"]
pub mod value;
