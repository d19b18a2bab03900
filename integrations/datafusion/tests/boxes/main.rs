//! Joins of boxes, compared with joins on inequalities in plain SQL.

mod errors;
mod filters;
mod joins;
mod memory;
mod plans;
mod tables;
