//! A tree of bounding boxes over the second set.

use gridstride_runtime::Result;

use super::lanes::{Groups, HasKey};
use crate::input::Boxes;

/// Returns the levels of a tree: boxes in the order of a curve, in groups of
/// [`LANES`](super::lanes::LANES); the bounding boxes of these groups, in groups; and so on up to a
/// single group. The children of box i of a level are group i of the level below. An empty set has
/// no levels.
pub(super) fn levels<T: HasKey>(boxes: Boxes<'_, T>, ids: &[u32]) -> Result<Vec<Groups<T::Key>>> {
    let mut levels = Vec::new();
    if boxes.len() > 0 {
        levels.push(Groups::of_boxes(boxes, Some(ids))?);
    }
    while let Some(level) = levels.last().filter(|level| level.len() > 1) {
        let above = level.bounds()?;
        levels.push(above);
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::curve;
    use crate::cpu::lanes::LANES;

    #[test]
    fn a_box_holds_the_group_below_it() {
        for length in [0, 1, 7, 8, 9, 64, 65, 1000] {
            let row = |i: i32| [i * 37 % 101, i % 13, i * 37 % 101 + i % 5, i % 13 + 2];
            let numbers: Vec<i32> = (0..length).flat_map(row).collect();
            let boxes = Boxes {
                numbers: &numbers,
                axes: 2,
            };
            let ids = curve::order(boxes).unwrap();
            let levels = levels(boxes, &ids).unwrap();
            assert_eq!(levels.last().map_or(1, |top| top.len()), 1);
            // The limits of a level's box.
            let limits = |level: &Groups<i32>, i: usize| {
                let group = &level.intervals[i / LANES * 2..][..2];
                [0, 1].map(|axis| [group[axis].min[i % LANES], group[axis].max[i % LANES]])
            };
            for levels in levels.windows(2) {
                assert_eq!(levels[1].length, levels[0].len());
                for i in 0..levels[1].length {
                    let group = &levels[0].intervals[i * 2..][..2];
                    let bounds = [0, 1].map(|axis| {
                        let (min, max) = (group[axis].min.iter(), group[axis].max.iter());
                        [*min.min().unwrap(), *max.max().unwrap()]
                    });
                    assert_eq!(limits(&levels[1], i), bounds);
                }
            }
            for (i, &id) in ids[..length as usize].iter().enumerate() {
                let row = boxes.row(id as usize);
                assert_eq!(limits(&levels[0], i), [[row[0], row[2]], [row[1], row[3]]]);
            }
        }
    }
}
