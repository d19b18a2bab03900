//! Reads and writes the files of gridstride's program, Python package and DataFusion tables.

pub mod decoding;
pub mod sequences;
pub mod time;
