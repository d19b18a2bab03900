"""How times are taken and shown, and which peers there are."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

START = time.perf_counter()

#: The folder with the Numba kernels of the articles.
PEERS = Path(__file__).resolve().parents[2] / "benches" / "peers"
sys.path.insert(0, str(PEERS))

from timing import grouped, row  # noqa: E402


def progress(text: str) -> None:
    """Say on stderr what is running."""
    print(f"[{time.perf_counter() - START:6.1f} s] {text}", file=sys.stderr, flush=True)


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


#: The modules of the programs that are measured.
MODULES = {"gridstride": "gridstride", "Numba": "numba", "CuPy": "cupy", "PyTorch": "torch", "NumPy": "numpy"}


def show(case: str, times: dict[str, list[float]]) -> None:
    """Print a row for each program, from the milliseconds of its calls."""
    for program, milliseconds in times.items():
        version = importlib.import_module(MODULES[program]).__version__
        name = "gridstride (Python)" if program == "gridstride" else program
        row(case, milliseconds, name, version=version, clock="call")


def module(name: str) -> Any | None:
    """A module of this folder, or None if a package that it needs cannot be imported or finds no GPU."""
    try:
        return importlib.import_module(name)
    except (ImportError, MissingPeer) as error:
        progress(f"{name} is left out: {error}")
        return None


class MissingPeer(Exception):
    """A package that is installed cannot compute here."""
