"""The published tensor sketch in Numba CUDA, V3 to V15, beside `gridstride_learn tensor-sketch`.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:

    python3 ladder_tensor_sketch_numba.py [--sequences 1410] [--letters 100000000] [--runs 5] [--equal] [--pointers]

Versions have times by CUDA events, of one launch on data in the device's memory (V12: by the host's clock), and by the host's
clock, of whole calls from letters in ordinary memory to sketches there. The lengths are those
of the ladder, from half to one and a half of the mean. Every sketch is compared with exact integers. Without a GPU:
NUMBA_ENABLE_CUDASIM=1, with some sequences and some hundred letters.
"""

import argparse
import functools

import numpy as np

from numba_gpu import SIMULATED, elapsed_ms, nb
from tensor_sketch_kernels import *
from timing import clock_ms, repeated, row

show = functools.partial(row, program="Numba", version=nb.__version__)

# Sequences of a launch of V12, and its streams: as many as the ladder has, and those of the published program.
GROUP, STREAMS, PUBLISHED_STREAMS = 4, 128, 16


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sequences", type=int, default=1410)
    parser.add_argument("--letters", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--equal", action="store_true", help="sequences of equal length")
    parser.add_argument("--pointers", action="store_true", help="V13 alone, for which Numba's simulator has no addresses")
    return parser.parse_args()


class Data:
    """Letters and tables, on the host and on the device."""

    def __init__(self, options):
        rng = np.random.default_rng(1)
        mean, n = options.letters / options.sequences, options.sequences
        lengths = np.full(n, mean) if options.equal else mean * rng.uniform(0.5, 1.5, n)
        self.starts = np.concatenate([[0], np.cumsum(lengths.round())]).astype(np.int32)
        self.seq = rng.integers(0, A, self.starts[-1]).astype(np.int8)
        self.hashes = rng.integers(0, D, (A, t))
        self.signs = rng.choice([-1, 1], (A, t))
        self.expected = Expected(self.hashes, self.signs, self.seq, self.starts)
        self.on_device = {
            "wide": (cuda.to_device(self.hashes.astype(np.int64)), cuda.to_device(self.signs.astype(np.int64))),
            "narrow": (cuda.to_device(self.hashes.astype(np.int32)), cuda.to_device(self.signs.astype(np.float32))),
        }

    def sequences(self):
        """The letters of each sequence."""
        return [self.seq[start:end] for start, end in zip(self.starts, self.starts[1:])]


def one_by_one(data, runs):
    """V3: upload, launch and download for each sequence."""
    tables = data.on_device["wide"]
    found = []

    def call():
        found.clear()
        for sequence in data.sequences():
            T = cuda.device_array((ROWS, D), np.float32)
            v3[1, ALONG_ROWS](*tables, cuda.to_device(sequence), T)
            found.append(T.copy_to_host()[t])

    v3[1, ALONG_ROWS](*tables, cuda.to_device(data.seq[:1]), cuda.device_array((ROWS, D), np.float32))
    call_times = repeated(lambda: clock_ms(call), runs)
    data.expected.check(np.array(found), "V3")
    show("V3", call_times, clock="call")


def on_streams(data, runs):
    """V4: sequences on streams; uploaded ahead, and sketches stay on the device until the end."""
    tables = data.on_device["wide"]
    streams = [cuda.stream() for _ in data.sequences()]
    found = []

    def call():
        # Freeing memory would wait for the device.
        with cuda.defer_cleanup():
            sequences = [cuda.to_device(sequence) for sequence in data.sequences()]
            sketches = [cuda.device_array((ROWS, D), np.float32) for _ in sequences]
            for sequence, stream, T in zip(sequences, streams, sketches):
                v3[1, ALONG_ROWS, stream](*tables, sequence, T)
            cuda.synchronize()
            found[:] = [T.copy_to_host()[t] for T in sketches]

    call_times = repeated(lambda: clock_ms(call), runs)
    data.expected.check(np.array(found), "V4")
    show("V4", call_times, clock="call")


def all_at_once(data, runs):
    """V5 to V11, and V15."""
    n = len(data.starts) - 1
    seq, starts = cuda.to_device(data.seq), cuda.to_device(data.starts)
    sizes = (A, t, D, L)
    for version, kernel, block, tables, scalars, shared in (
        ("V5", v5, ALONG_ROWS, "wide", (), 0),
        ("V6", v5, ALONG_ROWS, "narrow", (), 0),
        ("V7", v7, ALONG_ROWS, "narrow", (), 0),
        ("V8", v8, ALONG_PLACES, "narrow", (), 0),
        ("V9", v9, SIX_PLACES, "narrow", (), 0),
        ("V9, strided", v9_strided, SIX_PLACES, "narrow", (), 0),
        ("V10", v10, SIX_PLACES, "narrow", (), 0),
        ("V11", v11, SIX_PLACES, "narrow", (), 0),
        ("V15", v15, SIX_PLACES, "narrow", sizes, shared_bytes()),
    ):
        T = cuda.device_array((n, ROWS, D), np.float32)
        launcher = kernel[n, block, 0, shared]
        launch = lambda letters, out: launcher(*scalars, *data.on_device[tables], letters, starts, out)
        launch(seq, T)
        kernel_times = repeated(lambda: elapsed_ms(lambda: launch(seq, T)), runs)
        data.expected.check(T.copy_to_host()[:, t], version)

        def call():
            out = cuda.device_array((n, ROWS, D), np.float32)
            launch(cuda.to_device(data.seq), out)
            return out.copy_to_host()

        show(version, kernel_times)
        show(version, repeated(lambda: clock_ms(call), 0 if SIMULATED else runs), clock="call")


def few_a_launch(data, runs, version, count):
    """V12: launches of four sequences, on `count` streams."""
    n = len(data.starts) - 1
    seq, starts = cuda.to_device(data.seq), cuda.to_device(data.starts)
    T = cuda.device_array((n, ROWS, D), np.float32)
    groups = range(0, n, GROUP)
    parts = [(min(GROUP, n - i), starts[i : i + GROUP + 1], T[i : i + GROUP]) for i in groups]
    streams = [cuda.stream() for _ in range(count)]

    def call():
        for i, (blocks, starts, out) in enumerate(parts):
            v11[blocks, SIX_PLACES, streams[i % count]](*data.on_device["narrow"], seq, starts, out)
        cuda.synchronize()

    kernel_times = repeated(lambda: clock_ms(call), runs)
    data.expected.check(T.copy_to_host()[:, t], version)
    show(version, kernel_times)


def constant_tables(data, runs):
    """V11 with tables in constant memory."""
    n = len(data.starts) - 1
    kernel = v11_constant(data.hashes.astype(np.int32), data.signs.astype(np.float32))
    seq, starts = cuda.to_device(data.seq), cuda.to_device(data.starts)
    T = cuda.device_array((n, ROWS, D), np.float32)
    launch = lambda: kernel[n, SIX_PLACES](seq, starts, T)
    launch()
    kernel_times = repeated(lambda: elapsed_ms(launch), runs)
    data.expected.check(T.copy_to_host()[:, t], "V11, constant")
    show("V11, constant", kernel_times)


def pointers(data, runs):
    """V13: an array of pointers to sequences."""
    from tensor_sketch_pointers import v13

    n = len(data.starts) - 1
    sequences = [cuda.to_device(sequence) for sequence in data.sequences()]
    addresses = cuda.to_device(np.array([s.device_ctypes_pointer.value for s in sequences], np.uint64))
    lengths = cuda.to_device(np.diff(data.starts))
    T = cuda.device_array((n, ROWS, D), np.float32)
    launch = lambda: v13[n, SIX_PLACES](*data.on_device["narrow"], addresses, lengths, T)
    launch()
    kernel_times = repeated(lambda: elapsed_ms(launch), runs)
    data.expected.check(T.copy_to_host()[:, t], "V13")
    show("V13", kernel_times)


def main():
    options = arguments()
    data = Data(options)
    if options.pointers:
        pointers(data, options.runs)
        return
    one_by_one(data, options.runs)
    on_streams(data, options.runs)
    all_at_once(data, options.runs)
    few_a_launch(data, options.runs, "V12", STREAMS)
    few_a_launch(data, options.runs, "V12, 16 streams", PUBLISHED_STREAMS)
    constant_tables(data, options.runs)


if __name__ == "__main__":
    main()
