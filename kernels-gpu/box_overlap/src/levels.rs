//! How many entries and nodes the levels of a [`tree`](crate::tree) have.

/// Entries of a node.
pub const CHILDREN: u32 = 4;

/// Levels of the largest tree: 4¹⁶ leaves.
pub const MAX_LEVELS: usize = 16;

/// `f32` numbers of a node.
pub const NODE_WORDS: usize = 24;

/// The number of entries of a level, of a tree of `leaves`, at least one.
#[inline(always)]
pub const fn entries(leaves: u32, level: u32) -> u32 {
    if level == 0 {
        leaves
    } else {
        nodes(leaves, level - 1)
    }
}

/// The number of nodes of a level, of a tree of `leaves`, at least one.
#[inline(always)]
pub const fn nodes(leaves: u32, level: u32) -> u32 {
    let shift = 2 * (level + 1);
    // No shift by as many bits as there are.
    if shift >= 32 {
        1
    } else {
        ((leaves - 1) >> shift) + 1
    }
}

/// The number of nodes of all levels below.
#[inline(always)]
pub const fn first_nodes(leaves: u32, level: u32) -> u32 {
    let (mut sum, mut below) = (0, 0);
    while below < level {
        sum += nodes(leaves, below);
        below += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_cover_those_below() {
        for leaves in [
            1,
            2,
            4,
            5,
            16,
            17,
            1000,
            1 << 20,
            (1 << 20) + 1,
            i32::MAX as u32,
        ] {
            assert_eq!(entries(leaves, 0), leaves);
            for level in 0..MAX_LEVELS as u32 {
                assert_eq!(
                    nodes(leaves, level),
                    entries(leaves, level).div_ceil(CHILDREN)
                );
                assert_eq!(entries(leaves, level + 1), nodes(leaves, level));
            }
            assert_eq!(nodes(leaves, MAX_LEVELS as u32 - 1), 1);
            assert_eq!(first_nodes(leaves, 2), nodes(leaves, 0) + nodes(leaves, 1));
        }
    }
}
