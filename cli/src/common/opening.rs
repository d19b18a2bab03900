//! Devices that are opened while inputs are read.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use gridstride::Device;
use program::report::timed;

use super::device_names::DeviceNames;

/// The result of reading, the devices, and the time of each.
pub struct Opened<V> {
    pub value: V,
    pub devices: Vec<Device>,
    pub reading: Duration,
    pub opening: Duration,
}

/// Opens devices, each with a limit of `memory` MiB if there is one, while a thread reads.
///
/// # Errors
/// The error of a device comes at once: reading is not waited for, since stdin may stay open.
pub fn open_while_reading<V: Send + 'static>(
    names: &DeviceNames,
    memory: Option<u32>,
    read: impl FnOnce() -> Result<V> + Send + 'static,
) -> Result<Opened<V>> {
    let thread = thread::Builder::new().name("reading".into()).spawn(|| {
        let mut took = Duration::ZERO;
        let value = timed(&mut took, read);
        (took, value)
    });
    let thread = thread.context("reading needs a thread")?;
    let mut opening = Duration::ZERO;
    let devices = timed(&mut opening, || names.open(memory))?;
    let (reading, value) = thread.join().expect("reading does not panic");
    Ok(Opened {
        value: value?,
        devices,
        reading,
        opening,
    })
}
