//! Public calls on random arguments, against their references. Each function draws arguments, makes
//! a call on a device, and panics if the result is wrong.

mod box_overlap;
mod distances;
mod edit_distance;
mod matmul;
mod tensor_sketch;
mod time_series;

pub use box_overlap::box_overlap;
pub use distances::distances;
pub use edit_distance::edit_distance;
pub use matmul::matmul;
pub use tensor_sketch::tensor_sketch;
pub use time_series::time_series;

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::device::DeviceKind;

/// A function of this module.
pub type Check = fn(&Device, &mut Unstructured) -> Result<()>;

/// Every function of this module.
pub const ALL: [Check; 6] = [
    box_overlap,
    distances,
    edit_distance,
    matmul,
    tensor_sketch,
    time_series,
];

/// Chooses the larger size on the CPU.
fn most(device: &Device, on_cpu: usize, elsewhere: usize) -> usize {
    match device.kind() {
        DeviceKind::Cpu => on_cpu,
        _ => elsewhere,
    }
}
