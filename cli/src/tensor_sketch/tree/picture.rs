//! Trees in pictures.

use anyhow::Result;
use files::text::shortened;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use program::axis::rounded_down;

use super::{Kind, Layout, Tree};

/// The whole of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of what is said below a title.
pub const GREY: RGBColor = RGBColor(90, 90, 90);

/// The colour of lines that are no branches.
const LIGHT: RGBColor = RGBColor(200, 200, 200);

/// The most characters of a name.
const NAME: usize = 60;

/// The most leaves that have names.
const MOST_NAMED: usize = 1000;

/// Pixels: the margin, the title, the branches, the distance of names from them, the height of a
/// leaf with and without a name, of letters, of the scale, and the least width of all.
const MARGIN: i32 = 20;
const TITLE: i32 = 56;
const BRANCHES: i32 = 640;
const GAP: i32 = 6;
const NAMED_LEAF: i32 = 18;
const SMALL_LEAF: i32 = 3;
const LETTER: i32 = 13;
const SCALE: i32 = 40;
const WIDTH: i32 = 560;

/// The branches of a tree between two columns of a picture, the root on the left.
pub struct Branches<'a, Y> {
    tree: &'a Tree,
    layout: Layout,
    left: i32,
    /// Pixels of a unit of length, 0 if there are no lengths.
    scale: f64,
    /// The height of a row of the layout, or of a place between two of them.
    y: Y,
}

impl<Y: Fn(f64) -> i32> Branches<'_, Y> {
    /// `y` tells the heights of the layout's rows.
    pub fn new(tree: &Tree, left: i32, width: i32, y: Y) -> Branches<'_, Y> {
        let layout = Layout::new(tree);
        let deepest = layout.deepest();
        let scale = match deepest > 0.0 {
            true => f64::from(width) / deepest,
            false => 0.0,
        };
        Branches {
            tree,
            layout,
            left,
            scale,
            y,
        }
    }

    /// The place of a node.
    fn place(&self, node: usize) -> (i32, i32) {
        let x = self.left + (self.layout.depth[node] * self.scale).round() as i32;
        (x, (self.y)(self.layout.row[node]))
    }

    pub fn draw(&self, area: &Area) -> Result<()> {
        for parent in 0..self.tree.nodes.len() {
            let (x, y) = self.place(parent);
            for &child in self.tree.children(parent) {
                let end = self.place(child);
                line(area, vec![(x, y), (x, end.1), end], BLACK, 1)?;
            }
        }
        Ok(())
    }

    /// Draws light lines from the leaves to a column.
    pub fn draw_leaders(&self, area: &Area, end: i32) -> Result<()> {
        for node in 0..self.tree.nodes.len() {
            let (x, y) = self.place(node);
            if self.tree.children(node).is_empty() && x < end {
                line(area, vec![(x + 3, y), (end, y)], LIGHT, 1)?;
            }
        }
        Ok(())
    }

    /// Draws a line with a round length at the height `y`, unless all lengths are 0.
    pub fn draw_scale(&self, area: &Area, y: i32) -> Result<()> {
        let deepest = self.layout.deepest();
        if deepest <= 0.0 {
            return Ok(());
        }
        let length = rounded_down(deepest / 2.0);
        let end = self.left + (length * self.scale).round() as i32;
        line(area, vec![(self.left, y), (end, y)], BLACK, 2)?;
        let font = ("sans-serif", 12).into_font().color(&BLACK);
        Ok(area.draw_text(&format!("{length:.0e}"), &font, (self.left, y + 5))?)
    }
}

fn line(area: &Area, points: Vec<(i32, i32)>, color: RGBColor, width: u32) -> Result<()> {
    let line = PathElement::new(points, color.stroke_width(width));
    Ok(area.draw(&line)?)
}

/// Draws a tree alone as SVG, each leaf in a row, with its name at its end.
pub fn draw_picture(tree: &Tree, names: &[String]) -> Result<String> {
    let leaves = names.len() as i32;
    let has_names = names.len() <= MOST_NAMED;
    let height = if has_names { NAMED_LEAF } else { SMALL_LEAF };
    let y = |row: f64| TITLE + ((row + 0.5) * f64::from(height)).round() as i32;
    let branches = Branches::new(tree, MARGIN, BRANCHES, y);
    let labels = tree.nodes.iter().enumerate().filter_map(|(node, leaf)| {
        let Kind::Leaf(row) = leaf.kind else {
            return None;
        };
        let (x, y) = branches.place(node);
        Some((shortened(&names[row], NAME), (x + GAP, y)))
    });
    let labels: Vec<_> = labels.filter(|_| has_names).collect();
    let end =
        |(label, (x, _)): &(String, (i32, i32))| x + label.chars().count() as i32 * LETTER * 3 / 5;
    let right = labels.iter().map(end).max().unwrap_or(MARGIN + BRANCHES);
    let bottom = TITLE + leaves * height;
    let size = (
        (right + MARGIN).max(WIDTH) as u32,
        (bottom + SCALE + MARGIN) as u32,
    );
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let title = match leaves {
            1 => "Tree of 1 sketch".into(),
            leaves => format!("Tree of {leaves} sketches"),
        };
        let font = ("sans-serif", 18).into_font().color(&BLACK);
        area.draw_text(&title, &font, (MARGIN, 14))?;
        let method = "neighbour joining of L2 distances, rooted at its midpoint";
        let more = match has_names {
            true => String::new(),
            false => format!("; names are left out above {MOST_NAMED} sketches"),
        };
        let font = ("sans-serif", 12).into_font().color(&GREY);
        area.draw_text(&format!("{method}{more}"), &font, (MARGIN, 36))?;
        branches.draw(&area)?;
        branches.draw_scale(&area, bottom + 16)?;
        let font = ("sans-serif", LETTER).into_font().color(&BLACK);
        let beside = font.pos(Pos::new(HPos::Left, VPos::Center));
        for (label, place) in labels {
            area.draw_text(&label, &beside, place)?;
        }
        area.present()?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::super::{neighbor_joining, rooted_at_midpoint};
    use super::*;

    fn picture(sketches: usize) -> String {
        let names: Vec<_> = (0..sketches).map(|i| format!("name <{i}>")).collect();
        let distances = Array2::from_shape_fn((sketches, sketches), |(i, j)| i.abs_diff(j) as f64);
        let tree = neighbor_joining(distances.view()).unwrap();
        draw_picture(&rooted_at_midpoint(&tree), &names).unwrap()
    }

    #[test]
    fn every_leaf_has_a_name_and_every_node_a_branch() {
        let svg = picture(5);
        for i in 0..5 {
            assert!(svg.contains(&format!("name &lt;{i}&gt;")), "{svg}");
        }
        // A rooted tree of 5 leaves has 8 branches, and there is the scale.
        assert_eq!(svg.matches("<polyline").count(), 9, "{svg}");
        assert!(svg.contains("\n1e0\n"), "{svg}");
    }

    #[test]
    fn one_leaf_and_many_are_drawn() {
        assert!(picture(1).contains("Tree of 1 sketch"));
        let many = picture(MOST_NAMED + 1);
        assert!(many.contains("names are left out above 1000 sketches"));
        assert!(!many.contains("name &lt;"));
    }
}
