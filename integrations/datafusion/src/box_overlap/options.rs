//! Options of a join of boxes, also as text.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use datafusion::common::{DataFusionError, Result, plan_err};

use super::tiling::Tiling;
use crate::error::choice;

gridstride::choice! {
    /// How the rows of both tables come together.
    pub enum BoxOverlapMethod("method"), default Auto {
        /// Replicates a side that is known to have at most `gridstride.box_tile_rows` rows, or whose
        /// number of rows is unknown; uses tiles if the rows are known to be more.
        Auto("auto"),
        /// Replicates the left table: each partition of the right table is searched together with all
        /// of it. For inner joins only.
        ReplicateLeft("replicate_left"),
        /// Replicates the right table: each partition of the left table is searched together with all
        /// of it.
        ReplicateRight("replicate_right"),
        /// Partitions both tables by tiles of space.
        Tiles("tiles"),
    }
}

/// The options of a join of boxes. The rows of the result do not depend on them.
///
/// As text, options are `name=value` with commas between them, each at most once:
///
/// | name | values | default |
/// |---|---|---|
/// | `method` | `auto`, `replicate_left`, `replicate_right`, `tiles` | `auto` |
/// | `tile` | the length of a tile along all axes, or one for each axis, `10x10x5` | from a sample |
/// | `bins` | how many bins the tiles are distributed over, at most 65536 | from the numbers of rows |
///
/// ```
/// use gridstride_datafusion::box_overlap::{BoxOverlapMethod, BoxOverlapOptions};
///
/// let options: BoxOverlapOptions = "method=tiles, tile=10x10x2.5".parse()?;
/// assert_eq!(options.method, BoxOverlapMethod::Tiles);
/// assert_eq!(options.tile, [10.0, 10.0, 2.5]);
/// assert_eq!(options.to_string(), "method=tiles,tile=10x10x2.5");
/// # Ok::<(), datafusion::common::DataFusionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxOverlapOptions {
    /// How the rows of both tables come together.
    pub method: BoxOverlapMethod,
    /// The length of a tile along each axis, or one for all axes. If there are none, planning reads
    /// the first rows of both tables and takes eight times the extent that nine of ten boxes have
    /// at most.
    pub tile: Vec<f64>,
    /// How many bins the tiles are distributed over. `None` is four for each of the session's
    /// target partitions, or more if the tables have more than `gridstride.batch_rows` rows for
    /// each.
    pub bins: Option<u32>,
}

impl BoxOverlapOptions {
    /// Returns the length of a tile along each axis, if it is given.
    pub(super) fn tile_of(&self, axes: usize) -> Option<Vec<f64>> {
        match self.tile[..] {
            [] => None,
            [size] => Some(vec![size; axes]),
            _ => Some(self.tile.clone()),
        }
    }

    /// Refuses tiles and bins that no join has, also if the join then does without them.
    pub(super) fn check(&self, axes: usize) -> Result<()> {
        let tiling = Tiling {
            size: self.tile_of(axes).unwrap_or(vec![1.0; axes]),
            bins: self.bins.unwrap_or(1),
        };
        tiling.check(axes)
    }
}

impl Eq for BoxOverlapOptions {}

impl Hash for BoxOverlapOptions {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for BoxOverlapOptions {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "method={}", self.method)?;
        for (axis, size) in self.tile.iter().enumerate() {
            let separator = if axis == 0 { ",tile=" } else { "x" };
            write!(f, "{separator}{size}")?;
        }
        self.bins.map_or(Ok(()), |bins| write!(f, ",bins={bins}"))
    }
}

impl FromStr for BoxOverlapOptions {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<BoxOverlapOptions> {
        let mut options = BoxOverlapOptions::default();
        let mut named = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            if named.contains(&name) {
                return plan_err!("box_overlap: option {name} is given twice");
            }
            named.push(name);
            match name {
                "method" => options.method = choice("box_overlap", value)?,
                "tile" => match value.split('x').map(|size| size.trim().parse()).collect() {
                    Ok(sizes) => options.tile = sizes,
                    Err(error) => {
                        return plan_err!(
                            "box_overlap: tile={value} has to be a number, or one for each axis, such \
                             as 10x10x5: {error}"
                        );
                    }
                },
                "bins" => match value.parse() {
                    Ok(bins) => options.bins = Some(bins),
                    Err(error) => {
                        return plan_err!("box_overlap: bins={value} has to be a number: {error}");
                    }
                },
                _ => {
                    return plan_err!(
                        "box_overlap: there is no option {name:?}: the options are method, tile and \
                         bins"
                    );
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_written() {
        for text in [
            "method=auto",
            "method=replicate_left",
            "method=replicate_right",
            "method=tiles,tile=0.5,bins=7",
            "method=tiles,tile=1x2",
        ] {
            assert_eq!(text.parse::<BoxOverlapOptions>().unwrap().to_string(), text);
        }
        for (text, error) in [
            ("method=best", "method is \"best\", but possible are auto"),
            (
                "tile=1x",
                "tile=1x has to be a number, or one for each axis",
            ),
            ("bins=-1", "bins=-1 has to be a number"),
            ("tiles", "there is no option \"tiles\""),
            ("bins=2, tile=1,bins=2", "option bins is given twice"),
        ] {
            let found = text.parse::<BoxOverlapOptions>().unwrap_err().to_string();
            assert!(found.contains(error), "{found}");
        }
    }
}
