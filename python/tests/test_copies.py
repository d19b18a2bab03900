"""Pickles and copies, as Dask, Ray and multiprocessing make them, and what objects print."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gridstride
from gridstride import Alphabet, Device, Sequences
from gridstride.tensor_sketch import TensorSketch

COPIES = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


@pytest.mark.parametrize("copied", COPIES)
def test_devices(copied):
    for device in (Device("cpu"), Device("cpu").with_memory_limit(100)):
        assert copied(device) == device and repr(copied(device)) == repr(device)


def test_pickled_devices_compute(device, rng):
    a = rng.standard_normal((4, 4))
    again = pickle.loads(pickle.dumps(device))
    assert again.kind == device.kind
    np.testing.assert_array_equal(gridstride.matmul(a, a, device=again), gridstride.matmul(a, a, device=device))


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("alphabet", [Alphabet.dna(), Alphabet.protein(), Alphabet("01"), Alphabet(bytes(range(256)))], ids=repr)
def test_alphabets(copied, alphabet):
    again = copied(alphabet)
    assert again == alphabet and hash(again) == hash(alphabet) and again.size == alphabet.size


def test_different_alphabets():
    assert Alphabet("01") != Alphabet("10") and Alphabet("01") != "01"
    assert [repr(Alphabet.dna()), repr(Alphabet("01"))] == ["Alphabet.dna()", "Alphabet('01')"]


@pytest.mark.parametrize("copied", COPIES)
def test_sequences(copied):
    sequences = Sequences(["GATTACA", "", "CC"], alphabet="dna")
    again = copied(sequences)
    assert again.lengths.tolist() == [7, 0, 2] and again[0].tolist() == sequences[0].tolist()


class Subclass(TensorSketch):
    pass


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("kind", [TensorSketch, Subclass])
def test_sketchers(copied, kind):
    sketcher = kind(16, 2, seed=7, alphabet=Alphabet("ab"), unknown="skip", normalize=True, dtype=np.float64, form="direct")
    sketcher.__dict__["note"] = "kept"
    again = copied(sketcher)
    assert type(again) is kind and again.note == "kept"
    assert (again.unknown, again.normalize, again.dtype, again.form) == ("skip", True, "float64", "direct")
    assert (again.sketch(["ab?ba"], device="cpu") == sketcher.sketch(["abba"], device="cpu")).all()
    assert repr(again) == "<TensorSketch: dim=16, tuple=2, Alphabet('ab'), float64>"


FORK = """
import os, warnings
import numpy as np, gridstride

warnings.simplefilter("ignore")
a = np.ones((300, 300))
gridstride.matmul(a, a, device="cpu")
session = gridstride.tensor_sketch.TensorSketch(8, 2).session(device="cpu")
session.push("ACGT")
times = np.arange(200_000)
summaries = gridstride.time_series.summarize(times, times.astype(float), 2, device="cpu")
boxes = np.ones((3, 4))
slices = gridstride.box_overlap_slices(boxes, boxes, max_pairs=1, device="cpu")
calls = {
    "matmul": lambda: gridstride.matmul(a, a, device="cpu"),
    "push": lambda: session.push("ACGT"),
    "finish": lambda: session.finish(),
    "slices": lambda: next(gridstride.box_overlap_slices(boxes, boxes, max_pairs=1, device="cpu")),
    "next slice": lambda: next(slices),
    "agg": lambda: summaries.agg(["sum"]),
    "resample": lambda: summaries.resample(4),
}
child = os.fork()
if child == 0:
    for name, call in calls.items():
        try:
            call()
        except RuntimeError as error:
            print(name, error, flush=True)
        else:
            os._exit(1)
    del session, slices
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_processes_fail_and_do_not_hang():
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 7
    assert all("this process was forked after calls of gridstride" in line for line in lines)


def test_version():
    assert gridstride.__version__.count(".") == 2


def test_negative_numbers_are_values():
    a = np.ones((2, 2))
    with pytest.raises(ValueError, match="nearest: k is -1, but has to be 0 at least"):
        gridstride.nearest(a, a, k=-1)
    with pytest.raises(ValueError, match="TensorSketch: dim is -1"):
        TensorSketch(-1, 2)
    with pytest.raises(ValueError, match="TensorSketch: seed is -1, not in 0 to"):
        TensorSketch(8, 2, seed=-1)
    with pytest.raises(ValueError, match="windows: stride is -2"):
        TensorSketch(8, 2).windows("ACGT", 2, -2)
    with pytest.raises(ValueError, match="edit_distance: limit is -1"):
        gridstride.edit_distance("a", "b", limit=-1)
    with pytest.raises(ValueError, match="with_memory_limit: bytes is -1, but has to be 0 at least"):
        Device("cpu").with_memory_limit(-1)


def test_large_numbers_are_values():
    a = np.ones((2, 2))
    with pytest.raises(ValueError, match=f"nearest: k is {2**70}, which is too large"):
        gridstride.nearest(a, a, k=2**70)
    with pytest.raises(ValueError, match=f"with_memory_limit: bytes is {2**64}, which is too large"):
        Device("cpu").with_memory_limit(2**64)


def test_arrays_of_codes_are_one_sequence():
    codes = np.array([1, 2], np.uint8)
    with pytest.raises(TypeError, match="edit_distance: this is one sequence of codes: put it into a list"):
        gridstride.edit_distance(codes, codes)
    assert gridstride.edit_distance([codes], [codes]).tolist() == [0]
