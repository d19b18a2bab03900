//! Streams whose work counts as work of the main stream.

use anyhow::Result;
use gridstride::Device;
use gridstride::device::{Event, Stream};

/// Streams whose work begins at a point of the main stream, which later waits for all of them.
pub struct Streams<'a> {
    device: &'a Device,
    start: Event,
    /// Each with the event of its end.
    streams: Vec<(Stream, Event)>,
}

impl<'a> Streams<'a> {
    /// Makes `count` streams, at least one.
    pub fn new(device: &'a Device, count: usize) -> Result<Streams<'a>> {
        let streams = (0..count.max(1)).map(|_| Ok((device.stream()?, device.event()?)));
        Ok(Streams {
            device,
            start: device.event()?,
            streams: streams.collect::<Result<_>>()?,
        })
    }

    /// Calls `launch` for 0, 1, … with the streams in turn.
    pub fn launch_in_turn(
        &self,
        launches: usize,
        mut launch: impl FnMut(usize, &Stream) -> Result<()>,
    ) -> Result<()> {
        self.device.record(&self.start)?;
        for (stream, _) in &self.streams {
            stream.wait(&self.start)?;
        }
        for (i, (stream, _)) in (0..launches).zip(self.streams.iter().cycle()) {
            launch(i, stream)?;
        }
        for (stream, end) in &self.streams {
            stream.record(end)?;
            self.device.wait(end)?;
        }
        Ok(())
    }
}
