"""FAISS's exact search on the CPU, on the workload of benches/nearest.rs.

Run with FAISS (faiss-cpu on PyPI) and NumPy:  python3 nearest_faiss.py [QUERIES [ROWS [DIM]]]
Each time is a median of 3 searches by IndexFlatL2 on all cores, with the least and the most, by the clock, without adding the
rows to the index. By default there are a tenth of the queries, since it takes so long. FAISS computes in float32, of many
queries by ‖a‖² + ‖b‖² − 2ab; `error` is the largest relative error of the distances of three queries. They fail if they
are further from those in float64 than the roundings of float32 allow.
"""

import sys
import time

import faiss
import numpy as np

from timing import median, said

RUNS = 3
# Neighbours to search, and queries that are checked.
COUNTS, CHECKED = (1, 10, 100, 1000), 3


def squares(query, rows, k):
    """The k least squared distances in float64, a slice of the rows after the other."""
    slices = (rows[start : start + 100_000] for start in range(0, len(rows), 100_000))
    return np.sort(np.concatenate([((part - query) ** 2).sum(axis=1) for part in slices]))[:k]


def bound(query, rows):
    """How far a squared distance of float32 may be from the exact one, by either formula.

    Each term of ‖a‖² + ‖b‖² − 2ab goes through dim + 2 roundings at most, in any order of summation, which gives
    γ(dim + 2)·(‖a‖ + ‖b‖)², γ(m) = m·u / (1 − m·u), u = 2⁻²⁴; summed differences are closer. One more rounding stands for
    those in float64. The k-th least distance is no further off than the distances are."""
    roundings = (len(query) + 3) * 2.0**-24
    longest = max(np.sqrt((rows[start : start + 100_000].astype(np.float64) ** 2).sum(axis=1).max())
                  for start in range(0, len(rows), 100_000))
    return roundings / (1 - roundings) * (np.linalg.norm(query) + longest) ** 2


def main():
    numbers = [int(text) for text in sys.argv[1:]] + [1000, 10_000_000, 96][len(sys.argv) - 1 :]
    queries, rows, dim = numbers
    generator = np.random.default_rng(1)
    a, b = (generator.random((count, dim), dtype=np.float32) - np.float32(0.5) for count in (queries, rows))
    checked = a[:CHECKED].astype(np.float64)
    least = np.array([squares(query, b, max(COUNTS)) for query in checked])
    bounds = np.array([[bound(query, b)] for query in checked])
    index = faiss.IndexFlatL2(dim)
    index.add(b)
    print("faiss", faiss.__version__, f"{faiss.omp_get_max_threads()} threads", f"{queries} queries, {rows} rows of {dim} numbers")
    print(f"{'k':>5} {'ms':>34} {'pairs/s':>10} {'error':>9}")
    for k in COUNTS:
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            distances, _ = index.search(a, k)
            times.append(1e3 * (time.perf_counter() - start))
        exact = least[:, :k]
        differences = np.abs(distances[:CHECKED, : exact.shape[1]] - exact)
        # So written, NaN fails too.
        assert (differences <= bounds).all(), f"k = {k}: squared distances are {differences.max()} off"
        error = (differences / exact).max()
        rate = 1e3 * queries * rows / median(times)
        print(f"{k:>5} {said(times):>34} {rate:>10.2e} {error:>9.1e}")


if __name__ == "__main__":
    main()
