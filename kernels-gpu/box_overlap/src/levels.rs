//! How many entries and nodes the levels of a [`tree`](crate::tree) have.

/// Entries of a node.
pub const CHILDREN: u32 = 4;

/// Levels of the largest tree: 4¹⁶ leaves.
pub const MAX_LEVELS: usize = 16;

/// Words of a node.
pub const NODE_WORDS: usize = 12;

/// Words of the exact boxes of the four leaves of a node.
pub const LEAF_WORDS: usize = 24;

/// Words of an entry while the tree is built.
pub const ENTRY_WORDS: usize = 6;

/// The levels that one launch writes. The entries of the level above them go to the next launch.
pub const LEVELS_A_LAUNCH: u32 = 4;

/// The words of a tree of `leaves`, at least one, whose root is at `root_level`: the exact leaves,
/// the nodes, and the entries that launches leave to each other.
pub const fn tree_words(leaves: u32, root_level: u32) -> usize {
    first_entry_word(leaves, root_level, root_level + 1)
}

/// The first word of the nodes.
#[inline(always)]
pub const fn first_node_word(leaves: u32) -> usize {
    LEAF_WORDS * nodes(leaves, 0) as usize
}

/// The first word of the entries of a level, a multiple of [`LEVELS_A_LAUNCH`] above 0, behind those
/// of lower levels.
#[inline(always)]
pub const fn first_entry_word(leaves: u32, root_level: u32, level: u32) -> usize {
    let mut word =
        first_node_word(leaves) + NODE_WORDS * first_nodes(leaves, root_level + 1) as usize;
    let mut below = LEVELS_A_LAUNCH;
    while below < level {
        word += ENTRY_WORDS * entries(leaves, below) as usize;
        below += LEVELS_A_LAUNCH;
    }
    word
}

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
