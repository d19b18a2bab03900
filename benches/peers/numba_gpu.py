"""What the programs in Numba CUDA share: `cuda` and `nb`, and times by events."""

import time
import warnings

import numpy as np

if not hasattr(np, "row_stack"):  # removed in NumPy 2.5, and still used by Numba
    np.row_stack = np.vstack
import numba as nb
from numba import config, cuda

warnings.filterwarnings("ignore")
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

# Whether kernels run in Numba's simulator, whose events tell no time.
SIMULATED = bool(config.ENABLE_CUDASIM)


def elapsed_ms(launch):
    """The time of what `launch` puts on the default stream."""
    if SIMULATED:
        start = time.perf_counter()
        launch()
        return (time.perf_counter() - start) * 1e3
    start, end = cuda.event(), cuda.event()
    start.record()
    launch()
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(start, end)
