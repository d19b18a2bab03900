//! Box overlap: a join of two tables on their axis-aligned boxes.
//!
//! A box is a `FixedSizeList` of 6 numbers, minX, minY, minZ, maxX, maxY, maxZ, or of 4 without Z,
//! or as many columns, of `Float32`, `Float64` or `Int32`. Columns of other numbers, or of several
//! types, are read as `Float64`; an integer that it would round is an error. Two boxes overlap as
//! [`gridstride::box_overlap`] defines: touching counts, infinite limits are valid, NaN and a
//! minimum above its maximum are errors. A null box, and a box with a null number, overlaps
//! nothing.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::common::Result<()> {
//! let ctx = SessionContext::new();
//! gridstride_datafusion::register(&ctx)?;
//! ctx.sql(
//!     "CREATE TABLE parts AS SELECT * FROM (VALUES ('a', 0.0, 0.0, 1.0, 1.0), ('b', 5.0, 5.0, 6.0, 6.0)) \
//!      AS t (name, x0, y0, x1, y1)",
//! )
//! .await?;
//! let clashes = ctx
//!     .sql(
//!         "SELECT a_name, b_name FROM box_overlap('parts a', 'x0,y0,x1,y1', 'parts b', 'x0,y0,x1,y1') \
//!          WHERE a_name <= b_name",
//!     )
//!     .await?;
//! assert_eq!(clashes.count().await?, 2);
//! # Ok(())
//! # }
//! ```
//!
//! In SQL, both arguments of tables name a table or a view of the session. Names of the query's `WITH`
//! are not seen: if a table of the session has the same name, it is read instead. Create views.
//!
//! # Plans
//! A side that fits into memory is replicated: [`BoxOverlapExec`] reads it whole, and the other
//! side in batches. This is the choice for a side that is known to have at most
//! `gridstride.box_tile_rows` rows, and if the numbers of rows are unknown. Left, semi and anti
//! joins replicate the right side.
//!
//! If both sides are large, [`BoxTileExec`] copies each row to the bins of the [tiles](Tiling) that
//! its box touches, both sides are partitioned and sorted by the bin, which may spill to disk, and
//! each bin is one search. Left, semi and anti joins need another step, [`BoxMatchExec`], for the
//! rows whose boxes touch several bins.
//!
//! Unless the size of tiles is given, planning reads the first rows of both sides by a query of its
//! own, for seconds at most; a side that fails or has to be read whole has no sample.
//!
//! The rows of the result are the same with each plan. Their order is not defined.
//!
//! As in the engine's own joins, a filter of the result on columns of one table leaves out rows of
//! this table before the search: of both tables for inner joins, and of the left table for the
//! others. All other filters, and those with functions such as `random()`, are of the result.
//!
//! # Memory
//! The rows of a search, both sides, are in memory that is reserved from the engine's pool, and so
//! are its pairs, `gridstride.box_pairs` at a time. The side that is not replicated is searched in
//! smaller batches if the memory requires: each partition takes a share of what the pool has left.
//! Pairs come in smaller slices too. A pool that is too small is an error that names the
//! operator. With tiles, more [bins](BoxOverlapOptions::bins) need less memory, unless
//! [tiles](BoxOverlapOptions::tile) are so large that one holds most boxes.

mod box_type;
mod boxes;
mod calls;
mod choose;
mod exec;
mod gather;
mod match_exec;
mod options;
mod output;
mod parameters;
mod partition;
mod plan;
mod rows;
mod schema;
mod search;
mod slices;
mod tile_exec;
mod tiling;

pub use box_type::{BoxColumns, BoxType};
pub use calls::{BoxOverlapExt, BoxOverlapFunction};
pub use exec::BoxOverlapExec;
pub use match_exec::BoxMatchExec;
pub use options::{BoxOverlapMethod, BoxOverlapOptions};
pub use parameters::{
    BoxJoinType, BoxMatchParameters, BoxOverlapParameters, BoxTileParameters, Placement,
};
pub use plan::BoxOverlapNode;
pub use tile_exec::BoxTileExec;
pub use tiling::Tiling;
