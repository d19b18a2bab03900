//! Forwards the CUDA driver functions to libcuda at run time, so that one binary runs with and without a driver
