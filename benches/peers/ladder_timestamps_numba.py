"""The published aggregation of timestamps in Numba CUDA, beside `gridstride_learn timestamps`.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:

    python3 ladder_timestamps_numba.py [--points 6291456] [--step 5] [--every 35] [--runs 5]

Versions have times by CUDA events, of the launch on data in the device's memory, and by the host's clock, of whole calls from
values to sums in the host's memory, through memory of the device that exists. Points are `step` seconds apart, values of f64, in buckets of `every` seconds; v1, v3 and v4 need a whole
number of points a bucket. Sums are compared with NumPy's. Without a GPU: NUMBA_ENABLE_CUDASIM=1, with some hundred points.
"""

import argparse
import functools

import numpy as np

from numba_gpu import SIMULATED, cuda, elapsed_ms, nb
from timing import clock_ms, repeated, row

show = functools.partial(row, program="Numba", version=nb.__version__)

THREADS, STREAMS, SECOND = 256, 4, 1_000_000_000


@cuda.jit
def sum_neighbours(points, values, sums):
    """v1: a thread sums a fixed number of neighbours."""
    i = cuda.grid(1)
    if i < sums.shape[0]:
        total = 0.0
        for place in range(i * points, min((i + 1) * points, values.shape[0])):
            total += values[place]
        sums[i] = total


@cuda.jit
def sum_staged(points, values, sums):
    """v3 and v4: neighbours through shared memory, read without gaps."""
    tile = cuda.shared.array(0, dtype=nb.float64)
    block, thread = cuda.blockDim.x, cuda.threadIdx.x
    first = cuda.blockIdx.x * block * points
    here = min(block * points, values.shape[0] - first)
    for place in range(thread, here, block):
        tile[place] = values[first + place]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < sums.shape[0]:
        total = 0.0
        for place in range(thread * points, min((thread + 1) * points, here)):
            total += tile[place]
        sums[i] = total


@cuda.jit
def round_timestamps(granularity, timestamps):
    """A thread floors a timestamp in place."""
    i = cuda.grid(1)
    if i < timestamps.shape[0]:
        timestamps[i] = timestamps[i] // granularity * granularity


@cuda.jit
def count_uniqs(rounded, counts):
    """The thread at the first of a run walks it and counts."""
    i = cuda.grid(1)
    if i < rounded.shape[0]:
        count = 0
        if i == 0 or rounded[i - 1] != rounded[i]:
            end = i
            while end < rounded.shape[0] and rounded[end] == rounded[i]:
                end += 1
            count = end - i
        counts[i] = count


@cuda.jit
def sum_uniqs(rounded, values, counts, sums):
    """The same walk sums too: no fixed number of neighbours."""
    i = cuda.grid(1)
    if i < rounded.shape[0]:
        count, total = 0, 0.0
        if i == 0 or rounded[i - 1] != rounded[i]:
            end = i
            while end < rounded.shape[0] and rounded[end] == rounded[i]:
                total += values[end]
                end += 1
            count = end - i
        counts[i] = count
        sums[i] = total


def blocks(elements):
    return -(-elements // THREADS)


class Expected:
    """What has to come out: counts and sums of buckets, by NumPy."""

    def __init__(self, timestamps, values, granularity):
        self.labels = timestamps // granularity * granularity
        first = np.flatnonzero(np.concatenate([[True], self.labels[1:] != self.labels[:-1]]))
        self.counts = np.diff(np.append(first, len(values)))
        self.sums = np.add.reduceat(values, first)
        # Both sum m values in some order: (m + 2)·u·Σ|x| each, u = 2⁻⁵³.
        magnitudes = np.add.reduceat(np.abs(values), first)
        self.bounds = 2 * (self.counts + 2) * 2.0**-53 * magnitudes

    def check(self, sums, name):
        assert len(sums) == len(self.sums) and (np.abs(sums - self.sums) <= self.bounds).all(), f"{name}: other sums"


def neighbours(points, values, expected, runs):
    """v1, v3 and v4."""
    n = len(values)
    on_device = cuda.to_device(values)
    of_block = 8 * THREADS * points
    for version, kernel, shared in (("v1", sum_neighbours, 0), ("v3", sum_staged, of_block)):
        sums = cuda.device_array(-(-n // points), np.float64)
        launcher = kernel[blocks(len(sums)), THREADS, 0, shared]
        launcher(points, on_device, sums)
        expected.check(sums.copy_to_host(), version)
        kernel_times = repeated(lambda: elapsed_ms(lambda: launcher(points, on_device, sums)), runs)

        downloaded = np.zeros(len(sums))

        def call():
            on_device.copy_to_device(values)
            launcher(points, on_device, sums)
            sums.copy_to_host(downloaded)

        call_times = repeated(lambda: clock_ms(call), 0 if SIMULATED else runs)
        expected.check(downloaded, version)
        show(version, kernel_times)
        show(version, call_times, clock="call")
    if SIMULATED:
        pinned, found = values, np.zeros(-(-n // points))
    else:
        pinned, found = cuda.pinned_array(n, np.float64), cuda.pinned_array(-(-n // points), np.float64)
        pinned[:] = values
    buckets = -(-len(found) // STREAMS)
    parts = [slice(start, min(start + buckets, len(found))) for start in range(0, len(found), buckets)]
    streams = [cuda.stream() for _ in parts]
    memory = [
        (cuda.device_array(len(pinned[part.start * points : part.stop * points]), np.float64), sums)
        for part, sums in ((part, cuda.device_array(part.stop - part.start, np.float64)) for part in parts)
    ]

    def on_streams():
        for part, stream, (own, sums) in zip(parts, streams, memory):
            own.copy_to_device(pinned[part.start * points : part.stop * points], stream=stream)
            sum_staged[blocks(len(sums)), THREADS, stream, of_block](points, own, sums)
            sums.copy_to_host(found[part], stream=stream)
        cuda.synchronize()

    times = repeated(lambda: clock_ms(on_streams), runs)
    expected.check(np.array(found), "v4")
    show("v4", times, clock="call")


def runs_of_timestamps(timestamps, values, granularity, expected, runs):
    """round_timestamps, count_uniqs and both with sums."""
    n = len(timestamps)
    rounded, on_device = cuda.to_device(timestamps), cuda.to_device(values)
    counts, sums = cuda.device_array(n, np.int32), cuda.device_array(n, np.float64)

    def both():
        round_timestamps[blocks(n), THREADS](granularity, rounded)
        sum_uniqs[blocks(n), THREADS](rounded, on_device, counts, sums)

    for version, launch in (
        # Of rounded timestamps it changes nothing, so that it can run many times.
        ("round_timestamps", lambda: round_timestamps[blocks(n), THREADS](granularity, rounded)),
        ("count_uniqs", lambda: count_uniqs[blocks(n), THREADS](rounded, counts)),
        ("sum_uniqs", both),
    ):
        launch()
        times = repeated(lambda: elapsed_ms(launch), runs)
        assert (rounded.copy_to_host() == expected.labels).all(), f"{version}: other labels"
        if version != "round_timestamps":
            found = counts.copy_to_host()
            assert (found[found > 0] == expected.counts).all(), f"{version}: other counts"
        if version == "sum_uniqs":
            expected.check(sums.copy_to_host()[found > 0], version)
        show(version, times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=1024 * 1024 * 6)
    parser.add_argument("--step", type=int, default=5, help="seconds between points")
    parser.add_argument("--every", type=int, default=35, help="seconds of a bucket")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    granularity = options.every * SECOND
    first = 1_600_000_000 * SECOND // granularity * granularity
    timestamps = first + np.arange(options.points, dtype=np.int64) * options.step * SECOND
    values = np.random.default_rng(1).uniform(-1, 1, options.points)
    expected = Expected(timestamps, values, granularity)
    if options.every % options.step == 0:
        neighbours(options.every // options.step, values, expected, options.runs)
    runs_of_timestamps(timestamps, values, granularity, expected, options.runs)


if __name__ == "__main__":
    main()
