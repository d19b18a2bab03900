"""Box overlap with Shapely's STRtree on the CPU: a tree on x and y, and a filter on z.

Run with Shapely and NumPy (pip install shapely):  python3 box_overlap_strtree.py FOLDER
The folder is what benches/box_overlap.rs writes: set1.npy and set2.npy, or with --sweep a folder for each size.
The files hold boxes of float32, N×6: minX, minY, minZ, maxX, maxY, maxZ; those of the example are
numpy.loadtxt(CSV, numpy.float32, delimiter=",", skiprows=1, usecols=range(1, 7)).
Times include building the tree, on one core, which is what Shapely uses. The pairs are checked on a sample of rows against
NumPy.
"""

import sys
from pathlib import Path

import numpy as np
import shapely

from timing import clock_ms, grouped, repeated, row

RUNS = 5


def load(path):
    boxes = np.load(path)
    assert boxes.dtype == np.float32 and boxes.ndim == 2 and boxes.shape[1] == 6, f"{path} is not N×6 float32"
    return boxes


def build(set2):
    return shapely.STRtree(shapely.box(set2[:, 0], set2[:, 1], set2[:, 3], set2[:, 4]))


def query(tree, set1, set2):
    """All pairs, P×2, in no order."""
    first, second = tree.query(shapely.box(set1[:, 0], set1[:, 1], set1[:, 3], set1[:, 4]))
    overlap = (set1[first, 2] <= set2[second, 5]) & (set1[first, 5] >= set2[second, 2])
    return np.stack([first[overlap], second[overlap]], axis=1)


def check(set1, set2, pairs):
    """Compares some rows with NumPy's."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    for i in np.unique(np.linspace(0, len(set1) - 1, 1000).astype(int)):
        overlap = (set1[i, :3] <= set2[:, 3:]).all(axis=1) & (set1[i, 3:] >= set2[:, :3]).all(axis=1)
        start, end = np.searchsorted(pairs[:, 0], [i, i + 1])
        assert (pairs[start:end, 1] == np.flatnonzero(overlap)).all(), f"row {i} has other pairs"


def measure(folder, is_point):
    set1, set2 = (load(folder / name) for name in ("set1.npy", "set2.npy"))
    check(set1, set2, query(build(set2), set1, set2))
    times = repeated(lambda: clock_ms(lambda: query(build(set2), set1, set2)), RUNS)
    case = f"STRtree: {len(set1)}" if is_point else f"pipes, {grouped(len(set1))} × {grouped(len(set2))}"
    row(case, times, "Shapely (STRtree)", version=shapely.__version__, clock="call")


def main():
    folder = Path(sys.argv[1])
    sizes = sorted((size for size in folder.iterdir() if size.is_dir()), key=lambda size: int(size.name))
    for size in sizes or [folder]:
        measure(size, bool(sizes))


if __name__ == "__main__":
    main()
