//! Sequences of letters in files: FASTA and FASTQ.
//!
//! [`Reader`] is the only reader of both formats. It is used by the program, the Python package, the
//! tables of DataFusion, a benchmark and a fuzz target.
//!
//! - A record of FASTA begins with a line `>name description`, and its letters are in any number of
//!   lines. A record of FASTQ begins with `@name description`, has its letters in one line or several,
//!   then a line that begins with `+`, and then a quality for each letter, which is counted and left
//!   out.
//! - White space in lines of letters is ignored. So are blank lines, and a byte order mark of UTF-8.
//! - A `>` or `;` within a line of letters is an error even where unknown letters are skipped. Two
//!   files that were joined without a line end between them would otherwise give a merged record.
//! - Errors name the record, the line and a remedy.
//!
//! # Why no other crate
//! needletail, paraseq, noodles and seq_io parse records to text, on the caller's thread or, for
//! paraseq, on several. They hold a whole record, where a chromosome has 250 MB, take the bytes in a
//! `>` within a line or in a `;` comment for letters, and do not tell the line of an error. The codes
//! of an alphabet would be a second pass. `benches/peers/sequence_files` times them on the same files.

mod chunks;
mod error;
mod fastq;
mod format;
mod letters;
mod parsed;
mod problem;
mod reader;
mod record;
mod records;
mod short;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use letters::Letters;
pub use reader::Reader;
pub use record::{Piece, Record};
pub use short::{Needed, SHOWN_NAME, Short};
