"""StringZilla's edit distances on a GPU, or on all cores of the CPU, on the sequences of benches/edit_distance.rs.

Run with StringZilla and NumPy (pip install stringzilla stringzillas-cuda, or stringzillas-cpus):
    python3 edit_distance_stringzilla.py FOLDER
FOLDER has the pairs and gridstride's distances, written by benches/edit_distance --write FOLDER. StringZilla computes the
distances of all first sequences to all second ones: as many of both as make the case's number of pairs, or a share of it. Nearly
all of these pairs have nothing in common, so that only the cases of random pairs are measured. Times are those of whole calls.
Distances of the pairs themselves that differ from gridstride's are an error.
"""

import math
import sys
from pathlib import Path

import stringzilla as sz
import stringzillas as szs

from timing import clock_ms, repeated, row

RUNS = 5
# Entries of the tables of distances that are computed at most.
ENTRIES = {"cuda": 2_000_000_000_000, "cpu": 20_000_000_000}


def measure(file, device, scope):
    with open(file) as lines:
        case, total = next(lines).split("\t")
        if not case.endswith("random"):
            return
        pairs = [line.split("\t") for line in lines]
    total, of_pair = int(total), len(pairs[0][0]) * len(pairs[0][1])
    side = max(1, math.isqrt(min(total, ENTRIES[device] // of_pair)))
    side = min(side, len(pairs))
    first, second, distances = zip(*pairs[:side])
    first, second = sz.Strs(list(first)), sz.Strs(list(second))
    engine = szs.LevenshteinDistances(capabilities=scope)
    found = engine(first, second, device=scope)
    for i, distance in enumerate(distances):
        assert found[i, i] == int(distance), f"pair {i} of {case}: {found[i, i]}, not {distance}"
    times = repeated(lambda: clock_ms(lambda: engine(first, second, device=scope)), RUNS)
    program = "StringZilla" if device == "cuda" else "StringZilla (CPU)"
    row(case, times, program, version=szs.__version__, clock="call", share=side**2 / total)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    device = "cuda" if "cuda" in szs.__capabilities__ else "cpu"
    scope = szs.DeviceScope(gpu_device=0) if device == "cuda" else szs.DeviceScope(cpu_cores=0)
    for file in sorted(Path(sys.argv[1]).glob("*.tsv")):
        measure(file, device, scope)


if __name__ == "__main__":
    main()
