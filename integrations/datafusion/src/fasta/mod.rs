//! FASTA and FASTQ files as tables.
//!
//! A table of FASTA or FASTQ files has a row for each record, in the columns
//!
//! | column | type | content |
//! |---|---|---|
//! | `id` | Utf8, never null | the header up to its first blank, without the `>` or `@` |
//! | `description` | Utf8 | the rest of the header; null if the header ends after the id |
//! | `sequence` | LargeUtf8, never null | the letters of all lines, in their case, and `*`, `-`, `.`, `?` and `~`, without blanks and line ends; the qualities of FASTQ are left out |
//!
//! [`register_fasta`] names such a table, and after [`register`](crate::register) so does SQL:
//!
//! ```sql
//! CREATE EXTERNAL TABLE genomes STORED AS FASTA LOCATION 'data/genomes/'
//! ```
//!
//! The location is a file, a pattern such as `data/*.fna.gz`, or a folder, of which the files that
//! end in `.fa`, `.fasta`, `.fna`, `.ffn`, `.faa`, `.frn`, `.fq` or `.fastq` are read, and those with
//! `.gz` or `.zst` after it. The first byte of a text tells FASTA from FASTQ, and `STORED AS FASTQ` is
//! the same. `PARTITIONED BY (species)` makes columns of folders such as `species=human/`, so that a
//! file with `=` in its name is refused. A file is decompressed if its first bytes say so (gzip or
//! zstd), whatever its name is.
//!
//! Files are read in parallel, each file by one partition, and only the columns that a query needs
//! are built. A batch ends after the session's batch size or 64 MiB of text, so that memory stays
//! bounded by the largest record. A damaged file gives an error with the file, the record, the
//! line and the reason. So does a file without
//! records, as the rest of a copy that failed. A file of bgzip without its last block, which is empty, and
//! bytes behind a compressed text are warnings in the log.

mod columns;
mod format;
mod reader;
mod scan;
mod source;
mod table;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::prelude::SessionContext;

pub use scan::{FastaFile, FastaScan};
pub use source::FastaSource;
pub use table::register_fasta;

/// Endings of the names of FASTA files, before that of a compression.
const EXTENSIONS: [&str; 8] = ["fa", "fasta", "fna", "ffn", "faa", "frn", "fq", "fastq"];

/// Returns the columns of a FASTA file.
fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("description", DataType::Utf8, true),
        Field::new("sequence", DataType::LargeUtf8, false),
    ]))
}

/// Makes `STORED AS FASTA` known to the session, and the endings of FASTA files where a query names
/// a file in place of a table.
pub fn register(context: &SessionContext) -> Result<()> {
    let state = context.state_ref();
    let mut state = state.write();
    for extension in EXTENSIONS {
        state.register_file_format(Arc::new(format::FastaFormatFactory { extension }), true)?;
    }
    let factories = state.table_factories_mut();
    for name in ["FASTA", "FASTQ"] {
        factories.insert(name.into(), Arc::new(table::FastaTableFactory));
    }
    Ok(())
}
