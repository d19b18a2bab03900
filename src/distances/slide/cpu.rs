//! Slide distances on the CPU, on all its threads, in `f64`.

use ndarray::{ArrayView2, ArrayViewMut2};

use super::input::{DeviceSlides, HostSlides, Pairing, Slides};
use super::windows::Windows;
use crate::device::{assign, collected, zeroed};
use crate::distances::cpu::{LINES, finish, scaled, squared_distance};
use crate::distances::element::Component;
use crate::distances::input;
use crate::distances::scale::Scale;
use crate::{Result, parallel};

pub fn host<T: Component>(slides: &mut HostSlides<T>) -> Result<()> {
    let (operation, metric, dim) = (slides.operation, slides.metric, slides.a.dim());
    let largest = input::largest(operation, "a", slides.a.rows())?.max(input::largest(
        operation,
        "b",
        slides.b.rows(),
    )?);
    let longest = slides.longest().saturating_mul(dim);
    let scale = Scale::new(largest, longest, metric, f64::MAX_EXP - 1);
    let (a_values, b_values) = (
        scaled(slides.a.rows(), scale)?,
        scaled(slides.b.rows(), scale)?,
    );
    let (a, b) = (
        Sequences::new(slides.a, &a_values)?,
        Sequences::new(slides.b, &b_values)?,
    );
    let distance = |i: usize, j: usize| {
        let ((a, a_count), (b, b_count)) = (a.sequence(i), b.sequence(j));
        match a_count.min(b_count) {
            0 => f64::NAN,
            count => {
                let length = count * dim;
                finish(squared_distance(&a[..length], &b[..length]), metric, scale)
            }
        }
    };
    let (pairs, columns) = (slides.pairs, slides.out.ncols());
    let write = |result: &mut [f64]| {
        let tasks = result.chunks_mut(LINES * columns.max(1)).enumerate();
        parallel::each(tasks, |(task, lines)| {
            // Each row of `b` is read once for all rows of `a`.
            for j in 0..columns {
                for (i, line) in (task * LINES..).zip(lines.chunks_exact_mut(columns)) {
                    line[j] = distance(i, if pairs == Pairing::Each { i } else { j });
                }
            }
        });
    };
    if let Some(places) = slides.out.as_slice_mut() {
        write(places);
        return Ok(());
    }
    let mut result = zeroed(slides.out.len())?;
    write(&mut result);
    let result = ArrayView2::from_shape(slides.out.raw_dim(), &result).expect("as many");
    assign(slides.out.view_mut(), &result);
    Ok(())
}

/// Writes the slide distances of sequences in the memory of a CPU device, which are copied.
pub fn device<T: Component>(slides: DeviceSlides<T>) -> Result<()> {
    let [a, b] = [slides.a, slides.b];
    let (a_rows, b_rows) = (a.rows.download()?, b.rows.download()?);
    let columns = match slides.pairs {
        Pairing::All => b.len(),
        Pairing::Each => 1,
    };
    let mut result = zeroed(slides.out.len())?;
    let places = ArrayViewMut2::from_shape((a.len(), columns), &mut result);
    host(&mut Slides {
        operation: slides.operation,
        metric: slides.metric,
        a: Windows::new(a_rows.view(), a.offsets)?,
        b: Windows::new(b_rows.view(), b.offsets)?,
        pairs: slides.pairs,
        out: places.expect("a distance for each pair"),
    })?;
    slides.out.copy_from(&result)
}

/// The scaled windows of sequences.
struct Sequences<'a> {
    values: &'a [f64],
    offsets: Vec<usize>,
    dim: usize,
}

impl<'a> Sequences<'a> {
    fn new<T>(windows: Windows<T>, values: &'a [f64]) -> Result<Self> {
        Ok(Sequences {
            values,
            offsets: collected(windows.offsets())?,
            dim: windows.dim(),
        })
    }

    /// Returns the numbers of a sequence and how many windows it has.
    fn sequence(&self, index: usize) -> (&'a [f64], usize) {
        let (start, end) = (self.offsets[index], self.offsets[index + 1]);
        (&self.values[start * self.dim..end * self.dim], end - start)
    }
}
