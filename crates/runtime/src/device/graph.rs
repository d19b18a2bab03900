//! Graphs: recorded work that is started again and again.

use super::capture::{Capturing, Kept, RecordedWork, Recorder, refuse};
use super::gate::LAUNCH;
use super::handle::Backend;
use super::{Device, cuda};
#[allow(unused_imports, reason = "for links")]
use crate::Error;
use crate::Result;
use std::fmt;

/// Recorded work, which [`launch`](Self::launch) starts: see [`Device::capture`].
pub struct Graph {
    work: Work,
    /// Dropped after the work.
    kept: Kept,
    /// The handle whose stream does the work. Keeps the GPU open.
    device: Device,
}

enum Work {
    Simulator(Vec<RecordedWork>),
    Cuda(cuda::Graph),
}

impl Device {
    /// Records what `work` starts on this handle's stream, and starts none of it: returns a graph,
    /// whose [launches](Graph::launch) do the work, and the result of `work`.
    ///
    /// A GPU's host needs about as long to start a graph as to start one kernel, however many
    /// kernels the graph has: that pays for sequences of calls on little data.
    ///
    /// - Arrays keep their places. Each launch reads the arguments' elements of that time, and
    ///   writes the results to the same arrays. Change an argument with
    ///   [`copy_from`](super::Buffer::copy_from) or with another call, and launch the graph again.
    /// - The arrays that `work` returns have unspecified elements until the first launch.
    /// - The graph keeps all memory that its work uses, temporary memory too, until it is dropped:
    ///   arrays may be dropped before. Their memory counts in the
    ///   [limit](Device::with_memory_limit) until then.
    /// - What is uploaded in `work` is uploaded at once, and in each launch, with the bytes that it
    ///   had in `work`.
    /// - Arrays on other streams may be used, as in other calls. Each launch is ordered with their
    ///   streams.
    ///
    /// Calls that wait for the device cannot be recorded: downloads, and calls that check elements
    /// or read the size of their result back. `docs/guide/streaming.md` lists those that can. Only
    /// what this thread starts is recorded. Other threads may use the handle meanwhile. Where `work`
    /// itself waits for tasks of [rayon](https://docs.rs/rayon) on one of rayon's threads, the thread
    /// may run other tasks, and what these start on the stream is recorded too.
    ///
    /// The graph also keeps the buffers of slices that kernels get which `work`
    /// [launches](Device::launch) itself, whenever the slices were made. It does not know the memory
    /// of slices that were made from other addresses, such as those in a buffer.
    ///
    /// Source: [CUDA graphs](https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/cuda-graphs.html),
    /// by stream capture. The simulator keeps a list of the launches and copies, and runs them one
    /// after the other.
    ///
    /// ```
    /// use gridstride::Device;
    /// use gridstride::matmul::MatMul;
    /// use ndarray::array;
    ///
    /// # fn main() -> gridstride::Result<()> {
    /// // On a GPU: Device::cuda(0)?
    /// let device = Device::simulator()?;
    /// let mut a = device.upload(&array![[1.0, 2.0], [3.0, 4.0]])?;
    /// // a⁴, by two kernels.
    /// let (mut graph, power) = device.capture(|| {
    ///     let square = MatMul::new().matmul_device(&a, &a)?;
    ///     MatMul::new().matmul_device(&square, &square)
    /// })?;
    /// graph.launch()?;
    /// assert_eq!(power.download()?, array![[199.0, 290.0], [435.0, 634.0]]);
    ///
    /// a.buffer_mut().copy_from(&[1.0, 1.0, 0.0, 1.0])?;
    /// graph.launch()?;
    /// assert_eq!(power.download()?, array![[1.0, 4.0], [0.0, 1.0]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Unavailable`] on the CPU, which has no graphs, [`Error::InvalidInput`] if `work`
    /// does what cannot be recorded, or if this thread already captures a graph, the error of
    /// `work`, [`Error::Driver`] if the GPU fails.
    pub fn capture<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<(Graph, R)> {
        let capturing = Capturing::begin(self)?;
        let result = work()?;
        let capture = capturing.end();
        if let Some(refused) = capture.refused {
            return Err(refused);
        }
        Ok((Graph::new(self, capture.recorder, capture.kept)?, result))
    }
}

impl Graph {
    fn new(device: &Device, recorder: Recorder, kept: Kept) -> Result<Graph> {
        let work = match recorder {
            Recorder::Simulator(steps) => Work::Simulator(steps),
            Recorder::Cuda(recording) => Work::Cuda(recording.end()?),
        };
        Ok(Graph {
            work,
            kept,
            device: device.clone(),
        })
    }

    /// Starts the recorded work on the stream of the captured handle. A GPU may still work when this
    /// returns. Launches run one after the other, in the order of the stream.
    ///
    /// Results are those of the calls themselves: the same kernels run, with the same arguments.
    ///
    /// In the simulator, the launch waits for the calls of other threads on the same simulator, and
    /// runs the work on threads of its own.
    ///
    /// # Errors
    /// [`Error::Driver`] if the GPU fails, [`Error::Simulation`] if the simulator finds a mistake,
    /// [`Error::InvalidInput`] while this thread captures the handle's work, and in the simulator on
    /// a thread of [rayon](https://docs.rs/rayon), such as in a parallel iterator: the launch could
    /// wait for a call that this thread has interrupted for it. [`Error::Unavailable`] if the threads
    /// for the simulator's work cannot be started.
    pub fn launch(&mut self) -> Result<()> {
        refuse(&self.device, LAUNCH)?;
        let others: Vec<_> = self.kept.others.iter().collect();
        let _ordered = self.device.ordered_with(&others)?;
        match (&mut self.work, &self.device.backend) {
            (Work::Simulator(steps), Backend::Simulator(simulator)) => {
                let steps = &*steps;
                simulator
                    .gate()
                    .launch(|| steps.iter().try_for_each(RecordedWork::run))
            }
            // SAFETY: the graph keeps all memory that the work uses. It is freed in the order of
            // this stream, or of streams that wait for it when `_ordered` is dropped.
            (Work::Cuda(graph), Backend::Cuda(gpu)) => unsafe { gpu.launch_graph(graph) },
            (Work::Simulator(_) | Work::Cuda(_), _) => Ok(()),
        }
    }

    /// Returns the handle whose stream does the work.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let (true, Backend::Cuda(gpu)) = (self.kept.has_sources(), &self.device.backend) {
            // The driver may still read the copies of the host's bytes, which are freed at once. If
            // waiting fails, the context is lost, and its copies with it.
            let _ = gpu.stream().synchronize();
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph(on {})", self.device)
    }
}
