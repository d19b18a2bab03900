//! Trees of sequences: neighbour joining, Newick files and drawings.

mod drawing;
mod layout;
mod neighbor_joining;
mod newick;
mod picture;
mod rooting;

pub use drawing::draw_text;
pub use layout::Layout;
pub use neighbor_joining::{MOST_LEAVES, neighbor_joining};
pub use newick::newick;
pub use picture::{Area, Branches, GREY, draw_picture};
pub use rooting::rooted_at_midpoint;

/// A tree with lengths on its branches.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Children stand before their parents, and the root is the last node.
    pub nodes: Vec<Node>,
}

/// A node, and the branch that leads to it from its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The length of the branch, 0 for the root.
    pub length: f64,
    pub kind: Kind,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A sequence, by its row in the distances.
    Leaf(usize),
    /// An inner node, with the indices of its children.
    Inner(Vec<usize>),
}

impl Tree {
    /// The index of the root.
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// The indices of a node's children.
    pub fn children(&self, node: usize) -> &[usize] {
        match &self.nodes[node].kind {
            Kind::Leaf(_) => &[],
            Kind::Inner(children) => children,
        }
    }

    fn push(&mut self, kind: Kind) -> usize {
        self.nodes.push(Node { length: 0.0, kind });
        self.nodes.len() - 1
    }
}
