"""The published vector addition in Numba CUDA, beside `gridstride_learn vector-add`.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:

    python3 ladder_vector_add_numba.py [--elements 20000000] [--streams 2,5,10] [--runs 5]

Versions have times by CUDA events, of the launch on data in the device's memory, or by the host's clock, of whole calls into
memory of the device that exists. Two vectors of i32 are added to one of f64; all sums are compared. The published program times a first call, in which Numba compiles the kernel: the row `one stream, first call` has that. Its
streams share one output on the device, which is right only because copies from ordinary memory wait; here each stream
has its own. Without a GPU: NUMBA_ENABLE_CUDASIM=1, with some thousand elements.
"""

import argparse
import functools

import numpy as np

from numba_gpu import SIMULATED, cuda, elapsed_ms, nb
from timing import clock_ms, repeated, row

show = functools.partial(row, program="Numba", version=nb.__version__)

THREADS = 256

# A block in three dimensions, and blocks along y and z.
BLOCK_3D, SIDE = (8, 8, 4), 8

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@cuda.jit
def add(a, b, out):
    """A grid-stride loop, which is right for any launch."""
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[i] = a[i] + b[i]


@cuda.jit
def add_3d(a, b, out):
    """The same with an index in three dimensions."""
    x, y, z = cuda.grid(3)
    width, height, depth = cuda.gridsize(3)
    for i in range((z * height + y) * width + x, out.shape[0], width * height * depth):
        out[i] = a[i] + b[i]


def blocks(elements):
    return -(-elements // THREADS)


def on_streams(a, b, out, count):
    """Adds in as many parts as there are streams; returns a call.

    The memory of the device is allocated here, before the call: each part has its own."""
    parts = [slice(start, start + -(-len(a) // count)) for start in range(0, len(a), -(-len(a) // count))]
    streams = [cuda.stream() for _ in parts]
    memory = [[cuda.device_array(len(v[part]), v.dtype) for v in (a, b, out)] for part in parts]

    def call():
        for part, stream, (one, other, sums) in zip(parts, streams, memory):
            one.copy_to_device(a[part], stream=stream)
            other.copy_to_device(b[part], stream=stream)
            add[blocks(len(sums)), THREADS, stream](one, other, sums)
            sums.copy_to_host(out[part], stream=stream)
        cuda.synchronize()

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--elements", type=int, default=20_000_000)
    parser.add_argument("--streams", default="2,5,10", help="numbers of streams")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    n = options.elements
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-(2**30), 2**30, n).astype(np.int32) for _ in range(2))
    expected = a.astype(np.float64) + b

    def check(out, name):
        assert (out == expected).all(), f"{name} computes something else"
        out[:] = 0

    out = np.zeros(n)
    *inputs, on_device = (cuda.device_array(n, vector.dtype) for vector in (a, b, out))

    def one_stream():
        for there, vector in zip(inputs, (a, b)):
            there.copy_to_device(vector)
        add[blocks(n), THREADS](*inputs, on_device)
        on_device.copy_to_host(out)

    # The context of the device is no part of the first call.
    cuda.synchronize()
    first = [clock_ms(one_stream)]
    check(out, "the first call")
    show("one stream, first call", first, clock="call")

    grid_3d = -(-blocks(n) // SIDE**2), SIDE, SIDE
    for version, kernel, launch in (
        ("one thread", add, (1, 1)),
        ("kernel", add, (blocks(n), THREADS)),
        ("index_3d", add_3d, (grid_3d, BLOCK_3D)),
    ):
        sums = cuda.device_array(n, np.float64)
        # Compiles it, for few elements.
        kernel[launch](*(vector[:1] for vector in inputs), sums[:1])
        times = repeated(lambda: elapsed_ms(lambda: kernel[launch](*inputs, sums)), options.runs)
        check(sums.copy_to_host(), version)
        show(version, times)
    calls = [("one stream", one_stream)]
    for count in map(int, options.streams.split(",")):
        name = NUMBERS[count] if count < len(NUMBERS) else count
        calls.append((f"{name} streams", on_streams(a, b, out, count)))
    if not SIMULATED:
        # Page-locked memory, from and to which copies overlap.
        pinned = [cuda.pinned_array(n, vector.dtype) for vector in (a, b, out)]
        pinned[0][:], pinned[1][:] = a, b
        calls.append(("pinned", on_streams(*pinned, 5)))
    for version, call in calls:
        times = repeated(lambda: clock_ms(call), options.runs)
        check(pinned[2] if version == "pinned" else out, version)
        show(version, times, clock="call")


if __name__ == "__main__":
    main()
