"""Prints the tables of python/README.md: the articles' tasks, and what a call costs.

    python python/benches/run.py [--device cuda:0] [--json FILE] [--only articles|overhead]

Peers that are not installed, or find no GPU, are left out: Numba, CuPy and PyTorch. On a machine without a GPU:

    NUMBA_ENABLE_CUDASIM=1 python python/benches/run.py --device cpu --small
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import articles
import overhead
from measure import MissingPeer, machine, module, progress, table

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


def shown(row: dict[str, Any], programs: list[str], digits: int) -> list[str]:
    """The cells of a row: the median, with the least and the most in brackets."""
    cells = []
    for program in programs:
        times = row.get(program)
        text = "{median:,.{d}f} ({least:,.{d}f}–{most:,.{d}f})"
        cells.append("" if times is None else text.format(**times, d=digits))
    return cells


def markdown(facts: dict[str, Any], tasks: list[dict[str, Any]], calls: list[dict[str, Any]]) -> str:
    """All tables, below the machine."""
    versions = facts["versions"]
    installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    lines = [f"{facts['device']}; {facts['host']}; {installed}.", ""]
    missing = [name for name, is_used in facts["peers"].items() if not is_used]
    if missing:
        lines += [f"Not measured, since missing here: {', '.join(missing)}.", ""]
    if tasks:
        programs = ["gridstride", "Numba", "PyTorch"]
        rows = [[f"{row['task']}: {row['size']}", *shown(row["times_ms"], programs, 1)] for row in tasks]
        lines += [table(["task", *(f"{program}, ms" for program in programs)], rows), ""]
    if calls:
        programs = ["gridstride", "CuPy", "PyTorch", "NumPy"]
        rows = [[row["call"], *shown(row["times_us"], programs, 1)] for row in calls]
        lines += [table(["call", *(f"{program}, µs" for program in programs)], rows), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="tiny sizes, which only check that everything works")
    parser.add_argument("--runs", type=int, help="timed calls of each task, after a first one")
    parser.add_argument("--only", choices=["articles", "overhead"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to a file too")
    options = parser.parse_args()
    sizes = "small" if options.small else "full"
    device = gridstride.Device(options.device)
    numba, cupy, torch = module("numba_programs"), cupy_on(device), torch_on(device)
    facts = machine(device)
    facts["peers"] = {"Numba": numba is not None, "CuPy": cupy is not None, "PyTorch": torch is not None}
    tasks, calls = [], []
    if options.only != "overhead":
        programs = articles.Programs(options.device, numba, torch)
        tasks = list(articles.measure(programs, sizes, options.runs or RUNS[sizes]))
    if options.only != "articles":
        calls = list(overhead.measure_host(options.device, sizes, cupy, torch))
        # The CPU has no memory of its own.
        if device.kind != "cpu":
            calls += overhead.measure_resident(device, sizes, cupy, torch)
    if options.json:
        options.json.write_text(json.dumps({**facts, "articles": tasks, "overhead": calls}, indent=1) + "\n")
    print(markdown(facts, tasks, calls))
    progress("done")


if __name__ == "__main__":
    main()
