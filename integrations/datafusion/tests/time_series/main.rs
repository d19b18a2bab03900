//! Time buckets, in SQL and by data frames.

mod common;
mod plans;
