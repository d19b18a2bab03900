//! Kernels over chunks of arrays, and of data that arrives in chunks.

use std::ops::Range;

use cuda_std::host::{Kernel, KernelArgs, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::device::{Element, Module, Stream};
use gridstride_runtime::error::During;
use gridstride_runtime::{Error, Result};

use super::columns::{ReadColumn, WriteColumn};
use super::flow::Work;
use super::slot::{ALIGNMENT, Slot};
use super::{Inputs, Outputs, Pipeline};

const MAP: &str = "map";
const MAP_CHUNKS: &str = "map_chunks";
const MAP_ITER: &str = "map_iter";

/// A chunk on a device, for which the caller launches kernels.
#[derive(Debug)]
pub struct Chunk<'a> {
    stream: &'a Stream,
    elements: Range<usize>,
}

impl Chunk<'_> {
    /// Returns the range of the chunk's elements in the whole data.
    pub fn elements(&self) -> Range<usize> {
        self.elements.clone()
    }

    /// Returns the number of elements: at least one.
    #[expect(clippy::len_without_is_empty, reason = "chunks are never empty")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns the chunk's stream. Work on it runs between the copies of this chunk.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// Starts a kernel on the chunk's stream.
    ///
    /// # Errors
    /// As [`Stream::launch`](gridstride_runtime::device::Stream::launch).
    ///
    /// # Safety
    /// See [`Device::launch`](gridstride_runtime::Device::launch). The slices of the chunk are valid until the
    /// stream is done with the chunk.
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        // SAFETY: the caller keeps the contract of `Device::launch`; the slot keeps the memory of
        // the slices until the stream is done with the chunk.
        unsafe { self.stream.launch(module, kernel, config, arguments) }
    }
}

impl Pipeline {
    /// Runs a kernel over arrays of the same length. Calls `launch` for each chunk, in order, with
    /// the slices of the inputs and outputs on the chunk's device. Elements of outputs that the
    /// kernel does not write are unspecified.
    ///
    /// Page-locked arrays are copied directly. Others are copied through the pipeline's page-locked
    /// memory by all threads.
    ///
    /// # Errors
    /// - [`Error::Shape`] for arrays of different lengths.
    /// - [`Error::InvalidInput`] if the pipeline has no device or no stream, or if its memory does
    ///   not suffice for one element of each array on each stream, or if an element has 0 bytes.
    /// - [`Error::Allocation`] if the memory cannot be allocated, or a device's limit does not leave
    ///   memory for one element of each array on each stream.
    /// - Those of `launch`.
    ///
    /// After an error, outputs are partly written.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::{LaunchConfig, Module};
    /// use gridstride::pipeline::Pipeline;
    ///
    /// /// Squares. Kernels are usually in a separate crate.
    /// #[kernel]
    /// unsafe fn square(from: DeviceSlice<f32>, to: DeviceSliceMut<f32>) {
    ///     for i in thread::grid_stride(from.len()) {
    ///         // SAFETY: below the lengths.
    ///         unsafe { to.set(i, from.at(i) * from.at(i)) };
    ///     }
    /// }
    /// # static MODULE: Module = Module::new("square", &[]);
    ///
    /// let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    /// let mut squares = vec![0.0; 1000];
    /// let pipeline = Pipeline::new(&Device::simulator()?).memory(4 << 10);
    /// pipeline.map((&numbers,), (&mut squares,), |chunk, (from,), (to,)| {
    ///     let config = LaunchConfig::for_len(chunk.len(), 128);
    ///     // SAFETY: the slices have the same length, and nothing else uses them.
    ///     unsafe { chunk.launch(&MODULE, &square, config, (from, to)) }
    /// })?;
    /// assert_eq!(squares[999], 998001.0);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn map<'a, I: Inputs<'a>, O: Outputs<'a>>(
        &self,
        inputs: I,
        outputs: O,
        launch: impl FnMut(&Chunk, I::Slices, O::Slices) -> Result<()>,
    ) -> Result<()> {
        self.arrays(MAP, inputs, outputs, launch)
    }

    /// As [`map`](Self::map), for another operation.
    pub(super) fn arrays<'a, I: Inputs<'a>, O: Outputs<'a>>(
        &self,
        operation: &'static str,
        inputs: I,
        outputs: O,
        mut launch: impl FnMut(&Chunk, I::Slices, O::Slices) -> Result<()>,
    ) -> Result<()> {
        let (inputs, outputs) = (inputs.columns(), outputs.columns());
        let sizes = inputs.iter().map(|column| column.size());
        let sizes = sizes.chain(outputs.iter().map(|column| column.size()));
        let (lengths, sizes): (Vec<usize>, Vec<usize>) = sizes.unzip();
        require_same_length(operation, &lengths)?;
        let layout = Layout::new(self, operation, sizes)?;
        if lengths[0] == 0 {
            return Ok(());
        }
        let count = inputs.len();
        let mut launch = |chunk: &Chunk, addresses: &[*mut u8]| {
            let (from, to) = addresses.split_at(count);
            // SAFETY: the layout has room for the chunk's elements of each column, and nothing else
            // uses the memory before the stream is done with the chunk.
            let (from, to) = unsafe { (I::slices(from, chunk.len()), O::slices(to, chunk.len())) };
            launch(chunk, from, to)
        };
        let mut work = ArrayWork {
            length: lengths[0],
            next: 0,
            inputs,
            outputs,
            launch: &mut launch,
            layout,
        };
        self.run(operation, work.layout.slot_bytes, &mut work)
    }

    /// Runs a kernel over data that arrives in chunks, within the pipeline's memory.
    ///
    /// `fill` writes the next elements to the front of a slice and returns their number, 0 at the
    /// end. `launch` is called for each chunk in order. `take` gets the results in order, one for
    /// each element.
    ///
    /// # Errors
    /// The errors of [`map`](Self::map) but [`Error::Shape`], [`Error::InvalidInput`] if `fill` returns
    /// a number above the length of its slice, and those of the closures.
    pub fn map_chunks<T: Element, U: Element, E: From<Error>>(
        &self,
        fill: impl FnMut(&mut [T]) -> Result<usize, E>,
        launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        take: impl FnMut(&[U]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.chunks(MAP_CHUNKS, fill, launch, take)
    }

    /// As [`map_chunks`](Self::map_chunks), for another operation.
    fn chunks<T: Element, U: Element, E: From<Error>>(
        &self,
        operation: &'static str,
        mut fill: impl FnMut(&mut [T]) -> Result<usize, E>,
        mut launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        mut take: impl FnMut(&[U]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut work = ChunkWork {
            operation,
            layout: Layout::new(self, operation, vec![size_of::<T>(), size_of::<U>()])?,
            next: 0,
            fill: &mut |bytes| fill(bytemuck::cast_slice_mut(bytes)),
            launch: &mut |chunk, addresses| {
                let (from, to) = (addresses[0].cast_const().cast(), addresses[1].cast());
                // SAFETY: the layout has room for the chunk's elements of both, and nothing else
                // uses the memory before the stream is done with the chunk.
                let (from, to) = unsafe {
                    let from = DeviceSlice::from_raw_parts(from, chunk.len());
                    (from, DeviceSliceMut::from_raw_parts(to, chunk.len()))
                };
                launch(chunk, from, to)
            },
            take: &mut |bytes| take(bytemuck::cast_slice(bytes)),
        };
        self.run(operation, work.layout.slot_bytes, &mut work)
    }

    /// As [`map_chunks`](Self::map_chunks), over the elements of an iterator.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # use gridstride::Device;
    /// # use gridstride::device::{LaunchConfig, Module};
    /// # use gridstride::pipeline::Pipeline;
    /// # #[kernel]
    /// # unsafe fn square(from: DeviceSlice<f32>, to: DeviceSliceMut<f32>) {
    /// #     for i in thread::grid_stride(from.len()) {
    /// #         unsafe { to.set(i, from.at(i) * from.at(i)) };
    /// #     }
    /// # }
    /// # static MODULE: Module = Module::new("square", &[]);
    /// let pipeline = Pipeline::new(&Device::simulator()?).memory(4 << 10);
    /// let mut sum = 0.0;
    /// pipeline.map_iter(
    ///     (0..1000).map(|i| i as f32),
    ///     |chunk, from, to| {
    ///         let config = LaunchConfig::for_len(chunk.len(), 128);
    ///         // SAFETY: the slices have the same length, and nothing else uses them.
    ///         unsafe { chunk.launch(&MODULE, &square, config, (from, to)) }
    ///     },
    ///     |squares: &[f32]| {
    ///         sum += squares.iter().copied().map(f64::from).sum::<f64>();
    ///         Ok(())
    ///     },
    /// )?;
    /// assert_eq!(sum, 332_833_500.0);
    /// # Ok::<(), gridstride::Error>(())
    /// ```
    pub fn map_iter<T: Element, U: Element>(
        &self,
        elements: impl IntoIterator<Item = T>,
        launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        take: impl FnMut(&[U]) -> Result<()>,
    ) -> Result<()> {
        let mut elements = elements.into_iter().fuse();
        let fill = |chunk: &mut [T]| {
            let elements = chunk.iter_mut().zip(&mut elements);
            Ok(elements.map(|(place, element)| *place = element).count())
        };
        self.chunks(MAP_ITER, fill, launch, take)
    }
}

pub(super) fn require_same_length(operation: &'static str, lengths: &[usize]) -> Result<()> {
    if lengths.iter().all(|&length| length == lengths[0]) {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the arrays are not equally long: {lengths:?}"),
    })
}

/// The places of a chunk's columns in a slot.
struct Layout {
    slot_bytes: usize,
    /// The most elements of a chunk.
    elements: usize,
    /// Bytes of an element of each column.
    sizes: Vec<usize>,
    /// The first byte of each column.
    starts: Vec<usize>,
}

impl Layout {
    fn new(pipeline: &Pipeline, operation: &'static str, sizes: Vec<usize>) -> Result<Layout> {
        pipeline.require_streams(operation)?;
        if sizes.contains(&0) {
            return Err(Error::input(
                operation,
                "elements of 0 bytes cannot be copied",
            ));
        }
        let gaps = ALIGNMENT * (sizes.len() - 1);
        let row = sizes.iter().sum::<usize>();
        let (memory, streams, least) = (pipeline.memory, pipeline.streams, gaps + row);
        if memory / streams < least {
            let message = format!(
                "{memory} bytes of memory for {streams} streams do not suffice: each needs {least} for an element of \
                 each array",
            );
            return Err(Error::input(operation, message));
        }
        // No overflow: the memory has as many.
        let usable = pipeline.usable_memory(streams * least).during(operation)?;
        let slot_bytes = usable / streams;
        let elements = (slot_bytes - gaps) / row;
        let mut end = 0usize;
        let start = |size: &usize| {
            // The end of the last column is not rounded up: it may be that of the address space.
            let start = end.next_multiple_of(ALIGNMENT);
            end = start + size * elements;
            start
        };
        Ok(Layout {
            slot_bytes,
            elements,
            starts: sizes.iter().map(start).collect(),
            sizes,
        })
    }

    /// Returns the bytes of a column's first elements.
    fn bytes(&self, column: usize, elements: usize) -> Range<usize> {
        let start = self.starts[column];
        start..start + elements * self.sizes[column]
    }

    fn launch(&self, slot: &mut Slot, elements: Range<usize>, launch: Launch) -> Result<()> {
        let address = |&start: &usize| slot.address(start);
        let addresses: Vec<_> = self.starts.iter().map(address).collect();
        let stream = &slot.stream;
        launch(&Chunk { stream, elements }, &addresses)
    }
}

/// Launches the kernels of a chunk, whose columns are at these addresses.
type Launch<'a> = &'a mut dyn FnMut(&Chunk, &[*mut u8]) -> Result<()>;

/// The work of [`Pipeline::map`].
struct ArrayWork<'a, 'b> {
    layout: Layout,
    length: usize,
    /// The first element that has not been started.
    next: usize,
    inputs: Vec<Box<dyn ReadColumn + 'a>>,
    outputs: Vec<Box<dyn WriteColumn + 'a>>,
    launch: Launch<'b>,
}

impl Work for ArrayWork<'_, '_> {
    type Ticket = Range<usize>;
    type Error = Error;

    const IN_ORDER: bool = false;

    fn start(&mut self, slot: &mut Slot) -> Result<Option<Range<usize>>> {
        let end = (self.next + self.layout.elements).min(self.length);
        let chunk = self.next..end;
        if chunk.is_empty() {
            return Ok(None);
        }
        self.next = end;
        for (column, input) in self.inputs.iter().enumerate() {
            let bytes = self.layout.bytes(column, chunk.len());
            let start = bytes.start;
            match input.locked(chunk.clone()) {
                // SAFETY: the array is borrowed until the pipeline has waited for all slots.
                Some(source) => unsafe {
                    slot.on_device
                        .start_copy_from(slot.stream.device(), start, source)?
                },
                None => {
                    input.pack(chunk.clone(), slot.on_host_mut(bytes.clone()));
                    // SAFETY: the host's bytes are not used until the stream is done with the
                    // chunk.
                    unsafe { slot.send(bytes)? }
                }
            }
        }
        self.layout.launch(slot, chunk.clone(), self.launch)?;
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let bytes = self.layout.bytes(self.inputs.len() + index, chunk.len());
            match output.locked(chunk.clone()) {
                // SAFETY: the array is borrowed until the pipeline has waited for all slots, and no
                // other chunk has these elements.
                Some(target) => unsafe {
                    slot.on_device
                        .start_copy_to(slot.stream.device(), bytes.start, target)?
                },
                // SAFETY: the host's bytes are not used until the stream is done with the chunk.
                None => unsafe { slot.fetch(bytes)? },
            }
        }
        Ok(Some(chunk))
    }

    fn finish(&mut self, slot: &mut Slot, chunk: Range<usize>) -> Result<()> {
        for (index, output) in self.outputs.iter_mut().enumerate() {
            if output.locked(chunk.clone()).is_none() {
                let bytes = self.layout.bytes(self.inputs.len() + index, chunk.len());
                output.unpack(chunk.clone(), slot.on_host(bytes));
            }
        }
        Ok(())
    }
}

/// The work of [`Pipeline::map_chunks`].
struct ChunkWork<'a, E> {
    operation: &'static str,
    layout: Layout,
    next: usize,
    fill: &'a mut dyn FnMut(&mut [u8]) -> Result<usize, E>,
    launch: Launch<'a>,
    take: &'a mut dyn FnMut(&[u8]) -> Result<(), E>,
}

impl<E: From<Error>> Work for ChunkWork<'_, E> {
    type Ticket = usize;
    type Error = E;

    const IN_ORDER: bool = true;

    fn start(&mut self, slot: &mut Slot) -> Result<Option<usize>, E> {
        let room = self.layout.elements;
        let count = (self.fill)(slot.on_host_mut(self.layout.bytes(0, room)))?;
        if count > room {
            let message = format!("{count} elements were written to a slice of {room}");
            return Err(Error::input(self.operation, message).into());
        }
        if count == 0 {
            return Ok(None);
        }
        // SAFETY: the host's bytes are not used until the stream is done with the chunk.
        unsafe { slot.send(self.layout.bytes(0, count))? };
        let elements = self.next..self.next + count;
        self.next = elements.end;
        self.layout.launch(slot, elements, self.launch)?;
        // SAFETY: the host's bytes are not used until the stream is done with the chunk.
        unsafe { slot.fetch(self.layout.bytes(1, count))? };
        Ok(Some(count))
    }

    fn finish(&mut self, slot: &mut Slot, count: usize) -> Result<(), E> {
        (self.take)(slot.on_host(self.layout.bytes(1, count)))
    }
}
