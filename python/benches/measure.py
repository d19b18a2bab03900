"""How times are taken and shown, and which peers there are."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import gridstride

START = time.perf_counter()

#: The folder with the Numba kernels of the articles.
PEERS = Path(__file__).resolve().parents[2] / "benches" / "peers"


def progress(text: str) -> None:
    """Say on stderr what is running."""
    print(f"[{time.perf_counter() - START:6.1f} s] {text}", file=sys.stderr, flush=True)


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def summary(times: list[float]) -> dict[str, Any]:
    """The median of some times, the least and the most."""
    return {"median": statistics.median(times), "least": min(times), "most": max(times), "runs": len(times)}


def module(name: str) -> Any | None:
    """A module of this folder, or None if a package that it needs cannot be imported or finds no GPU."""
    try:
        return importlib.import_module(name)
    except (ImportError, MissingPeer) as error:
        progress(f"{name} is left out: {error}")
        return None


class MissingPeer(Exception):
    """A package that is installed cannot compute here."""


def cpu_name() -> str:
    """The name of the processor."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def machine(device: gridstride.Device) -> dict[str, Any]:
    """The device, the host, and the versions of all packages."""
    versions = {
        "gridstride": metadata.version("gridstride"),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    for name, package in (("Numba", "numba"), ("CuPy", "cupy"), ("PyTorch", "torch")):
        # The distributions of CuPy have other names, such as cupy-cuda13x.
        found = importlib.util.find_spec(package)
        versions[name] = importlib.import_module(package).__version__ if found else None
    return {
        "device": device.info,
        "host": f"{cpu_name()}, {os.cpu_count()} threads",
        "versions": versions,
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, whose first column is text and whose others are numbers."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
