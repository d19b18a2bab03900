//! Every form of every call that the page `calls.md` of the guide lists, with a file for each
//! kernel: on each device, on a stream too, every form gives what the plain call gives. The page's
//! table of what is deterministic is tested in `determinism`.

mod box_overlap;
mod determinism;
mod distances;
mod edit_distance;
mod matmul;
mod tensor_sketch;
mod time_series;

use gridstride::Device;

use test_support::{devices, several};

/// Calls `check` with each device, on its main stream and another one, and with two devices of its
/// kind.
fn everywhere(check: impl Fn(&Device, &[Device])) {
    for device in devices() {
        let set = several(&device, 2);
        check(&device, &set);
        let stream = device.stream().unwrap();
        check(&device.on(&stream).unwrap(), &set);
    }
}
