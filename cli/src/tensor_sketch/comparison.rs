//! Distances between sketches, and what is made of them: a table, a tree and a picture.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use files::text::visible;
use gridstride::Device;
use gridstride::distances::{Component, pairwise};
use gridstride::tensor_sketch::Entry;
use ndarray::{Array2, ArrayView2};
use program::output::{DistanceTable, OutputFile};
use program::progress::phase;
use serde::Serialize;

use super::args::Args;
use super::clustering;
use super::heat_map::{HeatMap, unit};
use super::tree::{
    Layout, MOST_LEAVES, Tree, draw_picture, draw_text, neighbor_joining, newick,
    rooted_at_midpoint,
};
use crate::common::name_width::name_width;

/// The most sketches whose distances and tree the summary shows.
const SHOWN: usize = 20;

/// The part of the summary about few sketches.
#[derive(Serialize)]
pub struct Comparison {
    names: Vec<String>,
    /// A row for each name, with the distances to all.
    distances: Vec<Vec<f64>>,
    /// In the Newick format, rooted at its midpoint.
    tree: String,
    /// The same as text.
    #[serde(skip)]
    pub text: String,
}

/// The files of a command line that need distances.
pub struct Outputs {
    distances: Option<DistanceTable>,
    tree: Option<OutputFile>,
    plot: Option<OutputFile>,
    plot_tree: Option<OutputFile>,
}

impl Outputs {
    /// Begins the files, before the work: a path that cannot be written shows at once.
    pub fn create(args: &Args) -> Result<Outputs> {
        let create = |path: &Option<_>| path.as_deref().map(OutputFile::create).transpose();
        Ok(Outputs {
            distances: args
                .distances
                .as_deref()
                .map(DistanceTable::create)
                .transpose()?,
            tree: create(&args.tree)?,
            plot: create(&args.plot)?,
            plot_tree: create(&args.plot_tree)?,
        })
    }

    /// Whether distances are needed.
    pub fn any(&self) -> bool {
        self.distances.is_some() || self.has_tree_or_picture()
    }

    fn has_tree_or_picture(&self) -> bool {
        self.tree.is_some() || self.plot.is_some() || self.plot_tree.is_some()
    }

    /// The most sketches that there may be. A clustering takes as many as a tree: it needs the
    /// distances in memory twice.
    pub fn most(&self) -> usize {
        match self.has_tree_or_picture() {
            true => MOST_LEAVES,
            false => usize::MAX,
        }
    }

    /// Computes the distances, and writes the files, which [`publish`](Self::publish) puts in their
    /// places. Returns what the summary shows.
    pub fn write<T: Entry + Component>(
        &mut self,
        devices: &[Device],
        names: &[String],
        sketches: ArrayView2<T>,
    ) -> Result<Option<Comparison>> {
        if let Some(table) = &mut self.distances {
            let count = names.len() as f64;
            table.require_space(count * count, "sketch fewer sequences")?;
        }
        let distances = phase("comparing", || pairwise(devices, sketches))?;
        let wants_tree = self.tree.is_some() || self.plot_tree.is_some();
        if let Some(table) = &mut self.distances {
            phase("writing", || {
                table.add_header(names)?;
                table.add(|row| names[row].clone(), 0, distances.view())
            })?;
        }
        let is_shown = (2..=SHOWN).contains(&names.len());
        if !self.has_tree_or_picture() && !is_shown {
            return Ok(None);
        }
        match check_finite(names, &distances) {
            // The table of distances has them all.
            Err(_) if !self.has_tree_or_picture() => return Ok(None),
            checked => checked?,
        }
        let tree = match wants_tree || is_shown {
            true => Some(neighbor_joining(distances.view())?),
            false => None,
        };
        if let (Some(file), Some(tree)) = (&mut self.tree, &tree) {
            file.write_all((newick(tree, names) + "\n").as_bytes())?;
        }
        let tree = tree.as_ref().map(rooted_at_midpoint);
        if let Some(file) = &mut self.plot {
            let tree = tree.as_ref().filter(|_| wants_tree);
            let order = match tree {
                Some(tree) => Layout::new(tree).leaves,
                None => clustering::order(distances.view())?,
            };
            let map = HeatMap {
                names,
                distances: distances.view(),
                order: &order,
                tree,
            };
            file.write_picture(&phase("plotting", || map.draw())?)?;
        }
        if let (Some(file), Some(tree)) = (&mut self.plot_tree, &tree) {
            file.write_picture(&draw_picture(tree, names)?)?;
        }
        match tree {
            Some(tree) if is_shown => Ok(Some(Comparison {
                names: names.to_vec(),
                distances: distances.outer_iter().map(|row| row.to_vec()).collect(),
                tree: newick(&tree, names),
                text: shown(names, &distances, &tree)?,
            })),
            _ => Ok(None),
        }
    }

    /// Puts all files in their places.
    pub fn publish(self) -> Result<()> {
        self.distances.map_or(Ok(()), DistanceTable::publish)?;
        let files = [self.tree, self.plot, self.plot_tree];
        files
            .into_iter()
            .flatten()
            .try_for_each(OutputFile::publish)
    }
}

/// Refuses distances of which there is no tree or clustering.
fn check_finite(names: &[String], distances: &Array2<f64>) -> Result<()> {
    let wrong = distances
        .indexed_iter()
        .find(|(_, distance)| !distance.is_finite());
    if let Some(((i, j), distance)) = wrong {
        bail!(
            "the distance between {} and {} is {distance}, so that there is no tree and no picture: \
             --normalize and --f64 keep sketches of long sequences in range",
            visible(&names[i]),
            visible(&names[j])
        );
    }
    Ok(())
}

/// The distances as a lower triangle, and from three sequences on the tree.
fn shown(names: &[String], distances: &Array2<f64>, tree: &Tree) -> Result<String> {
    let largest = distances.iter().copied().fold(0.0, f64::max);
    let unit = unit(largest);
    let mut text = String::new();
    match unit {
        0 => writeln!(text, "\nL2 distances")?,
        unit => writeln!(text, "\nL2 distances / 1e{unit}")?,
    }
    let width = name_width(names, 0);
    let number = names.len().to_string().len();
    for (i, name) in names.iter().enumerate() {
        write!(text, "{:>number$} {:width$}", i + 1, visible(name))?;
        for j in 0..i {
            write!(text, " {:>5.3}", distances[(i, j)] / 10f64.powi(unit))?;
        }
        writeln!(text)?;
    }
    write!(text, "{:number$} {:width$}", "", "")?;
    for j in 1..names.len() {
        write!(text, " {j:>5}")?;
    }
    writeln!(text)?;
    if names.len() >= 3 {
        writeln!(text, "\ntree by neighbour joining, rooted at its midpoint")?;
        text.push_str(&draw_text(tree, names));
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;
    use crate::common::name_width::NAME_WIDTH;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().copied().map(String::from).collect()
    }

    #[test]
    fn distances_that_are_no_numbers_are_refused_by_name() {
        let distances = arr2(&[[0.0, f64::NAN], [f64::NAN, 0.0]]);
        let error = check_finite(&names(&["a", "b"]), &distances)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("the distance between a and b is NaN"),
            "{error}"
        );
        assert!(check_finite(&names(&["a"]), &arr2(&[[0.0]])).is_ok());
    }

    #[test]
    fn a_table_alone_may_have_distances_that_are_no_numbers() {
        let mut outputs = Outputs {
            distances: None,
            tree: None,
            plot: None,
            plot_tree: None,
        };
        let sketches = arr2(&[[f64::MAX], [f64::MIN]]);
        let names = names(&["a", "b"]);
        let shown = outputs.write(&[Device::cpu()], &names, sketches.view());
        assert!(shown.unwrap().is_none());
    }

    /// Names as long as a format's width cannot be, which is 16 bits.
    #[test]
    fn long_names_do_not_widen_the_triangle() {
        let distances = arr2(&[[0.0, 0.5], [0.5, 0.0]]);
        let tree = neighbor_joining(distances.view()).unwrap();
        let long = "n".repeat(1 << 16);
        let text = shown(&names(&["a", &long]), &distances, &tree).unwrap();
        let short = format!("1 a{}\n", " ".repeat(NAME_WIDTH - 1));
        assert!(text.contains(&short));
        assert!(text.contains(&format!("2 {long} ")));
    }

    #[test]
    fn two_sequences_have_a_triangle_but_no_tree() {
        let distances = arr2(&[[0.0, 0.025], [0.025, 0.0]]);
        let tree = neighbor_joining(distances.view()).unwrap();
        let text = shown(&names(&["a", "long name"]), &distances, &tree).unwrap();
        let expected =
            "\nL2 distances / 1e-2\n1 a        \n2 long name 2.500\n                1\n\n";
        assert_eq!(text, expected);
    }
}
