"""Sketches of the sequences of a Parquet data set, by Ray on two worker processes, and the nearest sequence of each.

    python ray_tensor_sketch.py [FOLDER]

FOLDER has Parquet files with the columns id and sequence: DNA. Without FOLDER, the program makes such a data set, in which
sequences come in similar pairs, and checks the result.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import gridstride
import numpy as np
import pandas as pd
import ray
from gridstride.tensor_sketch import TensorSketch
from ray.util import ActorPool

WORKERS = 2


class Sketcher:
    """A worker process, which makes its sketcher once for all files."""

    def __init__(self) -> None:
        self.sketcher = sketcher()

    def sketch(self, file: Path) -> pd.DataFrame:
        """The columns id and sketch of the records of a file, and the number of the process."""
        records = pd.read_parquet(file, columns=["id", "sequence"])
        sketches = self.sketcher.sketch(records["sequence"])
        return pd.DataFrame({"id": records["id"], "sketch": list(sketches), "process": os.getpid()})


def sketcher() -> TensorSketch:
    # Equal seeds give equal tables in every process, so that all sketches can be compared.
    return TensorSketch(dim=64, tuple=3, seed=1, normalize=True)


def sketch_files(folder: Path) -> pd.DataFrame:
    """Sketches the files on the workers. A worker takes the next file when it has finished one."""
    workers = ActorPool([ray.remote(Sketcher).remote() for _ in range(WORKERS)])
    tables = workers.map(lambda worker, file: worker.sketch.remote(file), sorted(folder.glob("*.parquet")))
    return pd.concat(tables, ignore_index=True)


def generate(folder: Path, files: int = 6, pairs: int = 50) -> None:
    """Writes files with pairs of sequences that differ in a few letters."""
    rng = np.random.default_rng(1)
    for file in range(files):
        first = rng.choice(list("ACGT"), (pairs, 500))
        second = np.where(rng.random(first.shape) < 0.005, rng.choice(list("ACGT"), first.shape), first)
        names = [f"{file}-{pair:02}{member}" for member in "ab" for pair in range(pairs)]
        sequences = ["".join(letters) for letters in (*first, *second)]
        pd.DataFrame({"id": names, "sequence": sequences}).to_parquet(folder / f"{file}.parquet", index=False)


def check(found: pd.DataFrame, folder: Path) -> None:
    """Compares the sketches with those of a single call, and the nearest sequences with the pairs."""
    records = pd.read_parquet(folder)
    assert found["process"].nunique() == WORKERS
    assert found["id"].tolist() == records["id"].tolist()
    # A sketch does not depend on the other sequences of the call.
    assert np.array_equal(np.stack(found["sketch"]), sketcher().sketch(records["sequence"]))
    print("a single call agrees")
    assert (found["nearest"].str[:-1] == found["id"].str[:-1]).all()
    print("all pairs are found")


def main() -> None:
    parser = argparse.ArgumentParser(description="Sketches of a Parquet data set, by Ray on two workers.")
    parser.add_argument("folder", nargs="?", type=Path, help="Parquet files with the columns id and sequence")
    given: Path | None = parser.parse_args().folder

    # On the CPU, a call uses all cores by default. Here each worker has its share.
    threads = max(1, (os.cpu_count() or 1) // WORKERS)
    with (
        ray.init(
            num_cpus=WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"env_vars": {"RAYON_NUM_THREADS": str(threads)}},
        ),
        tempfile.TemporaryDirectory() as temporary,
    ):
        folder = given or Path(temporary)
        if given is None:
            generate(folder)
        found = sketch_files(folder)
        # Sketches are small: one process compares all of them. The nearest row of each is the row itself.
        sketches = np.stack(found["sketch"])
        nearest = gridstride.nearest(sketches, sketches, k=2)
        itself = nearest.indices[:, 0] == np.arange(len(found))
        other = np.where(itself, nearest.indices[:, 1], nearest.indices[:, 0])
        found["nearest"] = found["id"].to_numpy()[other]
        print(found[["id", "nearest"]])
        if given is None:
            check(found, folder)


if __name__ == "__main__":
    main()
