"""scikit-learn's exact search on the CPU, on the workload of benches/nearest.rs --device cpu.

Run with scikit-learn and NumPy:  python3 nearest_sklearn.py [QUERIES [ROWS [DIM]]]
The times are those of NearestNeighbors(algorithm="brute").kneighbors on all cores, by the clock, without the fit. It computes in
float32 by ‖a‖² + ‖b‖² − 2ab; the error is the largest relative error of the distances of three queries, compared with those in
float64.
"""

import sys

import numpy as np
import sklearn
from sklearn.neighbors import NearestNeighbors

from timing import clock_ms, grouped, row

RUNS = 5
K, CHECKED = 10, 3


def main():
    numbers = [int(text) for text in sys.argv[1:]] + [2000, 100_000, 96][len(sys.argv) - 1 :]
    queries, rows, dim = numbers
    generator = np.random.default_rng(1)
    a, b = (generator.random((count, dim), dtype=np.float32) - np.float32(0.5) for count in (queries, rows))
    index = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=-1).fit(b)
    found = []

    def search():
        found[:] = index.kneighbors(a)

    times = [clock_ms(search) for _ in range(RUNS + 1)][1:]
    errors = []
    for query, distances, places in zip(a.astype(np.float64), *found):
        exact = np.sqrt(((b - query) ** 2).sum(axis=1))
        least = np.sort(exact)[:K]
        errors += [np.abs(distances - expected) / expected for expected in (least, exact[places])]
        if len(errors) == 2 * CHECKED:
            break
    error = float(np.max(errors))
    # Squares of rows in a cube are about 16, and errors of some roundings of float32. So written, NaN fails too.
    assert error <= 1e-4, f"distances are {error} off"
    row(
        f"{grouped(queries)} queries in {grouped(rows)} rows, k = {K}, f32",
        times,
        program="scikit-learn",
        version=sklearn.__version__,
        clock="call",
        error=error,
    )


if __name__ == "__main__":
    main()
