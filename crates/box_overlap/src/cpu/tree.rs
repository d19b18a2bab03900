//! A tree of bounding boxes over the second set.

use gridstride_runtime::{Number, Result};

use super::curve;
use super::lanes::{Groups, Limits};
use crate::input::Boxes;

/// Boxes in the order of a curve, in groups of [`LANES`](super::lanes::LANES); the bounding boxes
/// of these groups, in groups; and so on up to a single group. The children of box i of a level are
/// group i of the level below.
#[derive(Debug)]
pub(super) struct Tree<T, const AXES: usize> {
    /// The set's index of each box of the lowest level, padded with zeros to whole groups.
    pub ids: Vec<u32>,
    /// The levels from the boxes of the set up to a single group; none for an empty set.
    pub levels: Vec<Groups<T, AXES>>,
}

impl<T: Number, const AXES: usize> Tree<T, AXES> {
    pub fn new(boxes: Boxes<'_, T>) -> Result<Self> {
        let ids = curve::order::<T, AXES>(boxes)?;
        let mut levels = Vec::new();
        if boxes.len() > 0 {
            let limits = |i| Limits::from_row(boxes.row(ids[i] as usize));
            levels.push(Groups::new(boxes.len(), limits)?);
        }
        while let Some(level) = levels.last().filter(|level| level.groups.len() > 1) {
            let above = Groups::new(level.groups.len(), |i| level.groups[i].bounds())?;
            levels.push(above);
        }
        Ok(Tree { ids, levels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let tree = Tree::<i32, 2>::new(boxes).unwrap();
            assert_eq!(tree.levels.last().map_or(1, |top| top.groups.len()), 1);
            for levels in tree.levels.windows(2) {
                assert_eq!(levels[1].length, levels[0].groups.len());
                for i in 0..levels[1].length {
                    let (above, lane) = (&levels[1].groups[i / LANES], i % LANES);
                    let bounds = levels[0].groups[i].bounds();
                    assert_eq!(above.min.map(|lanes| lanes[lane]), bounds.min);
                    assert_eq!(above.max.map(|lanes| lanes[lane]), bounds.max);
                }
            }
            for (i, &id) in tree.ids[..length as usize].iter().enumerate() {
                let group = &tree.levels[0].groups[i / LANES];
                let limits = Limits::from_row(boxes.row(id as usize));
                assert_eq!(group.min.map(|lanes| lanes[i % LANES]), limits.min);
                assert_eq!(group.max.map(|lanes| lanes[i % LANES]), limits.max);
            }
        }
    }
}
