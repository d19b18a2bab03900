//! Joins of boxes, compared with joins on inequalities in plain SQL.

mod errors;
mod joins;
mod memory;
mod plans;
mod tables;
