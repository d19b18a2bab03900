"""Calls on little data, beside CuPy and PyTorch: what a call costs whatever it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from measure import clock, progress, show
from numpy.typing import NDArray

import gridstride
from gridstride import time_series

#: Calls that are made in a row, and how often: on data in the device's memory, and from the host's memory.
RESIDENT = {"full": (1000, 10), "small": (3, 2)}
ON_HOST = {"full": (200, 5), "small": (2, 2)}

Calls = dict[str, dict[str, Callable[[], Any]]]


def inputs() -> dict[str, tuple[Any, ...]]:
    """Two matrices, two sets of rows, points of time, and boxes."""
    rng = np.random.default_rng(1)
    matrices = rng.random((2, 128, 128), np.float32)
    rows = rng.random((2, 100, 96), np.float32)
    corners = rng.random((100, 3), np.float32)
    timestamps = 1_600_000_000 + 5 * np.arange(1000)
    return {
        "matrices": (matrices[0], matrices[1]),
        "rows": (rows[0], rows[1]),
        "points": (timestamps, rng.random(1000)),
        "boxes": (np.hstack([corners, corners + np.float32(0.1)]),),
    }


def host_calls(device: str, data: dict[str, tuple[Any, ...]], cupy: Any | None, torch: Any | None) -> Calls:
    """Calls from NumPy's arrays to NumPy's arrays."""
    a, b = data["matrices"]
    timestamps, values = data["points"]
    (boxes,) = data["boxes"]
    calls: Calls = {
        "product 128×128, float32": {
            "gridstride": lambda: gridstride.matmul(a, b, device=device),
            "NumPy": lambda: a @ b,
        },
        "mean of 1000 points": {
            "gridstride": lambda: time_series.aggregate(timestamps, values, 35, device=device),
        },
        "pairs of 100 boxes": {
            "gridstride": lambda: gridstride.box_overlap(boxes, boxes, device=device),
        },
    }
    if cupy is not None:
        calls["product 128×128, float32"]["CuPy"] = lambda: (cupy.asarray(a) @ cupy.asarray(b)).get()
    if torch is not None:
        calls["product 128×128, float32"]["PyTorch"] = lambda: torch.matmul(a, b)
        calls["mean of 1000 points"]["PyTorch"] = lambda: torch.bucket_means(timestamps, values, 35)
        calls["pairs of 100 boxes"]["PyTorch"] = lambda: torch.box_overlap(boxes, boxes)
    return calls


@dataclass
class Library:
    """How a library copies arrays to the device and back, waits, and computes."""

    upload: Callable[[NDArray[Any]], Any]
    download: Callable[[Any], NDArray[Any]]
    wait: Callable[[], None]
    matmul: Callable[[Any, Any], Any]
    distances: Callable[[Any, Any], Any]


def libraries(device: gridstride.Device, cupy: Any | None, torch: Any | None) -> dict[str, Library]:
    """The libraries with arrays in the device's memory."""
    found = {
        "gridstride": Library(
            device.upload, lambda array: array.numpy(), device.synchronize, gridstride.matmul, gridstride.distances
        )
    }
    if cupy is not None:
        # CuPy's cdist needs another package, so its distances are differences by broadcasting.
        found["CuPy"] = Library(
            cupy.asarray,
            cupy.asnumpy,
            cupy.cuda.Device().synchronize,
            cupy.matmul,
            lambda a, b: cupy.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2)),
        )
    if torch is not None:
        found["PyTorch"] = Library(torch.upload, torch.download, torch.synchronize, torch.product, torch.distances)
    return found


def in_a_row(call: Callable[[], Any], calls: int) -> None:
    for _ in range(calls):
        call()


def milliseconds(work: Callable[[], Any], wait: Callable[[], None], calls: int, batches: int) -> list[float]:
    """The host's time for each call, by batches, after a first one. Waits between batches are not timed."""
    times = []
    for _ in range(batches + 1):
        times.append(clock(work)[0] * 1e3 / calls)
        wait()
    return times[1:]


def both_ways(
    call: Callable[[], Any], wait: Callable[[], None], calls: int, batches: int
) -> tuple[list[float], list[float]]:
    """The host's time for each call, not waited for, and each waited for."""

    def waited() -> None:
        call()
        wait()

    return tuple(milliseconds(partial(in_a_row, one, calls), wait, calls, batches) for one in (call, waited))


def plain(what: str, data: dict[str, tuple[Any, ...]]) -> NDArray[Any]:
    """The result of a call by NumPy, in float64."""
    if what.startswith("product"):
        a, b = data["matrices"]
        return a.astype(np.float64) @ b.astype(np.float64)
    if what.startswith("distances"):
        a, b = (rows.astype(np.float64) for rows in data["rows"])
        return np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))
    if what.startswith("mean"):
        timestamps, values = data["points"]
        starts = np.unique(timestamps // 35, return_index=True)[1]
        return np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values)))
    (boxes,) = data["boxes"]
    overlap = (boxes[:, None, :3] <= boxes[None, :, 3:]) & (boxes[:, None, 3:] >= boxes[None, :, :3])
    return np.argwhere(overlap.all(axis=2))


def as_array(result: Any) -> NDArray[Any]:
    """The numbers of a result: means, pairs, or an array."""
    if isinstance(result, gridstride.Overlaps):
        return result.pairs()
    return result["mean"] if isinstance(result, time_series.Buckets) else result


def check(results: dict[str, NDArray[Any]], expected: NDArray[Any], what: str) -> None:
    """Fail if a library computes something else than NumPy in float64.

    The results are sums of up to 128 products or squares of float32, none above 1, square roots of such sums, or means:
    each program is off by γ(129)·128 at most, u = 2⁻²⁴. Pairs are whole numbers."""
    for program, result in results.items():
        assert result.shape == expected.shape, f"{what}: {program} has another shape"
        error = np.abs(result.astype(np.float64) - expected).max()
        assert error <= 130 * 2.0**-24 * 128, f"{what}: {program} is off by {error}"


def measure_host(device: str, sizes: str, cupy: Any | None, torch: Any | None) -> None:
    """Time calls from the host's memory."""
    calls, batches = ON_HOST[sizes]
    data = inputs()
    for what, programs in host_calls(device, data, cupy, torch).items():
        progress(f"overhead: {what}, from the host")
        check({program: as_array(call()) for program, call in programs.items()}, plain(what, data), what)
        times = {
            program: milliseconds(partial(in_a_row, call, calls), lambda: None, calls, batches)
            for program, call in programs.items()
        }
        show(f"{what}, from the host", times)


def measure_resident(device: gridstride.Device, sizes: str, cupy: Any | None, torch: Any | None) -> None:
    """Time calls on arrays in the device's memory, whose results stay there."""
    calls, batches = RESIDENT[sizes]
    data = inputs()
    for what, operation, name in (
        ("product 128×128, float32", "matmul", "matrices"),
        ("distances 100×100×96, float32", "distances", "rows"),
    ):
        progress(f"overhead: {what}, on the device")
        results, in_rows, alone = {}, {}, {}
        for program, library in libraries(device, cupy, torch).items():
            a, b = (library.upload(array) for array in data[name])
            compute = getattr(library, operation)

            results[program] = library.download(compute(a, b))
            in_rows[program], alone[program] = both_ways(partial(compute, a, b), library.wait, calls, batches)
        check(results, plain(what, data), what)
        show(f"{what}, on the device, not waited for", in_rows)
        show(f"{what}, on the device, each waited for", alone)
