//! Kernels over chunks of arrays, and of data that arrives piece by piece.

use std::marker::PhantomData;
use std::ops::Range;

use cuda_std::host::{Kernel, KernelArgs, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};

use super::columns::{ReadColumn, WriteColumn};
use super::flow::Work;
use super::lane::{ALIGNMENT, Lane};
use super::{Inputs, Outputs, Pipeline};
use crate::device::{Element, Module, Stream};
use crate::{Error, Result};

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
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
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
    /// As [`Device::launch`](crate::Device::launch).
    ///
    /// # Safety
    /// As there. The slices of the chunk are valid until the stream is done with the chunk.
    pub unsafe fn launch<A: KernelArgs>(
        &self,
        module: &'static Module,
        kernel: &Kernel<A>,
        config: LaunchConfig,
        arguments: A,
    ) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.stream.launch(module, kernel, config, arguments) }
    }
}

impl Pipeline {
    /// Runs a kernel over arrays of the same length. `launch` is called for each chunk, in order, with the slices of the
    /// inputs and outputs on the chunk's device. Elements of outputs that the kernel does not write are unspecified.
    ///
    /// Page-locked arrays are copied directly. Others are copied to and from the pipeline's page-locked memory by all
    /// threads.
    ///
    /// # Errors
    /// - [`Error::Shape`] for arrays of different lengths.
    /// - [`Error::InvalidInput`] if the pipeline has no device or no stream, or its memory, or what a device's limit
    ///   leaves of it, does not suffice for one element of each array on each stream.
    /// - [`Error::Allocation`] if the memory cannot be allocated.
    /// - Those of `launch`.
    ///
    /// After an error, outputs are written in part.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::{LaunchConfig, Module};
    /// use gridstride::pipeline::Pipeline;
    ///
    /// /// Squares, in a kernel crate of your own.
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
    ///     // SAFETY: as many places as numbers, and nobody else uses them.
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

    /// [`map`](Self::map) for a call of another name.
    pub(super) fn arrays<'a, I: Inputs<'a>, O: Outputs<'a>>(
        &self,
        operation: &'static str,
        inputs: I,
        outputs: O,
        mut launch: impl FnMut(&Chunk, I::Slices, O::Slices) -> Result<()>,
    ) -> Result<()> {
        let (inputs, outputs) = (inputs.columns(), outputs.columns());
        let lengths = inputs.iter().map(|column| column.len());
        let lengths: Vec<usize> = lengths
            .chain(outputs.iter().map(|column| column.len()))
            .collect();
        require_same_length(operation, &lengths)?;
        let sizes = inputs.iter().map(|column| column.element_bytes());
        let sizes = sizes.chain(outputs.iter().map(|column| column.element_bytes()));
        let layout = Layout::new(self, operation, sizes.collect())?;
        if lengths[0] == 0 {
            return Ok(());
        }
        let launch = |chunk: &Chunk, addresses: (&[*mut u8], &[*mut u8])| {
            let length = chunk.len();
            // SAFETY: the layout has room for `length` elements of each column, and nothing else uses it before the
            // stream is done with the chunk.
            let (from, to) = unsafe {
                (
                    I::slices(addresses.0, length),
                    O::slices(addresses.1, length),
                )
            };
            launch(chunk, from, to)
        };
        let mut work = OfArrays {
            length: lengths[0],
            next: 0,
            inputs,
            outputs,
            launch,
            layout,
        };
        self.run(operation, work.layout.lane_bytes, &mut work)
    }

    /// Runs a kernel over data that arrives piece by piece, within the pipeline's memory.
    ///
    /// `fill` writes the next elements to the front of a slice and returns their number, 0 at the end. `launch` is called
    /// for each chunk in order. `take` gets the results in order, one for each element.
    ///
    /// # Errors
    /// Those of [`map`](Self::map) but [`Error::Shape`], [`Error::InvalidInput`] if `fill` returns a number above the
    /// length of its slice, and those of the closures.
    pub fn map_chunks<T: Element, U: Element, E: From<Error>>(
        &self,
        fill: impl FnMut(&mut [T]) -> Result<usize, E>,
        launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        take: impl FnMut(&[U]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.chunks(MAP_CHUNKS, fill, launch, take)
    }

    /// [`map_chunks`](Self::map_chunks) for a call of another name.
    fn chunks<T: Element, U: Element, E: From<Error>>(
        &self,
        operation: &'static str,
        fill: impl FnMut(&mut [T]) -> Result<usize, E>,
        launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        take: impl FnMut(&[U]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut work = OfChunks {
            operation,
            layout: Layout::new(self, operation, vec![size_of::<T>(), size_of::<U>()])?,
            next: 0,
            fill,
            launch,
            take,
            types: PhantomData::<(T, U)>,
        };
        self.run(operation, work.layout.lane_bytes, &mut work)
    }

    /// Runs a kernel over the elements of an iterator: see [`map_chunks`](Self::map_chunks).
    ///
    /// # Errors
    /// Those of [`map_chunks`](Self::map_chunks).
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
    ///         // SAFETY: as many places as numbers, and nobody else uses them.
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
        let fill = |places: &mut [T]| {
            let places = places.iter_mut().zip(&mut elements);
            Ok(places.map(|(place, element)| *place = element).count())
        };
        self.chunks(MAP_ITER, fill, launch, take)
    }
}

/// Fails unless all lengths are equal.
pub(super) fn require_same_length(operation: &'static str, lengths: &[usize]) -> Result<()> {
    if lengths.iter().all(|&length| length == lengths[0]) {
        return Ok(());
    }
    Err(Error::Shape {
        operation,
        message: format!("the arrays are not equally long: {lengths:?}"),
    })
}

/// The places of a chunk's columns in a lane.
struct Layout {
    lane_bytes: usize,
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
        let (memory, streams) = (pipeline.usable_memory(), pipeline.streams);
        let lane_bytes = memory / streams;
        let gaps = ALIGNMENT * (sizes.len() - 1);
        let of_element = sizes.iter().sum::<usize>().max(1);
        let elements = lane_bytes.saturating_sub(gaps) / of_element;
        if elements == 0 {
            let of = match memory < pipeline.memory {
                true => "that a device's limit leaves",
                false => "of memory",
            };
            let message = format!(
                "{memory} bytes {of} for {streams} streams do not suffice: each needs {} for an element of each array",
                gaps + of_element,
            );
            return Err(Error::input(operation, message));
        }
        let mut next = 0;
        let start = |size: &usize| {
            let start = next;
            next = (start + size * elements).next_multiple_of(ALIGNMENT);
            start
        };
        Ok(Layout {
            lane_bytes,
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

    /// Returns the addresses of all columns on the device.
    fn addresses(&self, lane: &mut Lane) -> Vec<*mut u8> {
        self.starts
            .iter()
            .map(|&start| lane.address(start))
            .collect()
    }
}

/// The work of [`Pipeline::map`].
struct OfArrays<'a, F> {
    layout: Layout,
    length: usize,
    /// The first element that has not been started.
    next: usize,
    inputs: Vec<Box<dyn ReadColumn + 'a>>,
    outputs: Vec<Box<dyn WriteColumn + 'a>>,
    launch: F,
}

impl<F> Work for OfArrays<'_, F>
where
    F: FnMut(&Chunk, (&[*mut u8], &[*mut u8])) -> Result<()>,
{
    type Ticket = Range<usize>;
    type Error = Error;

    const IN_ORDER: bool = false;

    fn start(&mut self, lane: &mut Lane) -> Result<Option<Range<usize>>> {
        let end = (self.next + self.layout.elements).min(self.length);
        let part = self.next..end;
        if part.is_empty() {
            return Ok(None);
        }
        self.next = end;
        for (column, input) in self.inputs.iter().enumerate() {
            let bytes = self.layout.bytes(column, part.len());
            match input.locked(part.clone()) {
                // SAFETY: borrowed until the pipeline has waited for all lanes.
                Some(source) => unsafe {
                    let stream = lane.stream.device();
                    lane.on_device
                        .start_copy_from(stream, bytes.start, source)?
                },
                None => {
                    input.pack(part.clone(), lane.on_host_mut(bytes.clone()));
                    // SAFETY: the lane is left alone until its stream has been waited for.
                    unsafe { lane.send(bytes)? }
                }
            }
        }
        let addresses = self.layout.addresses(lane);
        let chunk = Chunk {
            stream: &lane.stream,
            elements: part.clone(),
        };
        (self.launch)(&chunk, addresses.split_at(self.inputs.len()))?;
        for (index, output) in self.outputs.iter_mut().enumerate() {
            let bytes = self.layout.bytes(self.inputs.len() + index, part.len());
            match output.locked(part.clone()) {
                // SAFETY: borrowed until the pipeline has waited for all lanes, and of no other chunk.
                Some(target) => unsafe {
                    let stream = lane.stream.device();
                    lane.on_device.start_copy_to(stream, bytes.start, target)?
                },
                // SAFETY: the lane is left alone until its stream has been waited for.
                None => unsafe { lane.fetch(bytes)? },
            }
        }
        Ok(Some(part))
    }

    fn finish(&mut self, lane: &mut Lane, part: Range<usize>) -> Result<()> {
        for (index, output) in self.outputs.iter_mut().enumerate() {
            if output.locked(part.clone()).is_none() {
                let bytes = self.layout.bytes(self.inputs.len() + index, part.len());
                output.unpack(part.clone(), lane.on_host(bytes));
            }
        }
        Ok(())
    }
}

/// The work of [`Pipeline::map_chunks`].
struct OfChunks<T, U, Fill, Launch, Take> {
    operation: &'static str,
    layout: Layout,
    next: usize,
    fill: Fill,
    launch: Launch,
    take: Take,
    types: PhantomData<(T, U)>,
}

impl<T, U, E, Fill, Launch, Take> Work for OfChunks<T, U, Fill, Launch, Take>
where
    T: Element,
    U: Element,
    E: From<Error>,
    Fill: FnMut(&mut [T]) -> Result<usize, E>,
    Launch: FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
    Take: FnMut(&[U]) -> Result<(), E>,
{
    type Ticket = usize;
    type Error = E;

    const IN_ORDER: bool = true;

    fn start(&mut self, lane: &mut Lane) -> Result<Option<usize>, E> {
        let room = self.layout.elements;
        let places = lane.on_host_mut(self.layout.bytes(0, room));
        let count = (self.fill)(bytemuck::cast_slice_mut(places))?;
        if count > room {
            let message = format!("{count} elements were written to a slice of {room}");
            return Err(Error::input(self.operation, message).into());
        }
        if count == 0 {
            return Ok(None);
        }
        let bytes = self.layout.bytes(0, count);
        // SAFETY: the lane is left alone until its stream has been waited for.
        unsafe { lane.send(bytes)? };
        let addresses = self.layout.addresses(lane);
        let chunk = Chunk {
            stream: &lane.stream,
            elements: self.next..self.next + count,
        };
        self.next += count;
        // SAFETY: the layout has room for `count` elements of both, and nothing else uses it before the stream is done
        // with the chunk.
        let (from, to) = unsafe {
            (
                DeviceSlice::from_raw_parts(addresses[0].cast_const().cast(), count),
                DeviceSliceMut::from_raw_parts(addresses[1].cast(), count),
            )
        };
        (self.launch)(&chunk, from, to)?;
        let bytes = self.layout.bytes(1, count);
        // SAFETY: as above.
        unsafe { lane.fetch(bytes)? };
        Ok(Some(count))
    }

    fn finish(&mut self, lane: &mut Lane, count: usize) -> Result<(), E> {
        let results = lane.on_host(self.layout.bytes(1, count));
        (self.take)(bytemuck::cast_slice(results))
    }
}
