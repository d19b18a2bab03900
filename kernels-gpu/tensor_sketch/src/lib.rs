//! The GPU kernels of gridstride's tensor sketch
