"""Times the articles' tasks, and what a call costs, and prints a row for each program.

    python python/benches/run.py [--device cuda:0] [--only articles|overhead]

Peers that are not installed, or find no GPU, are left out: Numba, CuPy and PyTorch. On a machine without a GPU:

    NUMBA_ENABLE_CUDASIM=1 python python/benches/run.py --device cpu --small
"""

from __future__ import annotations

import argparse
from typing import Any

import articles
import overhead
from measure import MissingPeer, module, progress

import gridstride

RUNS = {"full": 7, "small": 1}


def cupy_on(device: gridstride.Device) -> Any | None:
    """CuPy, if it computes on the device."""
    if device.kind == "cpu":
        return None
    cupy = module("cupy")
    if cupy is not None:
        cupy.cuda.Device(int(device.name.split(":")[1])).use()
    return cupy


def torch_on(device: gridstride.Device) -> Any | None:
    """PyTorch's programs on the device."""
    programs = module("torch_programs")
    try:
        return programs and programs.Programs(device.name)
    except MissingPeer as error:
        progress(f"PyTorch is left out: {error}")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="tiny sizes, which only check that everything works")
    parser.add_argument("--runs", type=int, help="timed calls of each task, after a first one")
    parser.add_argument("--only", choices=["articles", "overhead"])
    options = parser.parse_args()
    sizes = "small" if options.small else "full"
    device = gridstride.Device(options.device)
    numba, cupy, torch = module("numba_programs"), cupy_on(device), torch_on(device)
    if options.only != "overhead":
        programs = articles.Programs(options.device, numba, torch)
        articles.measure(programs, sizes, options.runs or RUNS[sizes])
    if options.only != "articles":
        overhead.measure_host(options.device, sizes, cupy, torch)
        # The CPU has no memory of its own.
        if device.kind != "cpu":
            overhead.measure_resident(device, sizes, cupy, torch)
    progress("done")


if __name__ == "__main__":
    main()
