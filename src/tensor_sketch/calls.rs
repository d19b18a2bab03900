//! The calls that sketch whole sequences; those of windows are in [`windows`](super::windows).

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayViewMut2, ArrayViewMut3, Axis, Ix2, Ix3};

use super::device_input::DeviceSequences;
use super::element::Entry;
use super::input::{Job, Rows, Sequences};
use super::options::{Plan, TensorSketch};
use super::output::{require_shape, write_to};
#[allow(unused_imports, reason = "for links")]
use crate::Error;
use crate::device::{Buffer, DeviceArray, zeroed_lazily};
use crate::error::During;
use crate::{Device, DeviceSet, Result};

const SKETCH: &str = "sketch";
const SKETCH_INTO: &str = "sketch_into";
const SKETCH_ROWS: &str = "sketch_rows";
const SKETCH_ROWS_INTO: &str = "sketch_rows_into";
const SKETCH_ONE: &str = "sketch_one";
const SKETCH_DEVICE: &str = "sketch_device";
const SKETCH_DEVICE_INTO: &str = "sketch_device_into";
const SKETCH_ROWS_DEVICE: &str = "sketch_rows_device";
const SKETCH_ROWS_DEVICE_INTO: &str = "sketch_rows_device_into";
const PLAN: &str = "plan";

impl<T: Entry> TensorSketch<T> {
    /// Sketches N sequences: N×D.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables, and for a set of no
    ///   devices.
    /// - [`Error::Overflow`] for a sketch with an entry beyond `f32`'s range (3.4·10³⁸), which only
    ///   long sequences that are not normalised have.
    /// - [`Error::Allocation`] if the memory of a device does not suffice for the least part of a sequence, or the
    ///   host's for the sketches.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [vec![0, 1, 2, 3], vec![3], vec![]].iter().collect();
    /// let sketches = sketcher.sketch(&Device::cpu(), &sequences)?;
    /// assert_eq!(sketches.dim(), (3, 16));
    /// assert!(sketches.row(1).iter().all(|&entry| entry == 0.0)); // no pair of letters
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
    ) -> Result<Array2<T>> {
        let rows = self.host(self.job(SKETCH, Rows::Last), devices, sequences)?;
        Ok(rows.index_axis_move(Axis(1), 0))
    }

    /// Writes the sketches of N sequences to memory that exists: a view of N×D with any strides.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch), and [`Error::Shape`] if `out` does not have the shape of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::{Array2, s};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences = Sequences::from(vec![vec![0, 1, 2, 3], vec![3, 2]]);
    /// let mut table = Array2::zeros((2, 20));
    /// sketcher.sketch_into(&Device::cpu(), &sequences, table.slice_mut(s![.., 4..]))?;
    /// assert_eq!(table.slice(s![.., 4..]), sketcher.sketch(&Device::cpu(), &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
        out: ArrayViewMut2<T>,
    ) -> Result<()> {
        require_shape(
            SKETCH_INTO,
            &[sequences.len(), self.tables.dim()],
            out.shape(),
        )?;
        let job = self.job(SKETCH_INTO, Rows::Last);
        self.host_into(job, devices, sequences, out.insert_axis(Axis(1)))
    }

    /// Computes all rows T\[0\] to T\[t\] of N sequences, N×(t+1)×D: row k is the sketch with tuples of k
    /// letters, for the first k columns of the tables.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::s;
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let rows = sketcher.sketch_rows(&Device::cpu(), &sequences)?;
    /// assert_eq!(rows.dim(), (2, 3, 16));
    /// assert_eq!(rows.slice(s![.., 2, ..]), sketcher.sketch(&Device::cpu(), &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_rows(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
    ) -> Result<Array3<T>> {
        self.host(self.job(SKETCH_ROWS, Rows::All), devices, sequences)
    }

    /// Writes [all rows](Self::sketch_rows) of N sequences to memory that exists: a view of N×(t+1)×D with any strides.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch), and [`Error::Shape`] if `out` does not have the shape of the result.
    pub fn sketch_rows_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
        out: ArrayViewMut3<T>,
    ) -> Result<()> {
        let job = self.job(SKETCH_ROWS_INTO, Rows::All);
        let shape = [sequences.len(), job.row_count(), self.tables.dim()];
        require_shape(SKETCH_ROWS_INTO, &shape, out.shape())?;
        self.host_into(job, devices, sequences, out)
    }

    /// Sketches one sequence: D numbers. The view may have any strides.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch).
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{array, s};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let codes = array![0, 1, 2, 3, 2, 1];
    /// let backwards = sketcher.sketch_one(&Device::cpu(), codes.slice(s![..;-1]))?;
    /// assert_eq!(backwards.len(), 16);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_one(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
    ) -> Result<Array1<T>> {
        let sequences = Sequences::try_from_iter([codes]).during(SKETCH_ONE)?;
        let rows = self.host(self.job(SKETCH_ONE, Rows::Last), devices, &sequences)?;
        Ok(rows.index_axis_move(Axis(1), 0).index_axis_move(Axis(0), 0))
    }

    /// Sketches N sequences that are in a device's memory already, and leaves the sketches there: N×D.
    ///
    /// The work is ordered on the stream of the sequences' handle, by default the device's main
    /// stream, and may still run when this returns.
    ///
    /// # Errors
    ///
    /// Those of [`sketch`](Self::sketch), but for the overflow: the range of the results is not
    /// checked, and an entry beyond `f32`'s is infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let device = Device::auto();
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let on_device = sequences.upload(&device)?;
    /// for seed in 0..2 {
    ///     let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, seed)?);
    ///     let sketches = sketcher.sketch_device(&on_device)?;
    ///     assert_eq!(sketches.download()?, sketcher.sketch(&device, &sequences)?);
    /// }
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_device(&self, sequences: &DeviceSequences) -> Result<DeviceArray<T, Ix2>> {
        let buffer = self.device(self.job(SKETCH_DEVICE, Rows::Last), sequences)?;
        DeviceArray::from_buffer(buffer, Ix2(sequences.len(), self.tables.dim()))
    }

    /// Writes the sketches of N sequences in a device's memory to an array that exists, on the same device: N×D.
    ///
    /// The work may still run when this returns, as with [`sketch_device`](Self::sketch_device). The content of `out` is
    /// unspecified after an error.
    ///
    /// # Errors
    ///
    /// Those of [`sketch_device`](Self::sketch_device), [`Error::DifferentDevices`] if `out` is on another device, and
    /// [`Error::Shape`] if `out` does not have the shape of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    /// use ndarray::Array2;
    ///
    /// let device = Device::auto();
    /// let sequences = Sequences::from(vec![vec![0, 1, 2, 3], vec![3, 2]]);
    /// let on_device = sequences.upload(&device)?;
    /// let mut out = device.upload(&Array2::zeros((2, 16)))?;
    /// for seed in 0..2 {
    ///     let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, seed)?);
    ///     sketcher.sketch_device_into(&on_device, &mut out)?;
    ///     assert_eq!(out.download()?, sketcher.sketch(&device, &sequences)?);
    /// }
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_device_into(
        &self,
        sequences: &DeviceSequences,
        out: &mut DeviceArray<T, Ix2>,
    ) -> Result<()> {
        let job = self.job(SKETCH_DEVICE_INTO, Rows::Last);
        sequences
            .device
            .require_same(out.device(), SKETCH_DEVICE_INTO)?;
        require_shape(
            SKETCH_DEVICE_INTO,
            &[sequences.len(), self.tables.dim()],
            out.shape(),
        )?;
        device_into(job, sequences, out.buffer_mut())
    }

    /// Computes [all rows](Self::sketch_rows) of N sequences that are in a device's memory already, and leaves them
    /// there: N×(t+1)×D.
    ///
    /// The work may still run when this returns, as with [`sketch_device`](Self::sketch_device).
    ///
    /// # Errors
    ///
    /// Those of [`sketch_device`](Self::sketch_device).
    pub fn sketch_rows_device(&self, sequences: &DeviceSequences) -> Result<DeviceArray<T, Ix3>> {
        let job = self.job(SKETCH_ROWS_DEVICE, Rows::All);
        let buffer = self.device(job, sequences)?;
        let shape = Ix3(sequences.len(), job.row_count(), self.tables.dim());
        DeviceArray::from_buffer(buffer, shape)
    }

    /// Writes [all rows](Self::sketch_rows) of N sequences in a device's memory to an array that exists, on the same
    /// device: N×(t+1)×D.
    ///
    /// # Errors
    ///
    /// Those of [`sketch_device_into`](Self::sketch_device_into).
    pub fn sketch_rows_device_into(
        &self,
        sequences: &DeviceSequences,
        out: &mut DeviceArray<T, Ix3>,
    ) -> Result<()> {
        let job = self.job(SKETCH_ROWS_DEVICE_INTO, Rows::All);
        sequences
            .device
            .require_same(out.device(), SKETCH_ROWS_DEVICE_INTO)?;
        let shape = [sequences.len(), job.row_count(), self.tables.dim()];
        require_shape(SKETCH_ROWS_DEVICE_INTO, &shape, out.shape())?;
        device_into(job, sequences, out.buffer_mut())
    }

    /// Describes how `device` computes these sketches.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if it cannot.
    ///
    /// # Examples
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Form, Tables, TensorSketch};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 4, 96, 0)?);
    /// let plan = sketcher.plan(&Device::cpu())?;
    /// assert_eq!(plan.form(), Form::Fourier);
    /// println!("{plan}"); // Fourier form in f32: words of up to 4 letters on 8 threads
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn plan(&self, device: &Device) -> Result<Plan> {
        T::plan(&self.job(PLAN, Rows::Last), device)
    }

    pub(super) fn job(&self, operation: &'static str, rows: Rows) -> Job<'_> {
        Job {
            operation,
            tables: &self.tables,
            rows,
            normalize: self.normalize,
            form: self.form,
        }
    }

    fn host(
        &self,
        job: Job,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
    ) -> Result<Array3<T>> {
        let shape = (sequences.len(), job.row_count(), self.tables.dim());
        let entries = sequences.len().saturating_mul(job.entries());
        let mut entries = zeroed_lazily(entries).during(job.operation)?;
        T::host(&job, devices.devices(), sequences.view(), &mut entries).during(job.operation)?;
        Ok(Array3::from_shape_vec(shape, entries).expect("rows of all sequences"))
    }

    fn host_into(
        &self,
        job: Job,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
        out: ArrayViewMut3<T>,
    ) -> Result<()> {
        let compute = |out: &mut [T]| T::host(&job, devices.devices(), sequences.view(), out);
        write_to(out, compute).during(job.operation)
    }

    fn device(&self, job: Job, sequences: &DeviceSequences) -> Result<Buffer<T>> {
        let entries = sequences.len().saturating_mul(job.entries());
        let mut out = sequences.device.alloc(entries).during(job.operation)?;
        T::device(&job, sequences, &mut out).during(job.operation)?;
        Ok(out)
    }
}

/// Writes the rows of sequences to memory of their device, of which it has a handle on some stream.
fn device_into<T: Entry>(job: Job, sequences: &DeviceSequences, out: &mut Buffer<T>) -> Result<()> {
    let device = out.device().clone();
    let _ordered = sequences.device.ordered_with(&[&device])?;
    T::device(&job, sequences, out).during(job.operation)
}
