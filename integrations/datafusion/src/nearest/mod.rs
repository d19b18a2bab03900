//! The nearest vectors, such as sketches, as a join of two tables.
//!
//! For each row of a table of queries, the join finds the `k` rows of a table of references whose
//! vectors have the least Euclidean distances to the query's vector:
//!
//! ```sql
//! SELECT queries_id, references_id, rank, distance
//! FROM nearest('queries', 'sketch', 'references', 'sketch', 3)
//! ```
//!
//! or [`NearestExt::nearest`] of data frames. In SQL, both arguments of tables name a table or a view of
//! the session. Names of the query's `WITH` are not seen: if a table of the session has the same name,
//! it is read instead. Create views.
//!
//! - A vector is a FixedSizeList of Float32 or Float64, the same in both tables.
//! - The result has the columns of both tables, `rank` (Int32, from 1, the nearest first) and
//!   `distance` (Float64). Fewer references than `k` give fewer rows.
//! - A query whose vector is null has no rows in the result. References whose vector is null are
//!   never found. A null, NaN or infinity in a vector is an error.
//! - The search is exact. Of references at the same distance, those come first that the engine has
//!   read first, and which of them are among the `k` may differ between runs. Everything else is
//!   deterministic; devices differ in distances by the error bounds of
//!   [`distances`](gridstride::distances).
//!
//! A filter of the result on columns of the queries leaves out queries before the search. All other
//! filters are of the rows found: `WHERE references_id < 9` returns fewer rows than `k` for each
//! query. To search fewer references, name a view of them.
//!
//! [`NearestExec`] holds the references in memory, and streams the queries in partitions.

mod calls;
mod exec;
mod gather;
mod output;
mod parameters;
mod plan;
mod search;
mod stream;

pub use calls::NearestExt;
pub(crate) use calls::NearestFunction;
pub use exec::NearestExec;
pub use parameters::{NearestParameters, VectorColumn};
pub(crate) use plan::NearestNode;
