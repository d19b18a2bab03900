//! Queries on clusters: in this process, and of three processes that are killed.

mod faults;
mod harness;
mod kills;
mod order;
mod programs;
mod rows;
mod stages;
mod stalls;
