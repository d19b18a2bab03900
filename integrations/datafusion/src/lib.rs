//! gridstride's GPU kernels in Apache DataFusion: plan nodes, functions in SQL, and methods of data
//! frames.
//!
//! [`register`] adds them to a session:
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::common::Result<()> {
//! let ctx = SessionContext::new();
//! gridstride_datafusion::register(&ctx)?;
//! # ctx.sql("SET gridstride.device = 'cpu'").await?.collect().await?;
//! ctx.sql("CREATE TABLE points AS VALUES (0, 1.0), (5, 3.0), (35, 4.0)").await?.collect().await?;
//! let buckets = ctx
//!     .sql("SELECT * FROM time_buckets('points', NULL, 'column1', 'column2', '35', 'count,mean')")
//!     .await?;
//! assert_eq!(buckets.count().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! | | in SQL | module |
//! |---|---|---|
//! | statistics of time series in buckets of time | `FROM time_buckets('points', …)` | [`time_series`] |
//! | joins of tables on overlapping boxes | `FROM box_overlap('parts', …)` | [`box_overlap`] |
//! | sketches of sequences, and their distances | `tensor_sketch(sequence, 96, 4, 0)`, `sketch_distance(a, b)` | [`sketch`] |
//! | the nearest vectors of another table | `FROM nearest('queries', 'sketch', 'references', 'sketch', 3)` | [`nearest`] |
//! | FASTA files as tables | `CREATE EXTERNAL TABLE … STORED AS FASTA LOCATION '…'` | [`fasta`] |
//!
//! # Options
//! | option | default | |
//! |---|---|---|
//! | `gridstride.device` | `auto` | `auto` (the first GPU, or else the CPU), `cpu`, `cuda` (the same as `cuda:0`), `cuda:N` or `simulator` |
//! | `gridstride.batch_rows` | 4194304 | rows that operators gather for a call of the library |
//! | `gridstride.box_tile_rows` | 10000000 | the most rows of a table that a join of boxes replicates |
//! | `gridstride.box_pairs` | 4194304 | pairs of boxes that are fetched from the device at a time |
//! | `gridstride.merge_sorted` | `false` | whether partitions that are sorted already are merged into one stream: slower, with little memory |
//!
//! `SET gridstride.device = 'cuda:1'` sets an option for the queries of a session that follow.

pub mod arrow;
pub mod box_overlap;
pub mod config;
mod error;
mod exact;
pub mod fasta;
mod memory;
pub mod nearest;
mod node;
mod planner;
mod session;
pub mod sketch;
mod table_function;
pub mod time_series;
mod volatile;

pub use error::OperatorError;
pub use session::{extension_planners, query_planner, register};

/// The program of the README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
