"""GPU kernels written in Rust, over numpy arrays.

A call runs natively on the CPU, on an NVIDIA GPU, or in a simulator that runs the GPU's kernels on the CPU: the
device is an argument. Without one, calls run on the first GPU, or else on the CPU. GPUs need their driver, but no
CUDA toolkit.

>>> import numpy as np
>>> import gridstride
>>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
>>> gridstride.matmul(a, a.T)
array([[ 5., 11.],
       [11., 25.]])
"""

from . import fasta, tensor_sketch, time_series
from ._box_overlap import (
    DeviceOverlaps,
    Overlaps,
    OverlapSlice,
    box_overlap,
    box_overlap_counts,
    box_overlap_slices,
)
from ._core import Alphabet, Device, DeviceArray, Sequences, ShortSequenceWarning, __version__, devices, gpus
from ._distances import DeviceNearest, Nearest, distances, nearest
from ._edit_distance import edit_distance
from ._gemm import gemm
from ._matmul import matmul
from ._slide import Windows, slide_distances, slide_nearest, slide_paired

__all__ = [
    "Alphabet",
    "Device",
    "DeviceArray",
    "DeviceNearest",
    "DeviceOverlaps",
    "Nearest",
    "OverlapSlice",
    "Overlaps",
    "Sequences",
    "ShortSequenceWarning",
    "Windows",
    "__version__",
    "box_overlap",
    "box_overlap_counts",
    "box_overlap_slices",
    "devices",
    "distances",
    "edit_distance",
    "fasta",
    "gemm",
    "gpus",
    "matmul",
    "nearest",
    "slide_distances",
    "slide_nearest",
    "slide_paired",
    "tensor_sketch",
    "time_series",
]
