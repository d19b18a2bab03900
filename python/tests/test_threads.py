"""Calls from several threads, and Ctrl-C."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from gridstride import Alphabet, Device, Sequences, box_overlap, distances, gemm, matmul, nearest, time_series
from gridstride.tensor_sketch import TensorSketch


def test_many_threads(device, rng):
    a, b = rng.standard_normal((40, 30)), rng.standard_normal((30, 20))
    expected = matmul(a, b, device=device)
    sketcher = TensorSketch(16, 2)
    sketches = sketcher.sketch(["GATTACA", "CC"], device=device)

    def work(_):
        return matmul(a, b, device=device), sketcher.sketch(["GATTACA", "CC"], device=device)

    with ThreadPoolExecutor(8) as pool:
        for product, again in pool.map(work, range(32)):
            assert (product == expected).all() and (again == sketches).all()


def other_threads_run_during(call):
    """Whether another thread of Python runs between the begin and the end of one call."""
    counts = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            counts.append(time.perf_counter())

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    call()
    end = time.perf_counter()
    done.set()
    thread.join()
    # With the lock held, one count may fall before the call and one behind it.
    return sum(start < count < end for count in counts) > 3


def test_other_threads_run_during_a_call(rng):
    a = rng.standard_normal((1500, 300))
    assert other_threads_run_during(lambda: distances(a, device="cpu"))


@pytest.mark.parametrize("text", ["A" * 30_000_000, b"A" * 30_000_000], ids=["str", "bytes"])
def test_other_threads_run_while_text_is_encoded(text):
    sketcher = TensorSketch(1, 1)
    session = sketcher.session(device="cpu")
    for encode in (
        lambda: Alphabet.dna().encode(text),
        lambda: Sequences(iter([text]), alphabet="dna"),
        lambda: session.push(text[:20_000_000]),
    ):
        assert other_threads_run_during(encode)


def test_other_threads_run_while_a_session_is_dropped():
    session = TensorSketch(1024, 4).session(device="cpu")
    # One batch, which the session's thread computes for a second or more.
    session.push(np.zeros(10_000_000, np.uint8))
    holder = [session]
    del session
    assert other_threads_run_during(holder.clear)


def is_a_call_on_its_thread():
    for name in Path("/proc/self/task").glob("*/comm"):
        # A thread may end meanwhile.
        with contextlib.suppress(OSError):
            if name.read_text() == "gridstride-call\n":
                return True
    return False


def has_a_thread_of_its_own(call):
    """Whether a call runs on a thread of its own, so that Ctrl-C can end the wait for it."""
    is_found = threading.Event()
    # A thread ends a little later than its call.
    while is_a_call_on_its_thread():
        time.sleep(0.001)

    def work():
        # With many cores, a call may end between two looks.
        for _ in range(10):
            if not is_found.is_set():
                call()

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive() and not is_found.is_set():
        if is_a_call_on_its_thread():
            is_found.set()
        time.sleep(0.0002)
    thread.join()
    return is_found.is_set()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list the threads of a process")
def test_long_calls_can_be_interrupted(rng):
    cpu = Device("cpu")
    # Each call is a little above the bound of long ones.
    matrix, batch = rng.random((64, 64)), rng.random((400, 64, 64))
    rows = cpu.upload(rng.random((1100, 100)))
    corners = 1000 * rng.random((10_100, 2))
    boxes = cpu.upload(np.hstack([corners, corners + 1]))
    times, values = np.arange(1_100_000), rng.random(1_100_000)
    there = cpu.upload(times), cpu.upload(values)
    summaries = time_series.summarize(times, values, 1, device=cpu)
    for name, call in {
        "matmul": lambda: matmul(matrix, batch, device=cpu),
        "gemm": lambda: gemm(matrix, batch, device=cpu),
        "aggregate": lambda: time_series.aggregate(times, values, 10_000, ["p95"], sort=True, device=cpu),
        "summarize": lambda: time_series.summarize(times, values, 1, sort=True, device=cpu),
        "resample": lambda: summaries.resample(2),
        "agg": lambda: summaries.agg(["mean"]),
        "matmul of device arrays": lambda: matmul(cpu.upload(matrix), cpu.upload(batch)),
        "distances of device arrays": lambda: distances(rows),
        "nearest of device arrays": lambda: nearest(rows, rows),
        "box_overlap of device arrays": lambda: box_overlap(boxes),
        "aggregate of device arrays": lambda: time_series.aggregate(*there, 10_000, ["p95"], sort=True),
    }.items():
        assert has_a_thread_of_its_own(call), name
    assert not has_a_thread_of_its_own(lambda: matmul(matrix, matrix, device=cpu))


PROGRAM = """
import threading, time
import numpy as np, gridstride

rows = np.random.default_rng(0).standard_normal((20_000, 2_000))
print("ready", flush=True)
start = time.perf_counter()
try:
    gridstride.nearest(rows, rows, k=5, device="cpu")
except KeyboardInterrupt:
    print(f"interrupted after {time.perf_counter() - start}", flush=True)
# Reading sequences does not wait for the threads of the call.
start = time.perf_counter()
assert len(gridstride.Sequences(["GATTACA"] * 1000, alphabet="dna")) == 1000
print(time.perf_counter() - start, flush=True)
# The interpreter ends although the call goes on.
"""


def test_ctrl_c():
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.5)
    os.kill(program.pid, signal.SIGINT)
    rest, _ = program.communicate(timeout=60)
    assert rest.startswith("interrupted after "), rest
    assert program.returncode == 0
    # The call would take a minute of one core.
    first, second = rest.splitlines()
    assert float(first.split()[-1]) < 10
    assert float(second) < 10


def test_no_references_stay(rng):
    a = rng.standard_normal((5, 5))
    out = np.empty((5, 5))
    before = sys.getrefcount(a), sys.getrefcount(out)
    for _ in range(1000):
        matmul(a, a, out=out)
    assert (sys.getrefcount(a), sys.getrefcount(out)) == before


PANIC = """
import resource
import numpy as np, gridstride

corners = np.random.default_rng(0).random((10_000, 2))
boxes = np.hstack([corners, corners + 0.001])
# Memory for a few of the pool's threads.
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 2**27
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    slices = list(gridstride.box_overlap_slices(boxes, max_pairs=100, device="cpu"))
except BaseException as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may not count the memory of threads")
def test_slices_do_not_end_before_all_are_found():
    environment = {**os.environ, "RAYON_NUM_THREADS": "1000", "RUST_BACKTRACE": "0"}
    run = subprocess.run([sys.executable, "-c", PANIC], capture_output=True, text=True, timeout=60, env=environment)
    assert run.stdout.startswith("PanicException The global thread pool"), run.stdout + run.stderr
