//! The way through the tree, depth first, without a stack in memory: for each level four bits tell
//! which entries of the node on the way are still to be visited. The nodes themselves follow from
//! where the search stands, since an ancestor's number is this one's without its lowest base-4
//! digits.

use crate::levels::entries;

/// Where a search stands, and what is still to be visited.
#[derive(Clone, Copy)]
pub struct Cursor {
    pub level: u32,
    pub node: u32,
    /// Four bits for each level.
    pending: u64,
}

impl Cursor {
    #[inline(always)]
    pub fn at(level: u32, node: u32) -> Cursor {
        Cursor {
            level,
            node,
            pending: 0,
        }
    }

    /// The start of a search in a whole tree. Above level 0 the root is taken as visited: its few
    /// entries hardly ever rule out anything.
    #[inline(always)]
    pub fn at_root(root_level: u32, leaves: u32) -> Cursor {
        let mut cursor = Cursor::at(root_level, 0);
        if root_level > 0 {
            cursor.visit_later((1 << entries(leaves, root_level)) - 1);
            cursor.advance();
        }
        cursor
    }

    /// Notes that entries of the current node, one of a level above 0, are to be visited.
    #[inline(always)]
    pub fn visit_later(&mut self, entries: u32) {
        self.pending |= (entries as u64) << (4 * self.level);
    }

    /// Goes to the node below the next entry, the deepest there is; false if there is none.
    #[inline(always)]
    pub fn advance(&mut self) -> bool {
        if self.pending == 0 {
            return false;
        }
        let bit = self.pending.trailing_zeros();
        self.pending &= self.pending - 1;
        let (level, child) = (bit / 4, bit % 4);
        self.node = (self.node >> (2 * (level - self.level))) * 4 + child;
        self.level = level - 1;
        true
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn all_nodes_come_once_and_those_below_first() {
        let mut cursor = Cursor::at(15, 0);
        let mut visited = Vec::new();
        loop {
            visited.push((cursor.level, cursor.node));
            // The outermost two entries of each node, down to level 8.
            if cursor.level > 8 {
                cursor.visit_later(0b1001);
            }
            if !cursor.advance() {
                break;
            }
        }
        assert_eq!(visited.len(), (1 << 8) - 1);
        assert_eq!(visited[7], (8, 0));
        assert_eq!(visited[8], (8, 3));
        assert_eq!(visited[9], (9, 3));
        assert_eq!(*visited.last().unwrap(), (8, 4u32.pow(7) - 1));
    }
}
