//! Sketches of all windows of a sequence.
//!
//! # Algorithm
//! Windows of `width` letters begin every `stride` letters. With q = ⌊width / stride⌋ and
//! r = `width` mod `stride`, the text is cut into *steps* of `stride` letters, and each step after
//! its first r letters, so that a window consists of q whole steps and the head of the next one:
//!
//! ```text
//! window i = F(i) F(i+1) … F(i+q−1) A(i+q)        F(k): step k, A(k): its first r letters
//! ```
//!
//! In the Fourier form each of them is a matrix, and their product the window's (see `fourier`).
//! Matrices have inverses, but to divide what leaves the window out of the product would add up
//! rounding errors from window to window. Instead steps are gathered into runs. Windows that begin in
//! the same run have the steps between that run and the one in which the first of them ends in common:
//!
//! ```text
//! window i = F(i) … F(end of the run − 1) · middle · F(…) … F(i+q−1) · A(i+q)
//! ```
//!
//! The left products are made from the end of a run backwards, the right ones forwards, one step at a
//! time, and the middle once for all of them. So each window takes few products of matrices, however
//! long it is, and depends on no letter outside of it. With one run per window there is no middle,
//! and this is how minima of sliding windows are found (M. van Herk, 'A fast algorithm for local
//! minimum and maximum filters'; J. Gil and M. Werman, 'Computing 2-D min, median, and max filters').

use std::borrow::Cow;

use ndarray::{Array2, ArrayView1};

use super::device_sequences::{CodeAt, first_code_from};
use super::gpu;
use super::{OPERATION, Real, Tables, TensorSketch, check_range, cpu};
use crate::device::{DeviceKind, packed, zeroed};
use crate::error::During;
use crate::partition::{self, Partition, equal_ranges, require_devices, split_at_ranges};
use crate::{Device, DeviceSet, Error, Result};

/// The name of [`TensorSketch::windows`] in errors of memory.
const WINDOWS: &str = "windows";

/// Where the windows of a text lie.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Letters per window, at least one.
    pub width: usize,
    /// Letters from the beginning of a window to that of the next, at least one.
    pub stride: usize,
    /// How many there are.
    pub count: usize,
}

impl Windows {
    fn new(length: usize, width: usize, stride: usize) -> Result<Windows> {
        for (name, value) in [("width", width), ("stride", stride)] {
            if value == 0 {
                let message = format!("the {name} of windows is 0, not at least 1");
                return Err(Error::input(OPERATION, message));
            }
        }
        let count = length
            .checked_sub(width)
            .map_or(0, |rest| rest / stride + 1);
        Ok(Windows {
            width,
            stride,
            count,
        })
    }
}

impl<T: Real> TensorSketch<T> {
    /// The sketches of all windows of `width` letters that begin at letters 0, `stride`,
    /// 2·`stride`, … of a sequence of n letters and end within it: (⌊(n − `width`) / `stride`⌋ + 1)×D,
    /// 0×D if there is none. The view may have any strides.
    ///
    /// Always in the Fourier form, whatever [`form`](TensorSketch::form) says, and by all threads.
    /// The time is that for one sketch of the sequence, and for each window a time that does not
    /// depend on its width; each window's sketch is made of its own letters alone, so that errors do
    /// not grow along the sequence. The result is the same from run to run.
    ///
    /// Besides the letters and the result, the CPU needs little memory. Other devices need up to
    /// 64·t·(t + 1) bytes, or twice as many for `f64`, for each stride in a window, at least 65 536.
    ///
    /// Over a [set](DeviceSet) of devices, and where a device's memory or its
    /// [limit](Device::with_memory_limit) does not suffice, the windows are divided into ranges of at least
    /// 64, if there are so many. The sketches are then the same, bit by bit, on devices of one kind
    /// that run kernels; the CPU puts windows together in ways that depend on their number.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidInput`](crate::Error::InvalidInput) for a `width` or a `stride` of 0, for a code that is not
    ///   below the alphabet size of the tables, and for a set of no devices.
    /// - [`Error::Overflow`](crate::Error::Overflow) as for [`sketch`](TensorSketch::sketch).
    /// - [`Error::Allocation`](crate::Error::Allocation) if the host's memory does not suffice for the
    ///   sketches, or a device's for up to 127 windows.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{array, s};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?).normalize(true);
    /// let codes = array![0, 1, 2, 3, 2, 1, 0, 0, 1];
    /// let windows = sketcher.windows(&Device::cpu(), codes.view(), 4, 2)?;
    /// assert_eq!(windows.dim(), (3, 16));
    /// let second = sketcher.sketch_one(&Device::cpu(), codes.slice(s![2..6]))?;
    /// assert_eq!(windows.row(1), second);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    ///
    /// # Source
    ///
    /// Windows are put together from products that grow to both sides from places in the text, as
    /// M. van Herk does for minima in 'A fast algorithm for local minimum and maximum filters'.
    pub fn windows(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
        width: usize,
        stride: usize,
    ) -> Result<Array2<T>> {
        let windows = Windows::new(codes.len(), width, stride)?;
        let codes = match codes.to_slice() {
            Some(codes) => Cow::Borrowed(codes),
            None => Cow::Owned(packed(&codes).during(WINDOWS)?),
        };
        self.check_codes(
            first_code_from(&codes, self.tables.alphabet_size()).map(|place| CodeAt {
                code: codes[place],
                sequence: 0,
                position: place as u64,
            }),
        )?;
        T::windows(self, devices.devices(), &codes, windows).during(WINDOWS)
    }

    /// The sketches of windows of right codes.
    pub(super) fn run_windows(
        &self,
        devices: &[Device],
        codes: &[u8],
        windows: Windows,
    ) -> Result<Array2<T>> {
        require_devices(devices, OPERATION)?;
        let dim = self.tables.dim();
        let mut sketches = zeroed(windows.count.saturating_mul(dim))?;
        if windows.count > 0 {
            let whole = PartOfWindows {
                tables: &self.tables,
                codes,
                windows,
                sketches: &mut sketches,
            };
            let work = |device: &Device, part: &mut PartOfWindows<T>| self.part(device, part);
            partition::run(devices, OPERATION, whole, work)?;
        }
        check_range(&sketches, dim, 0, "window")?;
        Ok(Array2::from_shape_vec((windows.count, dim), sketches).expect("a row for each window"))
    }

    /// The sketches of some of the windows.
    fn part(&self, device: &Device, part: &mut PartOfWindows<T>) -> Result<()> {
        let (tables, normalize) = (&self.tables, self.normalize);
        let (codes, windows) = (part.codes, part.windows);
        match device.kind() {
            DeviceKind::Cpu => cpu::windows(tables, codes, windows, normalize, part.sketches)?,
            _ => gpu::windows::sketch(device, tables, normalize, codes, windows, part.sketches)?,
        }
        Ok(())
    }
}

/// Some neighbouring windows, at least one.
struct PartOfWindows<'a, T> {
    tables: &'a Tables,
    /// From the first one's letters to the last one's.
    codes: &'a [u8],
    windows: Windows,
    /// The row of each.
    sketches: &'a mut [T],
}

impl<'a, T: Real> PartOfWindows<'a, T> {
    /// The first so many windows, and the rest.
    fn split_at(self, count: usize) -> (Self, Self) {
        let Windows { width, stride, .. } = self.windows;
        let (sketches, behind) = self.sketches.split_at_mut(count * self.tables.dim());
        let windows = |count| Windows {
            count,
            ..self.windows
        };
        (
            PartOfWindows {
                codes: &self.codes[..(count - 1) * stride + width],
                windows: windows(count),
                sketches,
                ..self
            },
            PartOfWindows {
                codes: &self.codes[count * stride..],
                windows: windows(self.windows.count - count),
                sketches: behind,
                ..self
            },
        )
    }
}

impl<T: Real> Partition for PartOfWindows<'_, T> {
    fn bytes(&self) -> u64 {
        gpu::windows::bytes::<T>(self.tables, self.windows, self.codes.len())
    }

    /// Between runs of windows, which are then put together as in the whole.
    fn split(self, parts: usize) -> Vec<Self> {
        let step = gpu::windows::run(self.windows);
        let ranges = equal_ranges(self.windows.count, parts, step);
        split_at_ranges(self, ranges, Self::split_at)
    }
}
