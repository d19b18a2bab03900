//! The reader of `gridstride time-series`.
#![allow(dead_code)]

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
