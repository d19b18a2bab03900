//! Tensor sketches, FASTA files, and joins of the nearest vectors, through the engine.

mod distance;
mod fasta;
mod fasta_tables;
mod functions;
mod nearest;
mod nearest_filters;
mod nearest_plans;
mod support;
