//! Slide distances: of sequences, by the windows that two sequences have in common.

mod calls;
pub mod cpu;
pub mod gpu;
pub mod input;
mod partition;
mod windows;

pub use calls::{slide_distances, slide_paired};
pub use windows::{DeviceWindows, Windows};
