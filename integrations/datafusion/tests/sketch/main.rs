//! Tensor sketches, FASTA files, and joins of the nearest vectors, through the engine.

mod fasta;
mod functions;
mod nearest;
mod support;
