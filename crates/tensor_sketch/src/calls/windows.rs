//! The calls for sketches of all windows of a sequence.

use std::borrow::Cow;

use gridstride_runtime::device::{DeviceArray, packed};
use gridstride_runtime::error::During;
#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::{Device, Error};
use gridstride_runtime::{DeviceSet, Result};
use gridstride_sequences::SequencesView;
use ndarray::{Array2, ArrayView1, ArrayViewMut2, Ix2};

use super::{device, device_into};
use crate::element::Entry;
use crate::input::{Job, Rows, Windows};
use crate::{DeviceSequences, TensorSketch};

impl<T: Entry> TensorSketch<T> {
    /// Sketches all windows of `width` letters that begin at letters 0, `stride`, 2·`stride`, … of
    /// a sequence of n letters and end within it: (⌊(n − `width`) / `stride`⌋ + 1)×D, or 0×D if
    /// there are none. The view may have any strides.
    ///
    /// Windows are always sketched in the Fourier form, whatever [`form`](TensorSketch::form) says,
    /// and by all threads. The time is that of one sketch of the sequence, plus a time for each
    /// window that does not depend on its width. Each sketch is computed only from its window's
    /// letters, so that errors do not grow along the sequence. The result is deterministic.
    ///
    /// Besides the letters and the result, the CPU needs about 4·D·t·(t + 1) bytes for every 64
    /// windows, and on each thread up to 160 MiB or 1280·D·t·(t + 1) bytes, whichever is more. Other
    /// devices need up to 64·t·(t + 1) bytes, or twice as many for `f64`, for each stride in a
    /// window, and for at least 2¹⁶ strides.
    ///
    /// Over a [set](DeviceSet) of devices, and where a device's memory or its
    /// [limit](Device::with_memory_limit) does not suffice, the windows are divided into ranges.
    /// On devices that run kernels, a range has all windows that begin in a run of up to 64
    /// strides, and the sketches are the same, bit by bit, on devices of one kind. On the CPU,
    /// rounding depends on the number of windows.
    ///
    /// # Errors
    /// - [`Error::InvalidInput`] for a `width` or a `stride` of 0, for a code that is not below the
    ///   alphabet size of the tables, for a set of no devices, and on devices that run kernels for
    ///   windows of more than 2²⁹ strides.
    /// - [`Error::Overflow`] as for [`sketch`](TensorSketch::sketch).
    /// - [`Error::Allocation`] if the host's memory does not suffice for the sketches, or a
    ///   device's for up to 127 windows.
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
    /// Windows are products that grow to both sides from places in the text, as minima do in M. van
    /// Herk, 'A fast algorithm for local minimum and maximum filters'.
    pub fn windows(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
        width: usize,
        stride: usize,
    ) -> Result<Array2<T>> {
        let (job, shape) = self.job_of_windows("windows", codes.len(), width, stride)?;
        let codes = contiguous(&codes).during(job.operation)?;
        self.host(job, devices, text(&codes, &[0, codes.len()]), shape)
    }

    /// As [`windows`](Self::windows), but writes the sketches to `out`, a view with any strides.
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Also [`Error::Shape`] if `out` does not have the shape of the result.
    ///
    /// ```
    /// # use gridstride::Device;
    /// # use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{Array2, array};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let (codes, mut out) = (array![0, 1, 2, 3, 2, 1, 0], Array2::zeros((2, 16)));
    /// sketcher.windows_into(&Device::cpu(), codes.view(), 4, 2, out.view_mut())?;
    /// assert_eq!(out, sketcher.windows(&Device::cpu(), codes.view(), 4, 2)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn windows_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
        width: usize,
        stride: usize,
        out: ArrayViewMut2<T>,
    ) -> Result<()> {
        let (job, shape) = self.job_of_windows("windows_into", codes.len(), width, stride)?;
        let codes = contiguous(&codes).during(job.operation)?;
        self.host_into(job, devices, text(&codes, &[0, codes.len()]), shape, out)
    }

    /// As [`windows`](Self::windows), but for the only sequence of `sequences`, in a device's
    /// memory, where the sketches stay.
    ///
    /// The call may wait for copies of tables to the device; the last kernels may still run when it
    /// returns. The windows are not divided: all sketches have to fit in the device's memory.
    ///
    /// # Errors
    /// Also [`Error::InvalidInput`] if there is not exactly one sequence. There is no error of
    /// overflow: an entry beyond the range of `T` is infinite.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::array;
    ///
    /// let (device, codes) = (Device::auto(), array![0, 1, 2, 3, 2, 1, 0]);
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let on_device = Sequences::from_iter([&codes]).upload(&device)?;
    /// let windows = sketcher.windows_device(&on_device, 4, 2)?;
    /// assert_eq!(windows.download()?, sketcher.windows(&device, codes.view(), 4, 2)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn windows_device(
        &self,
        sequences: &DeviceSequences,
        width: usize,
        stride: usize,
    ) -> Result<DeviceArray<T, Ix2>> {
        const OPERATION: &str = "windows_device";
        let length = sequences.single_length(OPERATION)?;
        let (job, shape) = self.job_of_windows(OPERATION, length, width, stride)?;
        device(job, sequences, shape)
    }

    /// As [`windows_device`](Self::windows_device), but writes the sketches to `out`, on the same
    /// device. The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// Also [`Error::DifferentDevices`] if `out` is on another device, and [`Error::Shape`] if
    /// `out` does not have the shape of the result.
    pub fn windows_device_into(
        &self,
        sequences: &DeviceSequences,
        width: usize,
        stride: usize,
        out: &mut DeviceArray<T, Ix2>,
    ) -> Result<()> {
        const OPERATION: &str = "windows_device_into";
        sequences.device().require_same(out.device(), OPERATION)?;
        let length = sequences.single_length(OPERATION)?;
        let (job, shape) = self.job_of_windows(OPERATION, length, width, stride)?;
        device_into(job, sequences, shape, out)
    }

    fn job_of_windows(
        &self,
        operation: &'static str,
        length: usize,
        width: usize,
        stride: usize,
    ) -> Result<(Job<'_>, Ix2)> {
        let windows = Windows::new(operation, length, width, stride)?;
        let job = self.job_of_one(operation, Rows::Windows(windows));
        Ok((job, self.shape(windows.count)))
    }
}

fn contiguous<'a>(codes: &'a ArrayView1<u8>) -> Result<Cow<'a, [u8]>> {
    Ok(match codes.as_slice() {
        Some(codes) => Cow::Borrowed(codes),
        None => Cow::Owned(packed(codes)?),
    })
}

fn text<'a>(codes: &'a [u8], offsets: &'a [usize; 2]) -> SequencesView<'a> {
    SequencesView { codes, offsets }
}
