//! Kernels over chunks of arrays, and of what comes bit by bit.

use std::ops::Range;

use cuda_std::host::{Kernel, KernelArgs, LaunchConfig};
use cuda_std::{DeviceSlice, DeviceSliceMut};

use super::add::not_equally_long;
use super::columns::{ReadColumn, WriteColumn};
use super::flow::Work;
use super::lane::{ALIGNMENT, Lane};
use super::{Inputs, Outputs, Pipeline, STREAM};
use crate::device::{Element, Module, Stream};
use crate::{Error, Result};

/// A chunk on a device, for which kernels are to be launched.
#[derive(Debug)]
pub struct Chunk<'a> {
    stream: &'a Stream,
    elements: Range<usize>,
}

impl Chunk<'_> {
    /// Its elements, counted from the first one of all.
    pub fn elements(&self) -> Range<usize> {
        self.elements.clone()
    }

    /// How many there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The chunk's stream. What is put on it runs between the copies of this chunk.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// Starts a kernel on the chunk's stream.
    ///
    /// # Errors
    /// As [`Device::launch`](crate::Device::launch).
    ///
    /// # Safety
    /// As there. The chunk's own slices are valid until the stream is done with it.
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
    /// Runs a kernel over arrays that are equally long: `launch` is called for each chunk, with the slices of the inputs
    /// and outputs that it has on the device. Elements of outputs that the kernel does not write are left unspecified.
    ///
    /// Page-locked arrays are copied directly; others go through the pipeline's own memory, which takes all threads.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of different lengths, [`Error::InvalidInput`] if the pipeline's memory, or what a
    /// device's limit leaves of it, does not suffice for one element of each on each stream, [`Error::Allocation`] if it
    /// cannot be had, and what `launch` returns. Then outputs are written in part.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use gridstride::Device;
    /// use gridstride::device::{LaunchConfig, Module};
    /// use gridstride::stream::Pipeline;
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
        let (inputs, outputs) = (inputs.columns(), outputs.columns());
        let lengths: Vec<usize> = (inputs.iter().map(|column| column.len()))
            .chain(outputs.iter().map(|column| column.len()))
            .collect();
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Err(not_equally_long(&lengths));
        }
        let sizes = inputs.iter().map(|column| column.element_bytes());
        let sizes = sizes.chain(outputs.iter().map(|column| column.element_bytes()));
        let layout = Layout::new(self, sizes.collect())?;
        if lengths[0] == 0 {
            return Ok(());
        }
        let mut slices = launch;
        self.run(
            layout.lane_bytes,
            &mut OfArrays {
                layout,
                length: lengths[0],
                next: 0,
                inputs,
                outputs,
                launch: |chunk: &Chunk, addresses: (&[*mut u8], &[*mut u8])| {
                    let length = chunk.len();
                    // SAFETY: the layout has room for so many elements of each column; nothing else uses it before the
                    // stream is done with the chunk.
                    let (from, to) = unsafe {
                        (
                            I::slices(addresses.0, length),
                            O::slices(addresses.1, length),
                        )
                    };
                    slices(chunk, from, to)
                },
            },
        )
    }

    /// Runs a kernel over what comes bit by bit: `fill` writes the next elements to the slice that it gets, up to all of
    /// it, and returns how many there are, 0 at the end; `launch` is called for each chunk, and `take` with the results,
    /// of which there are as many, in order. No more is kept than the pipeline's memory.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the pipeline's memory does not suffice for one element on each stream, or `fill` claims
    /// to have written more than there is room for; [`Error::Allocation`] if the memory cannot be had; and what the
    /// functions return.
    pub fn map_chunks<T: Element, U: Element, E: From<Error>>(
        &self,
        fill: impl FnMut(&mut [T]) -> Result<usize, E>,
        launch: impl FnMut(&Chunk, DeviceSlice<T>, DeviceSliceMut<U>) -> Result<()>,
        take: impl FnMut(&[U]) -> Result<(), E>,
    ) -> Result<(), E> {
        let layout = Layout::new(self, vec![size_of::<T>(), size_of::<U>()])?;
        self.run(
            layout.lane_bytes,
            &mut OfChunks {
                layout,
                next: 0,
                fill,
                launch,
                take,
                types: std::marker::PhantomData::<(T, U)>,
            },
        )
    }

    /// [`map_chunks`](Self::map_chunks) of what an iterator gives.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # use gridstride::Device;
    /// # use gridstride::device::{LaunchConfig, Module};
    /// # use gridstride::stream::Pipeline;
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
        self.map_chunks(fill, launch, take)
    }
}

/// Where the columns of a chunk are in a lane.
struct Layout {
    lane_bytes: usize,
    /// Elements of a chunk at most.
    elements: usize,
    /// Bytes of an element of each column.
    sizes: Vec<usize>,
    /// The first byte of each column.
    starts: Vec<usize>,
}

impl Layout {
    fn new(pipeline: &Pipeline, sizes: Vec<usize>) -> Result<Layout> {
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
            return Err(Error::input(STREAM, message));
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

    /// The bytes of a column's first elements.
    fn bytes(&self, column: usize, elements: usize) -> Range<usize> {
        let start = self.starts[column];
        start..start + elements * self.sizes[column]
    }

    /// The addresses of all columns on the device.
    fn addresses(&self, lane: &mut Lane) -> Vec<*mut u8> {
        self.starts
            .iter()
            .map(|&start| lane.address(start))
            .collect()
    }
}

/// [`Pipeline::map`] on its way.
struct OfArrays<'a, F> {
    layout: Layout,
    length: usize,
    /// The first element that is not on its way.
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
                    lane.stream
                        .copy_in(source, &mut lane.on_device, bytes.start)?
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
                    lane.stream.copy_out(&lane.on_device, bytes.start, target)?
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

/// [`Pipeline::map_chunks`] on its way.
struct OfChunks<T, U, Fill, Launch, Take> {
    layout: Layout,
    next: usize,
    fill: Fill,
    launch: Launch,
    take: Take,
    types: std::marker::PhantomData<(T, U)>,
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

    fn start(&mut self, lane: &mut Lane) -> Result<Option<usize>, E> {
        let room = self.layout.elements;
        let places = lane.on_host_mut(self.layout.bytes(0, room));
        let count = (self.fill)(bytemuck::cast_slice_mut(places))?;
        if count > room {
            let message = format!("{count} elements were written to a slice of {room}");
            return Err(Error::input(STREAM, message).into());
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
        // SAFETY: the layout has room for so many elements of both; nothing else uses it before the stream is done with
        // the chunk.
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
