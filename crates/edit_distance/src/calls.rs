//! The calls: distances of sequences of the host, and of sequences in a device's memory.

use gridstride_runtime::device::{DeviceArray, assign, collected, zeroed_lazily};
use gridstride_runtime::error::During;
use gridstride_runtime::{DeviceSet, Result};
use gridstride_sequences::{DeviceSequences, Sequences};
use ndarray::{Array1, ArrayViewMut1, Ix1};

use super::dispatch;
use super::input::{self, DevicePairs, HostPairs};
use super::options::{ABOVE_LIMIT, EditDistance};

const EDIT_DISTANCES: &str = "edit_distances";
const EDIT_DISTANCES_DEVICE: &str = "edit_distances_device";

/// Computes the edit distance of each sequence of `a` to the sequence of `b` with the same index,
/// N pairs → N, as [`EditDistance::edit_distances`].
///
/// ```
/// use gridstride::{Device, edit_distance::edit_distances, sequences::Sequences};
/// use ndarray::array;
///
/// let (a, b) = (Sequences::from(vec![b"GATTACA"]), Sequences::from(vec![b"CATTAGA"]));
/// assert_eq!(edit_distances(&Device::auto(), &a, &b)?, array![2]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn edit_distances(
    devices: &(impl DeviceSet + ?Sized),
    a: &Sequences,
    b: &Sequences,
) -> Result<Array1<u32>> {
    EditDistance::new().edit_distances(devices, a, b)
}

/// As [`edit_distances`], but only distances of at most `limit`: `None` for pairs whose distance is
/// larger, which then take less time.
///
/// # Errors
/// As [`EditDistance::edit_distances`].
///
/// ```
/// use gridstride::{Device, edit_distance::edit_distances_within, sequences::Sequences};
/// use ndarray::array;
///
/// let a = Sequences::from(vec![b"GATTACA", b"GATTACA"]);
/// let b = Sequences::from(vec![b"CATTAGA", b"TTTTTTT"]);
/// let within = edit_distances_within(&Device::auto(), &a, &b, 3)?;
/// assert_eq!(within, array![Some(2), None]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn edit_distances_within(
    devices: &(impl DeviceSet + ?Sized),
    a: &Sequences,
    b: &Sequences,
    limit: u32,
) -> Result<Array1<Option<u32>>> {
    let operation = "edit_distances_within";
    let distances = EditDistance::new().with_limit(limit);
    let distances = distances.host(operation, devices, a, b)?;
    let within = distances
        .iter()
        .map(|&distance| (distance != ABOVE_LIMIT).then_some(distance));
    Ok(Array1::from_vec(collected(within).during(operation)?))
}

impl EditDistance {
    /// Computes the edit distance of each sequence of `a` to the sequence of `b` with the same
    /// index: N pairs → N.
    ///
    /// # Errors
    /// - [`Error::Shape`](gridstride_runtime::Error::Shape) if `a` and `b` have different numbers of sequences.
    /// - [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for a sequence of `u32::MAX` letters or
    ///   more, more than `u32::MAX` pairs, or no devices.
    /// - [`Error::Allocation`](gridstride_runtime::Error::Allocation) if a device has too little memory for a
    ///   pair, or the host for the distances.
    ///
    /// ```
    /// use gridstride::{Device, edit_distance::EditDistance, sequences::Sequences};
    /// use ndarray::array;
    ///
    /// let a = Sequences::from(vec![b"GATTACA".to_vec(), vec![]]);
    /// let b = Sequences::from(vec![b"CATTAGA".to_vec(), vec![0, 1, 2]]);
    /// let distances = EditDistance::new().edit_distances(&Device::auto(), &a, &b)?;
    /// assert_eq!(distances, array![2, 3]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn edit_distances(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: &Sequences,
        b: &Sequences,
    ) -> Result<Array1<u32>> {
        self.host(EDIT_DISTANCES, devices, a, b)
    }

    /// As [`edit_distances`](Self::edit_distances), but writes to `out`, a view of N numbers with
    /// any stride. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`edit_distances`](Self::edit_distances), and
    /// [`Error::Shape`](gridstride_runtime::Error::Shape) if `out` does not have a number for each pair.
    ///
    /// ```
    /// use gridstride::{Device, edit_distance::EditDistance, sequences::Sequences};
    /// use ndarray::{Array2, array};
    ///
    /// let a = Sequences::from(vec![b"GATTACA", b"TAGTAGT"]);
    /// let b = Sequences::from(vec![b"CATTAGA", b"TAGTAGT"]);
    /// let mut table = Array2::zeros((2, 2));
    /// EditDistance::new().edit_distances_into(&Device::auto(), &a, &b, table.column_mut(1))?;
    /// assert_eq!(table, array![[0, 2], [0, 0]]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn edit_distances_into(
        &self,
        devices: &(impl DeviceSet + ?Sized),
        a: &Sequences,
        b: &Sequences,
        mut out: ArrayViewMut1<u32>,
    ) -> Result<()> {
        const OPERATION: &str = "edit_distances_into";
        input::require_pairs(OPERATION, a.len(), b.len())?;
        input::require_out(OPERATION, a.len(), out.len())?;
        if let Some(places) = out.as_slice_mut() {
            return self.host_into(OPERATION, devices, a, b, places);
        }
        let distances = self.host(OPERATION, devices, a, b)?;
        assign(out, &distances);
        Ok(())
    }

    /// As [`edit_distances`](Self::edit_distances), but of sequences in a device's memory. The
    /// result stays there. `a` and `b` may be the same sequences.
    ///
    /// The work is ordered on the stream of `a`'s handle, by default the device's main stream. The
    /// call waits for bands of long pairs; the distances may not be written yet when it returns.
    ///
    /// # Errors
    /// The errors of [`edit_distances`](Self::edit_distances), and
    /// [`Error::DifferentDevices`](gridstride_runtime::Error::DifferentDevices) for sequences on different
    /// devices.
    ///
    /// ```
    /// use gridstride::{Device, edit_distance::EditDistance, sequences::Sequences};
    /// use ndarray::array;
    ///
    /// let device = Device::auto();
    /// let a = Sequences::from(vec![b"GATTACA"]).upload(&device)?;
    /// let b = Sequences::from(vec![b"CATTAGA"]).upload(&device)?;
    /// let distances = EditDistance::new().edit_distances_device(&a, &b)?;
    /// assert_eq!(distances.download()?, array![2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn edit_distances_device(
        &self,
        a: &DeviceSequences,
        b: &DeviceSequences,
    ) -> Result<DeviceArray<u32, Ix1>> {
        a.device().require_same(b.device(), EDIT_DISTANCES_DEVICE)?;
        input::require_pairs(EDIT_DISTANCES_DEVICE, a.len(), b.len())?;
        let out = a.device().alloc(a.len()).during(EDIT_DISTANCES_DEVICE)?;
        let mut out = DeviceArray::from_buffer(out, Ix1(a.len()))?;
        self.device(EDIT_DISTANCES_DEVICE, a, b, &mut out)?;
        Ok(out)
    }

    /// As [`edit_distances_device`](Self::edit_distances_device), but writes to `out`, N numbers on
    /// the same device. After an error its content is unspecified.
    ///
    /// # Errors
    /// The errors of [`edit_distances_device`](Self::edit_distances_device) and
    /// [`edit_distances_into`](Self::edit_distances_into).
    ///
    /// ```
    /// use gridstride::{Device, edit_distance::EditDistance, sequences::Sequences};
    /// use ndarray::{Array1, array};
    ///
    /// let device = Device::auto();
    /// let a = Sequences::from(vec![b"GATTACA"]).upload(&device)?;
    /// let b = Sequences::from(vec![b"CATTAGA"]).upload(&device)?;
    /// let mut out = device.upload(&Array1::zeros(1))?;
    /// EditDistance::new().edit_distances_device_into(&a, &b, &mut out)?;
    /// assert_eq!(out.download()?, array![2]);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn edit_distances_device_into(
        &self,
        a: &DeviceSequences,
        b: &DeviceSequences,
        out: &mut DeviceArray<u32, Ix1>,
    ) -> Result<()> {
        self.device("edit_distances_device_into", a, b, out)
    }

    fn host(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        a: &Sequences,
        b: &Sequences,
    ) -> Result<Array1<u32>> {
        input::require_pairs(operation, a.len(), b.len())?;
        let mut out = zeroed_lazily(a.len()).during(operation)?;
        self.host_into(operation, devices, a, b, &mut out)?;
        Ok(Array1::from_vec(out))
    }

    /// Writes the distances of as many sequences as there are places.
    fn host_into(
        &self,
        operation: &'static str,
        devices: &(impl DeviceSet + ?Sized),
        a: &Sequences,
        b: &Sequences,
        out: &mut [u32],
    ) -> Result<()> {
        let pairs = HostPairs::new(operation, self.limit, a.view(), b.view(), out)?;
        dispatch::host(devices.devices(), pairs).during(operation)
    }

    fn device(
        &self,
        operation: &'static str,
        a: &DeviceSequences,
        b: &DeviceSequences,
        out: &mut DeviceArray<u32, Ix1>,
    ) -> Result<()> {
        a.device().require_same(b.device(), operation)?;
        a.device().require_same(out.device(), operation)?;
        input::require_pairs(operation, a.len(), b.len())?;
        input::require_out(operation, a.len(), out.len())?;
        let _ordered = (a.device()).ordered_with(&[b.device(), out.device()])?;
        let pairs = DevicePairs {
            operation,
            limit: self.limit,
            a,
            b,
            out: out.inner_mut(),
        };
        dispatch::device(pairs).during(operation)
    }
}
