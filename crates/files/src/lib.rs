//! Reads and writes the files of gridstride's program, Python package and DataFusion tables.

pub mod boxes;
pub mod decimal;
pub mod decoding;
mod input;
pub mod lines;
pub mod memory;
mod monitor;
pub mod npy;
pub mod points;
pub mod records;
pub mod sequences;
pub mod tables;
pub mod text;
mod texts;
pub mod time;

pub use input::{cannot_read, decompressed, open};
pub use monitor::Monitor;
pub use texts::Texts;
