"""FAISS's exact search on the CPU, on the workload of benches/nearest.rs.

Run with FAISS (faiss-cpu on PyPI) and NumPy:  python3 nearest_faiss.py [QUERIES [ROWS [DIM]]]
Each time is a median of 3 searches by IndexFlatL2 on all cores, with the least and the most, by the clock, without adding the
rows to the index. By default there are a tenth of the queries, since it takes so long. FAISS computes in float32, of many
queries by ‖a‖² + ‖b‖² − 2ab; `error` is the largest relative error of the distances of three queries.
"""

import sys
import time

import faiss
import numpy as np

from timing import median, said

RUNS = 3


def squares(query, rows, k):
    """The k least squared distances in float64, a slice of the rows after the other."""
    slices = (rows[start : start + 100_000] for start in range(0, len(rows), 100_000))
    return np.sort(np.concatenate([((part - query) ** 2).sum(axis=1) for part in slices]))[:k]


def main():
    numbers = [int(text) for text in sys.argv[1:]] + [1000, 10_000_000, 96][len(sys.argv) - 1 :]
    queries, rows, dim = numbers
    generator = np.random.default_rng(1)
    a, b = (generator.random((count, dim), dtype=np.float32) - np.float32(0.5) for count in (queries, rows))
    index = faiss.IndexFlatL2(dim)
    index.add(b)
    print("faiss", faiss.__version__, f"{faiss.omp_get_max_threads()} threads", f"{queries} queries, {rows} rows of {dim} numbers")
    print(f"{'k':>5} {'ms':>34} {'pairs/s':>10} {'error':>9}")
    for k in (1, 10, 100, 1000):
        times = []
        for _ in range(RUNS):
            start = time.perf_counter()
            distances, _ = index.search(a, k)
            times.append(1e3 * (time.perf_counter() - start))
        error = 0.0
        for query in range(min(3, queries)):
            exact = squares(a[query].astype(np.float64), b, k)
            error = max(error, (np.abs(distances[query] - exact) / exact).max())
        rate = 1e3 * queries * rows / median(times)
        print(f"{k:>5} {said(times):>34} {rate:>10.2e} {error:>9.1e}")


if __name__ == "__main__":
    main()
