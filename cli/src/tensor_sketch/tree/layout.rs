//! The places of the nodes of a tree.

use super::{Kind, Tree};

/// Places of a tree's nodes: the root on the left, and each leaf in a row of its own.
pub struct Layout {
    /// The distance of each node from the root.
    pub depth: Vec<f64>,
    /// The row of each node: whole numbers for leaves, and for the others the middle of their
    /// outermost children.
    pub row: Vec<f64>,
    /// The leaves from the first row to the last, by their rows in the distances.
    pub leaves: Vec<usize>,
}

impl Layout {
    pub fn new(tree: &Tree) -> Layout {
        let count = tree.nodes.len();
        let mut depth = vec![0.0; count];
        for parent in (0..count).rev() {
            for &child in tree.children(parent) {
                depth[child] = depth[parent] + tree.nodes[child].length;
            }
        }
        let mut row = vec![0.0; count];
        let mut leaves = Vec::new();
        let mut waiting = vec![tree.root()];
        while let Some(node) = waiting.pop() {
            if let Kind::Leaf(leaf) = tree.nodes[node].kind {
                row[node] = leaves.len() as f64;
                leaves.push(leaf);
            }
            waiting.extend(tree.children(node).iter().rev());
        }
        for node in 0..count {
            if let [first, .., last] = tree.children(node) {
                row[node] = (row[*first] + row[*last]) / 2.0;
            }
        }
        Layout { depth, row, leaves }
    }

    /// The largest distance of a leaf from the root.
    pub fn deepest(&self) -> f64 {
        self.depth.iter().copied().fold(0.0, f64::max)
    }
}
