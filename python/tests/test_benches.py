"""The benchmarks, in small sizes on the CPU, with Numba's kernels in Numba's simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def simulated(*command):
    """Run a program of the repository with Numba's simulator; return what it prints."""
    pytest.importorskip("numba")
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_benchmark_checks_all_programs(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDSTRIDE_BENCH_ROWS", str(tmp_path / "rows"))
    simulated("python/benches/run.py", "--device", "cpu", "--small")
    rows = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    programs = {}
    for row in rows:
        programs.setdefault(row["case"].split(":")[0], set()).add(row["program"])
    tasks = ["tensor sketch", "box overlap", "matrix product", "thin product", "time series"]
    assert all({"gridstride (Python)", "Numba"} <= programs[task] for task in tasks)
    assert len([case for case in programs if case.endswith(", from the host")]) == 3


def test_the_benchmark_of_labels_compares_its_results():
    printed = simulated("python/benches/labels.py", "--points", "20000", "--labels", "7", "--runs", "1")
    assert all(kind in printed for kind in ("strings of pandas", "Categorical of polars", "integers"))


@pytest.mark.parametrize(
    "program",
    [
        "ladder_vector_add_numba.py --elements 600 --streams 2",
        "ladder_timestamps_numba.py --points 903",
        "ladder_box_overlap_numba.py --boxes 60",
        "ladder_matmul_numba.py matmul --m 17 --k 18 --n 5",
        "ladder_matmul_numba.py block-shape --m 17 --k 18 --n 5",
        "ladder_tensor_sketch_numba.py --sequences 1 --letters 6 --equal",
    ],
)
def test_the_kernels_of_the_guide_are_right(program):
    """The programs compare all results of the kernels that the guide shows, from plain to fast."""
    simulated(*f"benches/peers/{program} --runs 0".split())
