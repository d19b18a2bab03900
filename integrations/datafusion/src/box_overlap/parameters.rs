//! The parameters of the plan nodes. They are all that a node needs besides its inputs.

use std::fmt;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::{JoinType, Result, plan_err};
use serde::{Deserialize, Serialize};

use super::box_type::{BoxColumns, require_same_type};
use super::tiling::Tiling;
use crate::config::DeviceName;

/// The name of the plan node in EXPLAIN and in errors.
pub(super) const EXEC_NAME: &str = "BoxOverlapExec";

gridstride::choice! {
    /// Which rows a join of boxes returns.
    pub enum BoxJoinType("the join") {
        /// All pairs of overlapping boxes, with the columns of both tables.
        Inner("inner"),
        /// All pairs, and the rows of the left table without a partner, with nulls for the right table.
        Left("left"),
        /// The rows of the left table that have a partner, each once, with the left table's columns.
        LeftSemi("semi"),
        /// The rows of the left table without a partner, with the left table's columns.
        LeftAnti("anti"),
    }
}

impl TryFrom<JoinType> for BoxJoinType {
    type Error = datafusion::error::DataFusionError;

    fn try_from(join: JoinType) -> Result<BoxJoinType> {
        match join {
            JoinType::Inner => Ok(BoxJoinType::Inner),
            JoinType::Left => Ok(BoxJoinType::Left),
            JoinType::LeftSemi => Ok(BoxJoinType::LeftSemi),
            JoinType::LeftAnti => Ok(BoxJoinType::LeftAnti),
            other => plan_err!(
                "box_overlap: a join of type {other} does not exist: use Inner, Left, LeftSemi or \
                 LeftAnti, and exchange the tables for right joins"
            ),
        }
    }
}

impl From<BoxJoinType> for JoinType {
    fn from(join: BoxJoinType) -> JoinType {
        match join {
            BoxJoinType::Inner => JoinType::Inner,
            BoxJoinType::Left => JoinType::Left,
            BoxJoinType::LeftSemi => JoinType::LeftSemi,
            BoxJoinType::LeftAnti => JoinType::LeftAnti,
        }
    }
}

/// How the rows of both tables come together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Placement {
    /// Each partition of the right table is searched together with the whole left table. For inner
    /// joins only.
    ReplicateLeft,
    /// Each partition of the left table is searched together with the whole right table.
    ReplicateRight,
    /// Both tables are partitioned by tiles of space.
    Tiles(Tiling),
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Placement::ReplicateLeft => write!(f, "replicate_left"),
            Placement::ReplicateRight => write!(f, "replicate_right"),
            Placement::Tiles(tiling) => {
                write!(f, "tiles(size={:?}, bins={})", tiling.size, tiling.bins)
            }
        }
    }
}

/// The parameters of [`BoxOverlapExec`](super::BoxOverlapExec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxOverlapParameters {
    /// Which rows the join returns.
    pub join: BoxJoinType,
    /// The boxes of the left input.
    pub left: BoxColumns,
    /// The boxes of the right input.
    pub right: BoxColumns,
    /// How the rows of both inputs come together.
    pub placement: Placement,
    /// The columns of the result among those of the join, in this order. `None` is all of them.
    pub projection: Option<Vec<usize>>,
    /// The number of rows that are gathered for a search, if one input is replicated.
    pub batch_rows: usize,
    /// The number of pairs that are fetched from the device at a time.
    pub batch_pairs: usize,
    /// The device on which the library computes.
    pub device: DeviceName,
}

impl BoxOverlapParameters {
    /// Fails unless both inputs have boxes of one type, which can be joined in this way.
    pub(super) fn check(&self, left: &Schema, right: &Schema) -> Result<()> {
        let (a, b) = (self.left.box_type(left)?, self.right.box_type(right)?);
        require_same_type([(&self.left.table, &a), (&self.right.table, &b)])?;
        match &self.placement {
            Placement::ReplicateLeft if self.join != BoxJoinType::Inner => plan_err!(
                "box_overlap: a {:?} join cannot replicate its left table: replicate the right table, \
                 or use tiles",
                self.join
            ),
            Placement::ReplicateLeft | Placement::ReplicateRight => Ok(()),
            Placement::Tiles(tiling) => tiling.check(a.width / 2),
        }
    }

    /// Returns how many columns of an input are the user's: all but the bin.
    pub(super) fn user_columns(&self, columns: usize) -> usize {
        match self.placement {
            Placement::Tiles(_) => columns - 1,
            Placement::ReplicateLeft | Placement::ReplicateRight => columns,
        }
    }

    /// Whether the join cannot decide about every row, and adds a column for
    /// [`BoxMatchExec`](super::BoxMatchExec).
    pub(super) fn with_state(&self) -> bool {
        matches!(self.placement, Placement::Tiles(_)) && self.join != BoxJoinType::Inner
    }
}

/// The parameters of [`BoxTileExec`](super::BoxTileExec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxTileParameters {
    /// The boxes of the input.
    pub boxes: BoxColumns,
    /// The tiles and bins.
    pub tiling: Tiling,
    /// Whether rows with a null box are kept, in bin 0, as left and anti joins need them.
    pub keep_nulls: bool,
}

/// The parameters of [`BoxMatchExec`](super::BoxMatchExec).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxMatchParameters {
    /// The join whose rows are decided: left, semi or anti.
    pub join: BoxJoinType,
    /// The boxes of the left table.
    pub boxes: BoxColumns,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_survive_json() {
        let boxes = |table: &str, columns: &[usize]| BoxColumns {
            table: table.to_owned(),
            columns: columns.to_vec(),
        };
        let tiling = Tiling {
            size: vec![0.1, 1e-300],
            bins: 12,
        };
        for placement in [
            Placement::ReplicateLeft,
            Placement::ReplicateRight,
            Placement::Tiles(tiling),
        ] {
            let parameters = BoxOverlapParameters {
                join: BoxJoinType::Inner,
                left: boxes("parts", &[0]),
                right: boxes("welds", &[3, 1, 2, 4]),
                placement,
                projection: Some(vec![2, 0]),
                batch_rows: 1 << 40,
                batch_pairs: 7,
                device: DeviceName::Cuda(3),
            };
            let json = serde_json::to_value(&parameters).unwrap();
            let copy: BoxOverlapParameters = serde_json::from_value(json).unwrap();
            assert_eq!(copy, parameters);
        }
    }
}
