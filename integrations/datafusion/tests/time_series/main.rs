//! Time buckets, in SQL and by data frames.

mod common;
mod errors;
mod plans;
mod reference;
mod resources;
mod sort;
mod splits;
mod types;
mod volatile;
