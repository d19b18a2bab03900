//! Random sizes, and views with random strides.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::device::{DeviceArray, DeviceView, Element};
use ndarray::{Array2, ArrayBase, ArrayView2, ArrayViewMut2, Axis, Ix2, RawData, Slice};

/// Returns a size up to `most`, often 0, 1, or beside a power of two.
pub fn size(u: &mut Unstructured, most: usize) -> Result<usize> {
    let size = match u.int_in_range(0..=3)? {
        0 => u.int_in_range(0..=3)?,
        1 => (1usize << u.int_in_range(0..=8)?) + u.int_in_range(0..=2)? - 1,
        _ => u.int_in_range(0..=most)?,
    };
    Ok(size.min(most))
}

/// A matrix whose elements lie apart from each other, in any order of the axes.
#[derive(Debug)]
pub struct Strided<T> {
    elements: Array2<T>,
    is_transposed: bool,
    /// The steps along rows and columns, negative for reversed axes.
    steps: [isize; 2],
}

impl<T: Copy> Strided<T> {
    /// Draws strides, then each element in row-major order. `between` fills the gaps.
    pub fn new(
        u: &mut Unstructured,
        shape: (usize, usize),
        between: T,
        mut element: impl FnMut(&mut Unstructured) -> Result<T>,
    ) -> Result<Strided<T>> {
        let is_transposed = u.arbitrary()?;
        let mut step = || -> Result<isize> {
            let step = if u.ratio(1, 4)? {
                u.int_in_range(2..=3)?
            } else {
                1
            };
            Ok(if u.ratio(1, 4)? { -step } else { step })
        };
        let steps = [step()?, step()?];
        let [rows, columns] = [
            shape.0 * steps[0].unsigned_abs(),
            shape.1 * steps[1].unsigned_abs(),
        ];
        let lengths = if is_transposed {
            (columns, rows)
        } else {
            (rows, columns)
        };
        let mut strided = Strided {
            elements: Array2::from_elem(lengths, between),
            is_transposed,
            steps,
        };
        for place in strided.view_mut() {
            *place = element(u)?;
        }
        Ok(strided)
    }

    /// Draws strides for a copy of a matrix.
    pub fn copy(u: &mut Unstructured, matrix: &Array2<T>, between: T) -> Result<Strided<T>> {
        let mut elements = matrix.iter().copied();
        let next = |_: &mut Unstructured| Ok(elements.next().expect("as many as places"));
        Strided::new(u, matrix.dim(), between, next)
    }

    pub fn view(&self) -> ArrayView2<'_, T> {
        strided(self.elements.view(), self.is_transposed, self.steps)
    }

    /// As [`view`](Self::view), to write.
    pub fn view_mut(&mut self) -> ArrayViewMut2<'_, T> {
        let (is_transposed, steps) = (self.is_transposed, self.steps);
        strided(self.elements.view_mut(), is_transposed, steps)
    }
}

impl<T: Element> Strided<T> {
    /// Copies the elements and what is between them to a device.
    pub fn upload(&self, device: &Device) -> DeviceArray<T, Ix2> {
        let mut elements = self.elements.view();
        // Views in a device's memory have no negative strides.
        for (axis, step) in self.steps.into_iter().enumerate() {
            if step < 0 {
                elements.invert_axis(Axis(axis ^ usize::from(self.is_transposed)));
            }
        }
        device.upload(&elements).unwrap()
    }

    /// Returns the matrix in what [`upload`](Self::upload) returned.
    pub fn view_in<'a>(&self, there: &'a DeviceArray<T, Ix2>) -> DeviceView<'a, T, Ix2> {
        let mut strides = [there.shape()[1], 1];
        if self.is_transposed {
            strides.swap(0, 1);
        }
        let [row, column] = self.steps.map(isize::unsigned_abs);
        let strides = Ix2(strides[0] * row, strides[1] * column);
        DeviceView::new(there.buffer(), 0, self.view().raw_dim(), strides).unwrap()
    }
}

/// Returns a view in the order of the axes of a matrix, with its steps.
fn strided<S: RawData>(
    mut view: ArrayBase<S, Ix2>,
    is_transposed: bool,
    steps: [isize; 2],
) -> ArrayBase<S, Ix2> {
    if is_transposed {
        view.swap_axes(0, 1);
    }
    for (axis, step) in steps.into_iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
    }
    view
}
