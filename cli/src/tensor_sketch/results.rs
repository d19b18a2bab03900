//! Writes finished sketches to the file, and keeps the first few for the summary.

use anyhow::{Result, bail};
use files::memory::make_room;
use files::sequences::Short;
use gridstride::tensor_sketch::Entry;
use ndarray::{Array2, ArrayView2};
use program::output::NpyFile;

use super::means::Means;
use super::name::Name;
use super::window_lists::WindowLists;

/// Sketches that the summary shows.
const SHOWN: usize = 20;

/// Takes sketches in order, writes them, and keeps as many as options require.
pub struct Results<T> {
    /// Number of sketches.
    pub count: usize,
    /// Number of sequences, including those without a sketch.
    pub sequences: u64,
    /// Sequences without a window or a tuple.
    pub short: Short,
    /// Letters of all sequences, and characters that were left out.
    pub letters: u64,
    pub skipped: u64,
    /// Letters of the longest sequence, if there are windows.
    pub longest: u64,
    /// The largest number of sketches allowed.
    most: usize,
    /// The first sketches, for the summary.
    pub shown: Vec<(Name, Vec<T>)>,
    npy: Option<NpyFile<T>>,
    lists: WindowLists,
    all: Option<All<T>>,
    /// Adds up the windows of each sequence, if each sequence gets one sketch.
    means: Option<Means>,
}

struct All<T> {
    names: Vec<String>,
    /// [`Name::length`] of each sketch.
    lengths: Vec<u64>,
    values: Vec<T>,
}

impl<T: Entry> Results<T> {
    /// `keep_all` keeps all sketches, for distances. `take_means` makes one sketch of the windows of a
    /// sequence. More than `most` sketches are an error.
    pub fn new(
        npy: Option<NpyFile<T>>,
        lists: WindowLists,
        keep_all: bool,
        take_means: bool,
        most: usize,
    ) -> Results<T> {
        Results {
            count: 0,
            sequences: 0,
            short: Short::default(),
            letters: 0,
            skipped: 0,
            longest: 0,
            most,
            shown: Vec::new(),
            npy,
            lists,
            all: keep_all.then(|| All {
                names: Vec::new(),
                lengths: Vec::new(),
                values: Vec::new(),
            }),
            means: take_means.then(Means::default),
        }
    }

    /// Adds sketches, N×D, with a name for each row.
    pub fn add(
        &mut self,
        names: impl Iterator<Item = Name>,
        sketches: ArrayView2<T>,
    ) -> Result<()> {
        let Some(mut means) = self.means.take() else {
            return self.add_finished(names, sketches);
        };
        for (name, sketch) in names.zip(sketches.outer_iter()) {
            if let Some((name, mean)) = means.add(name, sketch) {
                self.add_finished(std::iter::once(name), mean.view())?;
            }
        }
        self.means = Some(means);
        Ok(())
    }

    fn add_finished(
        &mut self,
        names: impl Iterator<Item = Name>,
        sketches: ArrayView2<T>,
    ) -> Result<()> {
        if self.count + sketches.nrows() > self.most {
            let most = self.most;
            bail!(
                "there are more than {most} sketches, whose tree and heat map would take too long: \
                 leave out --tree, --plot-tree and --plot, or sketch fewer sequences"
            );
        }
        if let Some(npy) = &mut self.npy {
            npy.add(sketches)?;
        }
        if let Some(all) = &mut self.all {
            const SKETCHES: &str = "sketches to compare with each other";
            make_room(&mut all.values, sketches.len(), SKETCHES)?;
            make_room(&mut all.names, sketches.nrows(), SKETCHES)?;
            make_room(&mut all.lengths, sketches.nrows(), SKETCHES)?;
            all.values.extend(sketches);
        }
        for (name, sketch) in names.zip(sketches.outer_iter()) {
            self.count += 1;
            if let Some(all) = &mut self.all {
                all.names.push(name.name.clone());
                all.lengths.push(name.length);
            }
            if self.shown.len() < SHOWN {
                self.shown.push((name, sketch.to_vec()));
            }
        }
        Ok(())
    }

    /// Records a sequence that has ended, and its number of windows or tuples.
    pub fn end_sequence(&mut self, name: &str, skipped: u64, count: u64) {
        self.sequences += 1;
        self.skipped += skipped;
        if count == 0 {
            self.short.add(|| name.to_owned());
        }
    }

    /// Records a sequence whose windows are all known.
    pub fn end_windows(
        &mut self,
        name: &str,
        length: u64,
        skipped: u64,
        windows: u64,
    ) -> Result<()> {
        self.longest = self.longest.max(length);
        if windows > 0 {
            self.lists.add(name, self.sequences, windows)?;
            if let Some(means) = &mut self.means {
                means.end_sequence(length, skipped);
            }
        }
        self.end_sequence(name, skipped, windows);
        Ok(())
    }

    /// Ends the last sequence.
    pub fn finish(&mut self) -> Result<()> {
        if let Some((name, mean)) = self.means.take().and_then(|mut means| means.take()) {
            self.add_finished(std::iter::once(name), mean.view())?;
        }
        Ok(())
    }

    /// Completes the files, and puts them in their places.
    pub fn publish(&mut self) -> Result<()> {
        self.lists.publish()?;
        self.npy.take().map_or(Ok(()), NpyFile::finish)
    }

    /// Returns the lengths of all sequences, if sketches are kept and until they are taken.
    pub fn lengths(&self) -> &[u64] {
        self.all.as_ref().map_or(&[], |all| &all.lengths)
    }

    /// Takes the names and sketches of all sequences, if they were kept.
    pub fn take_all(&mut self, dim: usize) -> Result<Option<(Vec<String>, Array2<T>)>> {
        let Some(All { names, values, .. }) = self.all.take() else {
            return Ok(None);
        };
        let sketches = Array2::from_shape_vec((names.len(), dim), values)?;
        Ok(Some((names, sketches)))
    }
}
