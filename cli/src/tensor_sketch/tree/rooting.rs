//! The place of the root in a drawing.

use super::{Kind, Node, Tree};

/// Returns the same tree with its root in the middle between the two leaves that are farthest from
/// each other, and with the smaller subtrees first.
pub fn rooted_at_midpoint(tree: &Tree) -> Tree {
    if tree.children(tree.root()).len() < 3 {
        // One or two leaves, with the root where it belongs.
        return tree.clone();
    }
    let neighbors = neighbors(tree);
    let (start, _) = farthest(&neighbors, tree, tree.root());
    let (end, paths) = farthest(&neighbors, tree, start);
    // From the end back towards the start, up to the branch with the middle.
    let half = paths[end].distance / 2.0;
    let mut below = end;
    loop {
        let Some(above) = paths[below].before else {
            return tree.clone();
        };
        if paths[above].distance <= half {
            return rooted_on(
                &neighbors,
                tree,
                (below, above),
                paths[below].distance - half,
            );
        }
        below = above;
    }
}

/// A node's neighbours, and the lengths of the branches between them.
type Neighbors = Vec<Vec<(usize, f64)>>;

fn neighbors(tree: &Tree) -> Neighbors {
    let mut neighbors = vec![Vec::new(); tree.nodes.len()];
    for parent in 0..tree.nodes.len() {
        for &child in tree.children(parent) {
            let length = tree.nodes[child].length;
            neighbors[parent].push((child, length));
            neighbors[child].push((parent, length));
        }
    }
    neighbors
}

/// The path to a node.
#[derive(Clone, Default)]
struct Path {
    distance: f64,
    before: Option<usize>,
}

/// The leaf that is farthest from `start`, and the paths to all nodes.
fn farthest(neighbors: &Neighbors, tree: &Tree, start: usize) -> (usize, Vec<Path>) {
    let mut paths = vec![Path::default(); neighbors.len()];
    let mut waiting = vec![start];
    let mut farthest_leaf = start;
    while let Some(node) = waiting.pop() {
        let is_leaf = matches!(tree.nodes[node].kind, Kind::Leaf(_));
        if is_leaf && paths[node].distance > paths[farthest_leaf].distance {
            farthest_leaf = node;
        }
        for &(next, length) in &neighbors[node] {
            if paths[node].before != Some(next) {
                paths[next] = Path {
                    distance: paths[node].distance + length,
                    before: Some(node),
                };
                waiting.push(next);
            }
        }
    }
    (farthest_leaf, paths)
}

/// The tree whose root divides the branch between `sides`, at `length` from the first of them.
fn rooted_on(neighbors: &Neighbors, tree: &Tree, sides: (usize, usize), length: f64) -> Tree {
    let (first, second) = sides;
    let total = neighbors[first].iter().find(|(node, _)| *node == second);
    let total = total.map_or(0.0, |(_, length)| *length);
    let mut rooted = Tree { nodes: Vec::new() };
    let a = add(neighbors, tree, &mut rooted, first, second, length);
    let b = add(neighbors, tree, &mut rooted, second, first, total - length);
    let mut children = vec![a, b];
    children.sort_by_key(|(_, leaves)| *leaves);
    let children = children.into_iter().map(|(child, _)| child).collect();
    rooted.push(Kind::Inner(children));
    rooted
}

/// Adds the subtree of `top` away from `parent` to `rooted`. Returns its node, and its leaves.
fn add(
    neighbors: &Neighbors,
    tree: &Tree,
    rooted: &mut Tree,
    top: usize,
    parent: usize,
    length: f64,
) -> (usize, usize) {
    // In the order of a walk from the top, whose reverse has children before their parents.
    let mut order = Vec::new();
    let mut waiting = vec![(top, parent, length)];
    while let Some((node, before, length)) = waiting.pop() {
        order.push((node, before, length));
        let next = neighbors[node].iter().filter(|(next, _)| *next != before);
        waiting.extend(next.map(|&(next, length)| (next, node, length)));
    }
    let mut added = vec![(0, 0); neighbors.len()];
    for &(node, before, length) in order.iter().rev() {
        let mut children: Vec<(usize, usize)> = neighbors[node]
            .iter()
            .filter(|(next, _)| *next != before)
            .map(|(next, _)| added[*next])
            .collect();
        children.sort_by_key(|(_, leaves)| *leaves);
        let (kind, leaves) = match tree.nodes[node].kind {
            Kind::Leaf(row) => (Kind::Leaf(row), 1),
            Kind::Inner(_) => {
                let leaves = children.iter().map(|(_, leaves)| leaves).sum();
                let children = children.into_iter().map(|(child, _)| child).collect();
                (Kind::Inner(children), leaves)
            }
        };
        rooted.nodes.push(Node { length, kind });
        added[node] = (rooted.root(), leaves);
    }
    added[top]
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::super::{neighbor_joining, newick};
    use super::*;

    fn rooted(distances: &Array2<f64>) -> String {
        let names: Vec<String> = ('a'..='z').map(String::from).collect();
        let tree = neighbor_joining(distances.view()).unwrap();
        newick(&rooted_at_midpoint(&tree), &names)
    }

    #[test]
    fn the_root_is_half_way_between_the_farthest_leaves() {
        let distances = arr2(&[
            [0.0, 2.0, 6.0, 9.0],
            [2.0, 0.0, 6.0, 9.0],
            [6.0, 6.0, 0.0, 7.0],
            [9.0, 9.0, 7.0, 0.0],
        ]);
        assert_eq!(rooted(&distances), "(d:4.5,(c:2,(a:1,b:1):3):0.5);");
    }

    #[test]
    fn small_and_flat_trees_keep_their_shape() {
        assert_eq!(rooted(&arr2(&[[0.0]])), "a;");
        assert_eq!(rooted(&arr2(&[[0.0, 3.0], [3.0, 0.0]])), "(a:1.5,b:1.5);");
        assert_eq!(rooted(&Array2::zeros((4, 4))), "((a:0,b:0):0,c:0,d:0);");
    }
}
