//! Neighbour joining: Saitou and Nei, "The neighbor-joining method", Mol. Biol. Evol. 4 (1987), with
//! the sums of Studier and Keppler, "A note on the neighbor-joining algorithm", Mol. Biol. Evol. 5
//! (1988).

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use files::memory::room_for;
use indicatif::ProgressBar;
use ndarray::ArrayView2;
use program::progress;
use program::report::warn;
use rayon::prelude::*;

use super::{Kind, Tree};

/// The most sequences of a tree: the time grows with their third power, to half an hour on two cores.
pub const MOST_LEAVES: usize = 10_000;

/// Sequences above which the user is told how long the tree takes, unless it is less than this.
const MANY: usize = 3000;
const LONG: Duration = Duration::from_secs(10);

/// Joins whose time tells that of all.
const TIMED: usize = 8;

/// Computes the unrooted tree of a square matrix of distances by neighbour joining. The root of the
/// result is only the last node: it has three children, if there are three leaves or more.
///
/// Among equally near pairs, the tree joins the first one in the order of the rows, so that equal
/// distances give equal trees. Where the method gives a branch a negative length, the branch gets the
/// length 0, and its sibling the difference, so that the distance of the two stays (Kuhner and
/// Felsenstein, Mol. Biol. Evol. 11, 1994).
pub fn neighbor_joining(distances: ArrayView2<f64>) -> Result<Tree> {
    let leaves = distances.nrows();
    ensure!(leaves > 0, "there is no sequence to make a tree of");
    if leaves > MOST_LEAVES {
        bail!(
            "a tree of {leaves} sequences would take too long: --tree takes {MOST_LEAVES} at most"
        );
    }
    let progress = progress::count("joining", leaves as u64, "sketches");
    let tree = Joining::new(distances)?.join(&progress);
    progress.finish_and_clear();
    Ok(tree)
}

/// Returns how long all joins take if the first [`TIMED`] took that long. The time of a join grows
/// with the square of the nodes that are left, and the sum of the squares up to n² is about n³/3.
fn time_of_all(leaves: usize, first: Duration) -> Duration {
    first.mul_f64(leaves as f64 / (3.0 * TIMED as f64))
}

fn warn_of_time(leaves: usize, time: Duration) {
    let seconds = time.as_secs_f64();
    let shown = match seconds < 100.0 {
        true => format!("{seconds:.0} seconds"),
        false => format!("{:.0} minutes", seconds / 60.0),
    };
    if time >= LONG {
        warn(&format!(
            "the tree of {leaves} sequences takes about {shown}: the time grows with the third \
             power of their number"
        ));
    }
}

/// Nodes that are not yet joined, and their distances.
struct Joining {
    tree: Tree,
    /// Places in `distances` of the nodes to join, in ascending order.
    places: Vec<usize>,
    /// The node of each place.
    node: Vec<usize>,
    /// Row by row, for all places.
    distances: Vec<f64>,
}

/// Two places, and the criterion that is smallest for the pair to join.
struct Pair {
    criterion: f64,
    first: usize,
    second: usize,
}

impl Joining {
    fn new(distances: ArrayView2<f64>) -> Result<Joining> {
        let leaves = distances.nrows();
        let mut tree = Tree { nodes: Vec::new() };
        let mut copied = room_for(distances.len()).with_context(|| {
            format!("cannot hold the distances of {leaves} sequences in memory twice, for a tree: leave out --tree and --plot-tree")
        })?;
        copied.extend(distances);
        Ok(Joining {
            node: (0..leaves).map(|row| tree.push(Kind::Leaf(row))).collect(),
            places: (0..leaves).collect(),
            distances: copied,
            tree,
        })
    }

    fn join(mut self, progress: &ProgressBar) -> Tree {
        let (start, leaves) = (Instant::now(), self.places.len());
        while self.places.len() > 3 {
            self.join_nearest();
            progress.inc(1);
            if leaves > MANY && self.places.len() == leaves - TIMED {
                warn_of_time(leaves, time_of_all(leaves, start.elapsed()));
            }
        }
        match *self.places {
            [a, b, c] => {
                let [ab, ac, bc] = [(a, b), (a, c), (b, c)].map(|(i, j)| self.distance(i, j));
                self.set_lengths([(a, ab + ac - bc), (b, ab + bc - ac), (c, ac + bc - ab)]);
            }
            [a, b] => {
                let half = self.distance(a, b) / 2.0;
                self.tree.nodes[self.node[a]].length = half;
                self.tree.nodes[self.node[b]].length = half;
            }
            // A single leaf is the root.
            _ => return self.tree,
        }
        let children = self.places.iter().map(|&place| self.node[place]).collect();
        self.tree.push(Kind::Inner(children));
        self.tree
    }

    fn distance(&self, i: usize, j: usize) -> f64 {
        self.distances[i * self.node.len() + j]
    }

    /// The sum of the distances from one place to all that are left.
    fn sum(&self, place: usize) -> f64 {
        let distances = self.places.iter().map(|&other| self.distance(place, other));
        distances.sum()
    }

    /// Replaces the two nodes of the nearest pair by their parent.
    fn join_nearest(&mut self) {
        let count = self.places.len() as f64;
        let sums: Vec<f64> = self.places.par_iter().map(|&i| self.sum(i)).collect();
        let (a, b) = self.nearest(&sums);
        let (i, j) = (self.places[a], self.places[b]);
        let between = self.distance(i, j);
        let longer = (sums[a] - sums[b]) / (count - 2.0);
        // Twice the lengths.
        self.set_lengths([(i, between + longer), (j, between - longer)]);

        for &k in &self.places {
            if k != i && k != j {
                let distance = (self.distance(i, k) + self.distance(j, k) - between) / 2.0;
                let places = self.node.len();
                self.distances[i * places + k] = distance;
                self.distances[k * places + i] = distance;
            }
        }
        let children = vec![self.node[i], self.node[j]];
        self.node[i] = self.tree.push(Kind::Inner(children));
        self.places.remove(b);
    }

    /// The pair with the smallest criterion, as indices of `places`.
    fn nearest(&self, sums: &[f64]) -> (usize, usize) {
        let factor = self.places.len() as f64 - 2.0;
        let row = |first: usize| {
            let mut best = Pair {
                criterion: f64::INFINITY,
                first,
                second: first + 1,
            };
            for second in first + 1..self.places.len() {
                let distance = self.distance(self.places[first], self.places[second]);
                let criterion = factor * distance - sums[first] - sums[second];
                if criterion < best.criterion {
                    best.criterion = criterion;
                    best.second = second;
                }
            }
            best
        };
        let rows = (0..self.places.len() - 1).into_par_iter().map(row);
        let best =
            rows.reduce_with(
                |a, b| match (a.criterion, a.first) <= (b.criterion, b.first) {
                    true => a,
                    false => b,
                },
            );
        best.map_or((0, 1), |pair| (pair.first, pair.second))
    }

    /// Sets the lengths of branches to siblings from their doubles. A negative length becomes 0, and
    /// the siblings take over the difference.
    fn set_lengths<const N: usize>(&mut self, mut doubled: [(usize, f64); N]) {
        let negative: f64 = doubled.iter().map(|(_, length)| length.min(0.0)).sum();
        for (place, length) in &mut doubled {
            let length = match *length < 0.0 {
                true => 0.0,
                false => (*length + negative).max(0.0),
            };
            self.tree.nodes[self.node[*place]].length = length / 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::super::newick;
    use super::*;

    fn tree(distances: &Array2<f64>) -> Tree {
        neighbor_joining(distances.view()).unwrap()
    }

    fn text(distances: &Array2<f64>) -> String {
        let names: Vec<String> = ('a'..='z').map(String::from).collect();
        newick(&tree(distances), &names)
    }

    /// The distances along the branches.
    fn path_lengths(tree: &Tree, leaves: usize) -> Array2<f64> {
        let mut above = vec![Vec::new(); tree.nodes.len()];
        for node in (0..tree.nodes.len()).rev() {
            for &child in tree.children(node) {
                let path: Vec<usize> = above[node].iter().copied().chain([child]).collect();
                above[child] = path;
            }
        }
        let leaf = |row| {
            let found = tree
                .nodes
                .iter()
                .position(|node| node.kind == Kind::Leaf(row));
            &above[found.unwrap()]
        };
        Array2::from_shape_fn((leaves, leaves), |(i, j)| {
            let apart = |a: &[usize], b: &[usize]| -> f64 {
                let lengths = a.iter().filter(|node| !b.contains(node));
                lengths.map(|&node| tree.nodes[node].length).sum()
            };
            apart(leaf(i), leaf(j)) + apart(leaf(j), leaf(i))
        })
    }

    #[test]
    fn an_additive_matrix_gives_its_tree() {
        // The example of Wikipedia's article on neighbour joining.
        let distances = arr2(&[
            [0.0, 5.0, 9.0, 9.0, 8.0],
            [5.0, 0.0, 10.0, 10.0, 9.0],
            [9.0, 10.0, 0.0, 8.0, 7.0],
            [9.0, 10.0, 8.0, 0.0, 3.0],
            [8.0, 9.0, 7.0, 3.0, 0.0],
        ]);
        assert_eq!(text(&distances), "(((a:2,b:3):3,c:4):2,d:2,e:1);");
        assert_eq!(path_lengths(&tree(&distances), 5), distances);
    }

    #[test]
    fn a_large_additive_matrix_is_kept() {
        // A caterpillar: leaf i hangs by a branch of i + 1 at place i of a line.
        let leaves = 40;
        let distances = Array2::from_shape_fn((leaves, leaves), |(i, j)| match i == j {
            true => 0.0,
            false => (i + 1) as f64 + (j + 1) as f64 + i.abs_diff(j) as f64,
        });
        let found = path_lengths(&tree(&distances), leaves);
        let largest = (&found - &distances)
            .iter()
            .fold(0.0, |most: f64, error| most.max(error.abs()));
        assert!(largest < 1e-9, "{largest}");
    }

    #[test]
    fn trees_of_few_leaves() {
        assert!(neighbor_joining(Array2::zeros((0, 0)).view()).is_err());
        assert_eq!(text(&arr2(&[[0.0]])), "a;");
        assert_eq!(text(&arr2(&[[0.0, 3.0], [3.0, 0.0]])), "(a:1.5,b:1.5);");
        let three = arr2(&[[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]);
        assert_eq!(text(&three), "(a:1,b:2,c:3);");
    }

    #[test]
    fn of_equal_pairs_the_first_is_joined() {
        let star = Array2::from_shape_fn((5, 5), |(i, j)| f64::from(i != j));
        assert_eq!(text(&star), "(((a:0.5,b:0.5):0,c:0.5):0,d:0.5,e:0.5);");
    }

    #[test]
    fn identical_rows_give_branches_of_length_0() {
        let same = Array2::zeros((4, 4));
        assert_eq!(text(&same), "((a:0,b:0):0,c:0,d:0);");
        let distances = arr2(&[
            [0.0, 0.0, 2.0, 4.0],
            [0.0, 0.0, 2.0, 4.0],
            [2.0, 2.0, 0.0, 4.0],
            [4.0, 4.0, 4.0, 0.0],
        ]);
        assert_eq!(text(&distances), "((a:0,b:0):1,c:1,d:3);");
    }

    #[test]
    fn a_negative_length_goes_to_the_sibling() {
        // Without the transfer, the branch to a has the length (2 + 3 - 9) / 2 = -2.
        let three = arr2(&[[0.0, 2.0, 3.0], [2.0, 0.0, 9.0], [3.0, 9.0, 0.0]]);
        assert_eq!(text(&three), "(a:0,b:2,c:3);");
        // The sums make a nearer to the rest than the distance of a and b allows.
        let four = arr2(&[
            [0.0, 1.0, 3.0, 3.0],
            [1.0, 0.0, 9.0, 9.0],
            [3.0, 9.0, 0.0, 1.0],
            [3.0, 9.0, 1.0, 0.0],
        ]);
        let found = tree(&four);
        let length = |row| {
            let mut nodes = found.nodes.iter();
            nodes
                .find(|node| node.kind == Kind::Leaf(row))
                .unwrap()
                .length
        };
        assert_eq!((length(0), length(1)), (0.0, 1.0));
        assert!(found.nodes.iter().all(|node| node.length >= 0.0));
    }

    /// Of 6000 leaves, 8 joins in 80 ms: 6000³/3 steps at 6000² in 10 ms.
    #[test]
    fn the_time_of_all_joins_is_estimated() {
        let time = time_of_all(6000, Duration::from_millis(80));
        assert_eq!(time, Duration::from_secs(20));
    }

    #[test]
    fn too_many_leaves_are_refused_before_the_work() {
        let zero = ndarray::arr0(0.0);
        let many = zero.broadcast((MOST_LEAVES + 1, MOST_LEAVES + 1)).unwrap();
        let error = neighbor_joining(many).unwrap_err();
        assert!(error.to_string().contains("10001 sequences"), "{error}");
    }
}
