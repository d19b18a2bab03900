//! Runs GPU kernels written with cuda_std on the CPU and finds their synchronisation mistakes
