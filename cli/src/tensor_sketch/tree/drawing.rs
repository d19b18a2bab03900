//! Trees drawn with characters.

use files::text::visible;

use super::{Kind, Layout, Tree};

/// Columns that the branches take.
const COLUMNS: usize = 56;

/// Directions in which a line leaves a cell.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

/// Draws a tree with box-drawing characters, one leaf in every second line. Branches are as long as
/// their lengths say, but at least one column.
pub fn draw_text(tree: &Tree, names: &[String]) -> String {
    let layout = Layout::new(tree);
    let columns = columns(tree, &layout);
    let lines: Vec<usize> = layout
        .row
        .iter()
        .map(|row| (2.0 * row).round() as usize)
        .collect();
    let width = columns.iter().max().map_or(0, |most| most + 1);
    let mut cells = vec![vec![0; width]; 2 * layout.leaves.len() - 1];
    for node in 0..tree.nodes.len() {
        let column = columns[node];
        for &child in tree.children(node) {
            let line = lines[child];
            let (top, bottom) = (line.min(lines[node]), line.max(lines[node]));
            for (at, row) in cells.iter_mut().enumerate().take(bottom + 1).skip(top) {
                row[column] |= if at > top { UP } else { 0 } | if at < bottom { DOWN } else { 0 };
            }
            cells[line][column] |= RIGHT;
            cells[line][column + 1..columns[child]].fill(LEFT | RIGHT);
            cells[line][columns[child]] |= LEFT;
        }
    }
    let mut labels = vec![None; cells.len()];
    for (node, &line) in lines.iter().enumerate() {
        if let Kind::Leaf(row) = tree.nodes[node].kind {
            labels[line] = Some(&names[row]);
        }
    }
    let mut text = String::new();
    for (row, label) in cells.iter().zip(labels) {
        let drawn: String = row.iter().map(|&lines| character(lines)).collect();
        text.push_str(drawn.trim_end());
        if let Some(name) = label {
            text.push(' ');
            text.push_str(&visible(name));
        }
        text.push('\n');
    }
    text
}

/// The column of each node, to the right of its parent's.
fn columns(tree: &Tree, layout: &Layout) -> Vec<usize> {
    let deepest = layout.deepest();
    let scale = if deepest > 0.0 {
        COLUMNS as f64 / deepest
    } else {
        0.0
    };
    let mut columns = vec![0; tree.nodes.len()];
    for parent in (0..tree.nodes.len()).rev() {
        for &child in tree.children(parent) {
            let column = (layout.depth[child] * scale).round() as usize;
            columns[child] = column.max(columns[parent] + 1);
        }
    }
    columns
}

fn character(lines: u8) -> char {
    const ALL: u8 = LEFT | RIGHT | UP | DOWN;
    match lines & ALL {
        0 => ' ',
        l if l == RIGHT | DOWN => '┌',
        l if l == RIGHT | UP => '└',
        l if l == RIGHT | UP | DOWN => '├',
        l if l == LEFT | UP | DOWN => '┤',
        l if l == LEFT | RIGHT | UP => '┴',
        l if l == LEFT | RIGHT | DOWN => '┬',
        l if l == UP | DOWN => '│',
        ALL => '┼',
        _ => '─',
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::super::{neighbor_joining, rooted_at_midpoint};
    use super::*;

    fn drawn(distances: &Array2<f64>, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().copied().map(String::from).collect();
        let tree = neighbor_joining(distances.view()).unwrap();
        draw_text(&rooted_at_midpoint(&tree), &names)
    }

    #[test]
    fn branches_are_as_long_as_they_say() {
        let distances = arr2(&[[0.0, 4.0, 16.0], [4.0, 0.0, 16.0], [16.0, 16.0, 0.0]]);
        let expected = "\
┌──────────────────────────────────────────────────────── third
│
│                                         ┌────────────── a b
└─────────────────────────────────────────┤
                                          └────────────── O'B
";
        assert_eq!(drawn(&distances, &["a b", "O'B", "third"]), expected);
    }

    #[test]
    fn identical_sequences_are_drawn() {
        let drawn = drawn(&Array2::zeros((4, 4)), &["a", "b", "c", "d"]);
        assert_eq!(drawn, " ┌─ a\n┌┤\n│└─ b\n│\n├─ c\n│\n└─ d\n");
    }

    #[test]
    fn a_single_leaf_is_its_name() {
        assert_eq!(drawn(&arr2(&[[0.0]]), &["alone"]).trim(), "alone");
    }
}
