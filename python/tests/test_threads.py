"""Calls from several threads, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gridstride import distances, matmul
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


def test_other_threads_run_during_a_call(rng):
    a = rng.standard_normal((2000, 300))
    counts = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            counts.append(time.perf_counter())

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.2:
        distances(a)
        end = time.perf_counter()
    done.set()
    thread.join()
    # If calls kept the lock, at most one count would fall between two of them.
    assert sum(start < count < end for count in counts) > 10


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
