//! Distances of all pairs of rows, on every device.

mod adversarial;
mod calls;
mod devices;
mod nearest;
mod properties;
mod slide;
