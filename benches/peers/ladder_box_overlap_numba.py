"""The published box overlap in Numba CUDA, beside `gridstride_learn box-overlap`.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:

    python3 ladder_box_overlap_numba.py [--boxes 200000] [--runs 5] [--sweep]

Each version has times by CUDA events, of the launch on data in the device's memory, and by the host's clock, of whole calls
from boxes in ordinary memory to matches there. The boxes are those of
the published program, seed 42, in metres. All matches are compared with those of a search on the CPU, but for v3, whose
wrong pairs are counted. `--sweep` takes the best of blocks of 64 to 1024 threads, timed once each; else a block has 256.
Other than published, a seventh match marks the row, not the sixth. Without a GPU: NUMBA_ENABLE_CUDASIM=1 and 60 boxes.
"""

import argparse
import functools

import numpy as np

from box_overlap_kernels import in_tiles, mark, plain
from boxes import LIMIT, UNUSED, check, matches, welds_and_segments
from numba_gpu import SIMULATED, cuda, elapsed_ms, nb
from timing import clock_ms, median, repeated, row

show = functools.partial(row, program="Numba", version=nb.__version__)

# Threads of a block, boxes that a thread of v2 and v3 loads, and the shared memory that every GPU gives to a block.
THREADS, ITEMS, SHARED = 256, 4, 48 << 10

# The blocks of a sweep. The published program tries 16 to 1024 in steps of 16, which takes minutes.
SWEPT = (64, 128, 192, 256, 384, 512, 640, 768, 1024)


def count_wrong(found, expected):
    """How many pairs are in one result alone."""
    pairs = lambda out: {(i, out[i, place]) for i, place in zip(*np.nonzero(out >= 0))}
    found, expected = pairs(found), pairs(expected)
    return len(found - expected), len(expected - found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--boxes", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sweep", action="store_true", help="the best of nine sizes of blocks")
    options = parser.parse_args()
    sets = [(boxes / 1000).astype(np.float32) for boxes in welds_and_segments(options.boxes)]
    expected, _ = matches(*sets)
    n = len(sets[0])
    single, half = np.float32, np.float16
    for version, kernel, items, dtype in (
        ("kernel", plain(mark), 0, single),
        ("v1", in_tiles(1, nb.float32, mark), 1, single),
        ("v2", in_tiles(ITEMS, nb.float32, mark), ITEMS, single),
        ("v3", in_tiles(ITEMS, nb.types.float16, mark), ITEMS, half),
    ):
        # Halves reach to 65504, which metres do not exceed.
        on_host = [boxes.astype(dtype) for boxes in sets]
        set1, set2 = (cuda.to_device(boxes) for boxes in on_host)
        out = cuda.to_device(np.full((n, LIMIT), UNUSED, np.int32))

        def launch(threads, set1=set1, set2=set2, out=out):
            shared = items * threads * 6 * np.dtype(dtype).itemsize
            kernel[-(-n // threads), threads, 0, shared](set1, set2, out)

        launch(THREADS)
        found = out.copy_to_host()
        if dtype == half:
            print("{}: {} pairs are wrong, {} are missing".format(version, *count_wrong(found, expected)))
        else:
            check(found, expected, version)

        def times(threads, runs=options.runs):
            return repeated(lambda: elapsed_ms(lambda: launch(threads)), runs)

        threads = THREADS
        if options.sweep:
            fits = [t for t in SWEPT if items * t * 6 * np.dtype(dtype).itemsize <= SHARED]
            threads = min(fits, key=lambda threads: median(times(threads, 1)))
        kernel_times = times(threads)

        def call():
            out = cuda.to_device(np.full((n, LIMIT), UNUSED, np.int32))
            launch(threads, *(cuda.to_device(boxes) for boxes in on_host), out)
            return out.copy_to_host()

        call_times = repeated(lambda: clock_ms(call), 0 if SIMULATED else options.runs)
        show(version, kernel_times)
        show(version, call_times, clock="call")


if __name__ == "__main__":
    main()
