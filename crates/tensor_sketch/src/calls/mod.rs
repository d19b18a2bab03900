//! The calls that sketch whole sequences. [`windows`] has the calls for windows.

mod windows;

#[allow(unused_imports, reason = "for links")]
use gridstride_runtime::Error;
use gridstride_runtime::device::{Buffer, DeviceArray, zeroed, zeroed_lazily};
use gridstride_runtime::error::During;
use gridstride_runtime::partition::require_devices;
use gridstride_runtime::{Device, DeviceSet, Result};
use gridstride_sequences::{DeviceSequences, Sequences, SequencesView};
use ndarray::{
    Array, Array1, Array2, Array3, ArrayView1, ArrayViewMut, ArrayViewMut1, ArrayViewMut2,
};
use ndarray::{ArrayViewMut3, Dimension, Ix1, Ix2, Ix3};

use super::element::Entry;
use super::input::{DeviceSketch, HostSketch, Job, Rows, Windows, require_shape};
use super::options::{Plan, TensorSketch};
use super::output::{check_range, write_to};

impl<T: Entry> TensorSketch<T> {
    /// Sketches N sequences: N×D.
    ///
    /// # Errors
    /// - [`Error::InvalidInput`] for a code that is not below the alphabet size of the tables, for
    ///   a set of no devices, and if a device cannot compute in the [form](TensorSketch::form).
    /// - [`Error::Overflow`] for a sketch with an entry beyond the range of `T`, 3.4·10³⁸ in `f32`,
    ///   which only long sequences that are not normalised have.
    /// - [`Error::Allocation`] if a device's memory does not suffice for the smallest section of a
    ///   sequence, or the host's memory for the sketches.
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
        let shape = self.shape(sequences.len());
        let job = self.job("sketch", Rows::Last);
        self.host(job, devices, sequences.view(), shape)
    }

    /// As [`sketch`](Self::sketch), but writes to the existing N×D array `out`, with any strides.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// As [`sketch`](Self::sketch), and [`Error::Shape`] if `out` has another shape.
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
        let job = self.job("sketch_into", Rows::Last);
        self.host_into(
            job,
            devices,
            sequences.view(),
            self.shape(sequences.len()),
            out,
        )
    }

    /// Computes all rows T\[0\] to T\[t\] of N sequences, N×(t+1)×D: row k is the sketch with
    /// tuples of k letters, for the first k columns of the tables.
    ///
    /// # Errors
    /// As [`sketch`](Self::sketch).
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
        let job = self.job("sketch_rows", Rows::All);
        self.host(
            job,
            devices,
            sequences.view(),
            self.shape_of_rows(sequences.len()),
        )
    }

    /// As [`sketch_rows`](Self::sketch_rows), but writes to the existing N×(t+1)×D array `out`, as
    /// [`sketch_into`](Self::sketch_into) does.
    pub fn sketch_rows_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        sequences: &Sequences,
        out: ArrayViewMut3<T>,
    ) -> Result<()> {
        let shape = self.shape_of_rows(sequences.len());
        let job = self.job("sketch_rows_into", Rows::All);
        self.host_into(job, devices, sequences.view(), shape, out)
    }

    /// As [`sketch`](Self::sketch), but of one sequence, a view with any strides: D numbers.
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
        let job = self.job_of_one("sketch_one", Rows::Last);
        let sequence = Sequences::try_from_iter([codes]).during(job.operation)?;
        self.host(job, devices, sequence.view(), Ix1(self.tables.dim()))
    }

    /// As [`sketch_one`](Self::sketch_one), but writes to the existing array `out` of D numbers, as
    /// [`sketch_into`](Self::sketch_into) does.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Tables, TensorSketch};
    /// use ndarray::{Array1, array};
    ///
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let (codes, mut out) = (array![0, 1, 2, 3], Array1::zeros(16));
    /// sketcher.sketch_one_into(&Device::cpu(), codes.view(), out.view_mut())?;
    /// assert_eq!(out, sketcher.sketch_one(&Device::cpu(), codes.view())?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_one_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        codes: ArrayView1<u8>,
        out: ArrayViewMut1<T>,
    ) -> Result<()> {
        let job = self.job_of_one("sketch_one_into", Rows::Last);
        let sequence = Sequences::try_from_iter([codes]).during(job.operation)?;
        self.host_into(job, devices, sequence.view(), Ix1(self.tables.dim()), out)
    }

    /// Sketches N sequences in a device's memory, and leaves the sketches there: N×D.
    ///
    /// The work is ordered on the stream of the sequences' handle, by default the device's main
    /// stream. The call may wait for copies of tables to the device; the last kernels may still run
    /// when it returns.
    ///
    /// # Errors
    /// As [`sketch`](Self::sketch), but the range of the results is not checked: an entry beyond
    /// the range of `T` is infinite. Of several codes that the tables do not have, the error names the
    /// first of the largest.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
    ///
    /// let device = Device::auto();
    /// let sequences: Sequences = [[0, 1, 2, 3], [3, 2, 3, 2]].iter().collect();
    /// let on_device = sequences.upload(&device)?;
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// let sketches = sketcher.sketch_device(&on_device)?;
    /// assert_eq!(sketches.download()?, sketcher.sketch(&device, &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_device(&self, sequences: &DeviceSequences) -> Result<DeviceArray<T, Ix2>> {
        let shape = self.shape(sequences.len());
        device(self.job("sketch_device", Rows::Last), sequences, shape)
    }

    /// As [`sketch_device`](Self::sketch_device), but writes to the existing N×D array `out` on the
    /// same device.
    ///
    /// The content of `out` is unspecified after an error.
    ///
    /// # Errors
    /// As [`sketch_device`](Self::sketch_device), [`Error::DifferentDevices`] if `out` is on
    /// another device, and [`Error::Shape`] if `out` has another shape.
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
    /// let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 16, 0)?);
    /// sketcher.sketch_device_into(&on_device, &mut out)?;
    /// assert_eq!(out.download()?, sketcher.sketch(&device, &sequences)?);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn sketch_device_into(
        &self,
        sequences: &DeviceSequences,
        out: &mut DeviceArray<T, Ix2>,
    ) -> Result<()> {
        let job = self.job("sketch_device_into", Rows::Last);
        device_into(job, sequences, self.shape(sequences.len()), out)
    }

    /// As [`sketch_device`](Self::sketch_device), but computes [all rows](Self::sketch_rows):
    /// N×(t+1)×D.
    pub fn sketch_rows_device(&self, sequences: &DeviceSequences) -> Result<DeviceArray<T, Ix3>> {
        let shape = self.shape_of_rows(sequences.len());
        device(self.job("sketch_rows_device", Rows::All), sequences, shape)
    }

    /// As [`sketch_device_into`](Self::sketch_device_into), but computes
    /// [all rows](Self::sketch_rows): N×(t+1)×D.
    pub fn sketch_rows_device_into(
        &self,
        sequences: &DeviceSequences,
        out: &mut DeviceArray<T, Ix3>,
    ) -> Result<()> {
        let job = self.job("sketch_rows_device_into", Rows::All);
        device_into(job, sequences, self.shape_of_rows(sequences.len()), out)
    }

    /// Describes how `device` computes these sketches.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `device` cannot.
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
        T::plan(&self.job("plan", Rows::Last), device)
    }

    fn shape(&self, sequences: usize) -> Ix2 {
        Ix2(sequences, self.tables.dim())
    }

    fn shape_of_rows(&self, sequences: usize) -> Ix3 {
        Ix3(sequences, self.tables.tuple_length() + 1, self.tables.dim())
    }

    fn host<D: Dimension>(
        &self,
        job: Job,
        devices: &(impl DeviceSet + ?Sized),
        sequences: SequencesView,
        shape: D,
    ) -> Result<Array<T, D>> {
        let entries = match job.rows {
            Rows::Windows(_) => zeroed(entries_of(&shape)),
            Rows::Last | Rows::All => zeroed_lazily(entries_of(&shape)),
        };
        let mut entries = entries.during(job.operation)?;
        compute(job, devices, sequences, &mut entries)?;
        Ok(Array::from_shape_vec(shape, entries).expect("rows of all sequences"))
    }

    fn host_into<D: Dimension>(
        &self,
        job: Job,
        devices: &(impl DeviceSet + ?Sized),
        sequences: SequencesView,
        shape: D,
        out: ArrayViewMut<T, D>,
    ) -> Result<()> {
        require_shape(job.operation, shape.slice(), out.shape())?;
        let compute = |out: &mut [T]| compute(job, devices, sequences, out);
        write_to(out, compute).during(job.operation)
    }
}

fn compute<T: Entry>(
    job: Job,
    devices: &(impl DeviceSet + ?Sized),
    sequences: SequencesView,
    out: &mut [T],
) -> Result<()> {
    let mut of = "sequence";
    if let Rows::Windows(windows) = job.rows {
        job.check_codes(sequences)?;
        require_devices(devices.devices(), job.operation)?;
        if windows.count == 0 {
            return Ok(());
        }
        of = "window";
    }
    let sketch = HostSketch {
        job,
        sequences,
        out: &mut *out,
    };
    T::host(devices.devices(), sketch).during(job.operation)?;
    check_range(job.operation, out, job.entries(), 0, of)
}

fn entries_of(shape: &impl Dimension) -> usize {
    let axes = shape.slice().iter();
    axes.fold(1, |entries: usize, &axis| entries.saturating_mul(axis))
}

fn device<T: Entry, D: Dimension>(
    job: Job,
    sequences: &DeviceSequences,
    shape: D,
) -> Result<DeviceArray<T, D>> {
    let out = sequences.device().alloc(entries_of(&shape));
    let mut out = out.during(job.operation)?;
    compute_device(job, sequences, &mut out)?;
    DeviceArray::from_buffer(out, shape)
}

fn device_into<T: Entry, D: Dimension>(
    job: Job,
    sequences: &DeviceSequences,
    shape: D,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    let device = out.device().clone();
    sequences.device().require_same(&device, job.operation)?;
    require_shape(job.operation, shape.slice(), out.shape())?;
    let _ordered = sequences.device().ordered_with(&[&device])?;
    compute_device(job, sequences, out.inner_mut())
}

fn compute_device<T: Entry>(
    job: Job,
    sequences: &DeviceSequences,
    out: &mut Buffer<T>,
) -> Result<()> {
    job.check_code(sequences.largest())?;
    if let Rows::Windows(Windows { count: 0, .. }) = job.rows {
        return Ok(());
    }
    let sketch = DeviceSketch {
        job,
        sequences,
        out,
    };
    T::device(sketch).during(job.operation)
}
