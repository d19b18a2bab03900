//! Pairs of overlapping boxes in slices, for results larger than memory.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use gridstride::Device;
use gridstride::box_overlap::{BoxOverlap, Coordinate, OverlapSlice};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::box_overlap::{pairs, with_algorithm};
use crate::boxes::{self, Boxes, Pairs, Sets};
use crate::call::{POLL, require_threads};
use crate::device::Devices;
use crate::error::{OrRaise, not_negative};
use crate::number::{Number, by_dtype};

const SLICES: &str = "box_overlap_slices";

/// An iterator over the pairs of consecutive boxes of the first set.
///
/// A thread of its own owns the boxes and the search, and finds the next slice meanwhile. It ends
/// when the iterator is dropped.
#[pyclass(frozen, name = "BoxSlices", module = "gridstride._core")]
pub struct PyBoxSlices {
    search: Mutex<Search>,
    /// The number of boxes of the second set.
    others: usize,
}

/// The thread of an iterator, and the slices that it sends.
struct Search {
    slices: Receiver<gridstride::Result<OverlapSlice>>,
    /// `None` after the end.
    thread: Option<JoinHandle<()>>,
}

impl Search {
    /// Returns what the thread sends next; `None` at the end.
    fn next<T>(
        &mut self,
        receive: impl Fn(&Search) -> Result<T, RecvTimeoutError>,
    ) -> PyResult<Option<T>> {
        loop {
            match receive(self) {
                Ok(sent) => return Ok(Some(sent)),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        Ok(None)
    }
}

/// The first box and the end of a slice, and the slice's pairs.
type Slice<'py> = (usize, usize, Pairs<'py>);

#[pymethods]
impl PyBoxSlices {
    fn __iter__(slices: Py<PyBoxSlices>) -> Py<PyBoxSlices> {
        slices
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Slice<'py>>> {
        require_threads()?;
        let next = py.detach(|| {
            let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
            search.next(|search| search.slices.recv_timeout(POLL))
        })?;
        let Some(slice) = next else {
            return Ok(None);
        };
        let OverlapSlice { rows, overlaps } = slice.or_raise(py, SLICES)?;
        Ok(Some((
            rows.start,
            rows.end,
            pairs(py, overlaps, self.others),
        )))
    }
}

#[pyfunction]
#[pyo3(signature = (set1, set2, max_pairs, *, algorithm, device))]
pub fn box_overlap_slices(
    py: Python<'_>,
    set1: &Bound<'_, PyAny>,
    set2: Option<&Bound<'_, PyAny>>,
    max_pairs: i128,
    algorithm: &str,
    device: Option<Devices>,
) -> PyResult<PyBoxSlices> {
    require_threads()?;
    let max_pairs = not_negative(SLICES, "max_pairs", max_pairs)?;
    let search = with_algorithm(SLICES, algorithm)?;
    let sets = boxes::read(SLICES, set1, set2)?;
    let devices = Devices::of(py, device);
    by_dtype!(
        sets.0,
        [f32, f64, i32],
        slices_of(py, search, &sets, max_pairs, devices)
    )
}

fn slices_of<T: Number + Coordinate>(
    py: Python<'_>,
    search: BoxOverlap,
    sets: &Sets<'_>,
    max_pairs: usize,
    devices: Vec<Device>,
) -> PyResult<PyBoxSlices> {
    let boxes = Boxes::<T>::of(sets)?;
    let others = boxes.others();
    let (ready, checked) = sync_channel(1);
    // Without a place, so that a slice is sent when it is taken: two are in memory at a time.
    let (sender, receiver) = sync_channel(0);
    let thread = thread::Builder::new().name("gridstride-slices".into());
    let thread = thread
        .spawn(move || {
            let set1 = boxes.set1.view();
            let slices = match &boxes.set2 {
                Some(set2) => search.slices(&devices, set1, set2.view(), max_pairs),
                None => search.self_slices(&devices, set1, max_pairs),
            };
            match slices {
                Ok(slices) => {
                    let _ = ready.send(Ok(()));
                    send_slices(&sender, slices);
                }
                // Fails if a signal has ended the wait.
                Err(error) => drop(ready.send(Err(error))),
            }
        })
        .map_err(|error| PyRuntimeError::new_err(format!("slices need a thread: {error}")))?;
    let mut search = Search {
        slices: receiver,
        thread: Some(thread),
    };
    // Wrong boxes are an error of this call, not of the first slice.
    let (search, is_ready) = py.detach(move || {
        let is_ready = search.next(|_| checked.recv_timeout(POLL));
        (search, is_ready)
    });
    is_ready?.transpose().or_raise(py, SLICES)?;
    Ok(PyBoxSlices {
        search: Mutex::new(search),
        others,
    })
}

/// Sends all slices, or the first error, until nobody receives them.
fn send_slices(
    sender: &SyncSender<gridstride::Result<OverlapSlice>>,
    mut slices: impl Iterator<Item = gridstride::Result<OverlapSlice>>,
) {
    while slices
        .next()
        .is_some_and(|slice| sender.send(slice).is_ok())
    {}
}
