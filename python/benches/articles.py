"""The articles' tasks, from arrays on the host to arrays on the host, beside their programs in Numba and in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import clock, grouped, progress, show
from numpy.typing import NDArray

import gridstride
from gridstride import time_series
from gridstride.tensor_sketch import TensorSketch

SECOND = 1_000_000_000

# Rows of a product, and boxes, that are checked.
CHECKED = 50

# Sequences that are checked: the shortest ones, since the plain version takes 10 µs for a letter.
CHECKED_SEQUENCES = 3

#: Sizes of the tasks: those of the articles, larger ones, and small ones for a test.
SIZES: dict[str, dict[str, list[tuple[int, ...]]]] = {
    "full": {
        "tensor sketch": [(1410, 100_000_000), (1410, 1_000_000_000)],
        "box overlap": [(200_000,), (1_000_000,)],
        "matrix product": [(6000, 4800, 4000), (13_000, 10_400, 8600)],
        "thin product": [(50_000, 784, 10), (500_000, 784, 10)],
        "time series": [(6 << 20,), (96 << 20,)],
    },
    "small": {
        "tensor sketch": [(1, 70)],
        "box overlap": [(60,)],
        "matrix product": [(20, 18, 17)],
        "thin product": [(20, 18, 10)],
        "time series": [(300,)],
    },
}


@dataclass
class Task:
    """A task of some size: each program as a call without arguments, and a check of all results by program."""

    name: str
    size: str
    calls: dict[str, Callable[[], Any]]
    check: Callable[[dict[str, Any]], None]


class Programs:
    """The programs of a task, of which peers may be missing."""

    def __init__(self, device: str, numba: Any | None, torch: Any | None) -> None:
        self.device = device
        self.numba = numba
        self.torch = torch

    def calls(self, own: Callable[[], Any], name: str, *inputs: Any, torch: bool) -> dict[str, Callable[[], Any]]:
        """gridstride's call, and the peers' programs of a name."""
        calls = {"gridstride": own}
        if self.numba is not None:
            calls["Numba"] = lambda: getattr(self.numba, name)(*inputs)
        if torch and self.torch is not None:
            calls["PyTorch"] = lambda: getattr(self.torch, name)(*inputs)
        return calls


def tensor_sketch(programs: Programs, n: int, total: int) -> Task:
    """Sketches of random sequences, from half to one and a half of the mean length; A = 4, t = 4, D = 96."""
    rng = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum((total / n * rng.uniform(0.5, 1.5, n)).astype(np.int64))])
    letters = rng.integers(0, 4, starts[-1], dtype=np.uint8)
    hashes, signs = rng.integers(0, 96, (4, 4)), rng.choice([-1, 1], (4, 4))
    sequences = [letters[start:end] for start, end in zip(starts, starts[1:], strict=False)]
    sketcher = TensorSketch(96, 4, tables=(hashes, signs))

    def check(found: dict[str, Any]) -> None:
        # Of n letters, what a tuple adds goes through n + t roundings at most. Their signs are random, so the error of a
        # sketch is below 10·√(n + t)·u of the norm of Σ|terms|, u = 2⁻²⁴, but with a probability of 2·exp(−50): Higham
        # and Mary, doi 10.1137/18M1226312. All signs 1 give Σ|terms|.
        magnitudes = TensorSketch(96, 4, tables=(hashes, np.abs(signs))).sketch(sequences, device=programs.device)
        bounds = 2 * 10 * np.sqrt(np.diff(starts) + 4) * 2.0**-24 * norms(magnitudes)
        sample = np.argsort(np.diff(starts))[:CHECKED_SEQUENCES]
        plain = np.array([plain_sketch(sequences[i], hashes, signs) for i in sample])
        errors = norms(found["gridstride"][sample] - plain)
        assert (errors <= bounds[sample]).all(), f"gridstride: a sketch is off by {errors.max()}"
        if "Numba" in found:
            # Published kernels roll rows the other way.
            reversed_ = found["Numba"][:, -np.arange(96) % 96].astype(np.float64)
            errors = norms(found["gridstride"] - reversed_)
            assert (errors <= bounds).all(), f"Numba: a sketch is off by {errors.max()}"

    calls = programs.calls(
        lambda: sketcher.sketch(sequences, device=programs.device),
        "tensor_sketch", letters, starts, hashes, signs, torch=False,
    )  # fmt: skip
    return Task("tensor sketch", f"{n} sequences, about {grouped(total)} letters", calls, check)


def box_overlap(programs: Programs, n: int) -> Task:
    """All pairs of welds and segments: chains of 20 segments, as dense in each size as in the article, in metres."""
    set1, set2 = welds_and_segments(n)

    def check(found: dict[str, Any]) -> None:
        pairs = found["gridstride"]
        for i in range(0, n, -(-n // CHECKED)):
            overlap = (set1[i, :3] <= set2[:, 3:]) & (set1[i, 3:] >= set2[:, :3])
            own = pairs.indices[pairs.offsets[i] : pairs.offsets[i + 1]]
            assert np.array_equal(own, np.flatnonzero(overlap.all(axis=1))), f"gridstride: other pairs of box {i}"
        if "Numba" in found:
            assert (first_matches(pairs) == found["Numba"]).all(), "Numba finds other pairs"
        if "PyTorch" in found:
            assert (pairs.pairs() == found["PyTorch"]).all(), "PyTorch finds other pairs"

    # PyTorch's tables of larger sets take tens of GB and minutes.
    own = lambda: gridstride.box_overlap(set1, set2, device=programs.device)  # noqa: E731
    calls = programs.calls(own, "box_overlap", set1, set2, torch=n <= 200_000)
    return Task("box overlap", f"{grouped(n)} × {grouped(n)} boxes", calls, check)


def matmul(programs: Programs, m: int, k: int, n: int) -> Task:
    """A product of float32."""
    return product(programs, "matrix product", "matmul", np.float32, m, k, n)


def thin_matmul(programs: Programs, m: int, k: int, n: int) -> Task:
    """A product of float64 with a thin matrix, of the article on block shapes."""
    return product(programs, "thin product", "thin_matmul", np.float64, m, k, n)


def product(programs: Programs, title: str, name: str, dtype: type, m: int, k: int, n: int) -> Task:
    rng = np.random.default_rng(1)
    a, b = (rng.random(shape, dtype) - dtype(0.5) for shape in ((m, k), (k, n)))

    def check(found: dict[str, Any]) -> None:
        # A sum of k products has k roundings, and so has the reference in float64: γ(k + 1)·Σ|a|·|b| of both.
        rows = np.unique(np.linspace(0, m - 1, CHECKED).astype(int))
        exact = a[rows].astype(np.float64) @ b.astype(np.float64)
        magnitudes = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
        roundings = (k + 1) * (np.finfo(dtype).eps / 2 + np.finfo(np.float64).eps)
        for program, c in found.items():
            assert c.dtype == dtype and c.shape == (m, n)
            compare(c[rows], exact, roundings / (1 - roundings) * magnitudes, program)

    calls = programs.calls(lambda: gridstride.matmul(a, b, device=programs.device), name, a, b, torch=True)
    return Task(title, f"{grouped(m)} × {grouped(k)} × {grouped(n)}, {np.dtype(dtype)}", calls, check)


def means(programs: Programs, n: int) -> Task:
    """Means of points that are 5 s apart, in buckets of 35 s."""
    every = 35 * SECOND
    first = 1_600_000_000 * SECOND // every * every
    timestamps = first + np.arange(n, dtype=np.int64) * 5 * SECOND
    values = np.random.default_rng(1).uniform(-1, 1, n)

    def check(found: dict[str, Any]) -> None:
        starts = np.arange(0, n, 7)
        counts = np.diff(np.append(starts, n))
        # Both sum m values in some order and divide: (m + 2)·u·Σ|x| / m each, u = 2⁻⁵³.
        bounds = 2 * (counts + 2) * 2.0**-53 * np.add.reduceat(np.abs(values), starts) / counts
        exact = np.add.reduceat(values, starts) / counts
        for program, result in found.items():
            compare(result, exact, bounds, program)

    calls = programs.calls(
        lambda: time_series.aggregate(timestamps, values, every, "mean", device=programs.device)["mean"],
        "bucket_means", timestamps, values, every, torch=True,
    )  # fmt: skip
    return Task("time series", f"{grouped(n)} points, 5 s into 35 s", calls, check)


TASKS: dict[str, Callable[..., Task]] = {
    "tensor sketch": tensor_sketch,
    "box overlap": box_overlap,
    "matrix product": matmul,
    "thin product": thin_matmul,
    "time series": means,
}


def plain_sketch(letters: NDArray[np.uint8], hashes: NDArray[Any], signs: NDArray[Any]) -> NDArray[np.float64]:
    """The sketch of a sequence by its definition, letter by letter; t = 4, D = 96."""
    places = (np.arange(96) - hashes[:, :, None]) % 96
    rows, above = np.zeros((5, 96)), np.arange(4)[:, None]
    rows[0, 0] = 1
    for letter in letters:
        rows[1:] += signs[letter][:, None] * rows[above, places[letter]]
    return rows[4]


def norms(rows: NDArray[Any]) -> NDArray[np.float64]:
    """The length of each row."""
    return np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))


def compare(found: NDArray[Any], expected: NDArray[Any], bounds: NDArray[Any], program: str) -> None:
    """Fail if a number is further off than it may be."""
    errors = np.abs(found.astype(np.float64) - expected)
    assert (errors <= bounds).all(), f"{program}: a number is off by {errors.max()}"


def welds_and_segments(n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The article's boxes with random numbers of NumPy: a weld of 16 cm around the start of each segment."""
    rng = np.random.default_rng(42)
    chains = -(-n // 20)
    # Beyond the article's number of boxes the region becomes longer.
    region = np.array([200_000 * max(1.0, n / 200_000), 200_000, 50_000])
    first = 200_000 + (rng.random((chains, 1, 3)) * region).astype(np.int64)
    steps = np.eye(3, dtype=np.int64)[rng.integers(0, 3, (chains, 20))] * rng.integers(1000, 9001, (chains, 20, 1))
    ends = first + np.cumsum(steps, axis=1)
    starts = (ends - steps).reshape(-1, 3)[:n]
    ends, around = ends.reshape(-1, 3)[:n], 75 * (steps.reshape(-1, 3)[:n] == 0)
    welds = np.hstack([starts - 80, starts + 80])
    segments = np.hstack([starts - around, ends + around])
    return (welds / 1000).astype(np.float32), (segments / 1000).astype(np.float32)


def first_matches(found: gridstride.Overlaps) -> NDArray[np.int32]:
    """Up to six matches of each box as the article's kernels write them: −1 in unused places, −2 if there are more."""
    out = np.full((len(found), 6), -1, np.int32)
    first = found.pairs()
    place = np.arange(len(first)) - found.offsets[first[:, 0]]
    fits = place < 6
    out[first[fits, 0], place[fits]] = first[fits, 1]
    out[found.counts > 6, 5] = -2
    return out


def measure(programs: Programs, sizes: str, runs: int) -> None:
    """Time each task in each size: whole calls after a first one, whose result is checked."""
    for name, make in TASKS.items():
        for size in SIZES[sizes][name]:
            progress(f"{name} {size}: data")
            task = make(programs, *size)
            results, times = {}, {}
            for program, call in task.calls.items():
                progress(f"{name} {size}: {program}")
                results[program] = call()
                times[program] = [clock(call)[0] * 1e3 for _ in range(runs)]
            progress(f"{name} {size}: checks")
            task.check(results)
            show(f"{task.name}: {task.size}", times)
