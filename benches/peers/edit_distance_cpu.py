"""edlib and rapidfuzz on the pairs of benches/edit_distance.rs, on all cores and on one.

Run with both packages of PyPI:  python3 edit_distance_cpu.py FOLDER [PROCESSES]
FOLDER has the pairs and gridstride's distances, written by benches/edit_distance --write FOLDER.
edlib has a process a core, rapidfuzz a thread. Times are those of whole calls, for the whole case where only a share of its
pairs was computed. Distances that differ from gridstride's are an error.
"""

import os
import sys
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import edlib
import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from timing import clock_ms, repeated, row

RUNS = 3
# Entries that one core computes, and as many more on all cores as there are.
ENTRIES = 4_000_000_000

# The pairs of a case, which child processes inherit.
pairs = []


def work(task):
    start, end = task
    return [edlib.align(a, b, mode="NW", task="distance")["editDistance"] for a, b, _ in pairs[start:end]]


def by_edlib(count, pool, cores):
    if cores == 1:
        return work((0, count))
    # Several tasks for each process, for balance.
    step = max(1, count // (8 * cores))
    tasks = [(start, min(start + step, count)) for start in range(0, count, step)]
    return [distance for part in pool.map(work, tasks, chunksize=1) for distance in part]


def by_rapidfuzz(count, pool, cores):
    a, b, _ = zip(*pairs[:count])
    return cpdist(a, b, scorer=Levenshtein.distance, dtype=np.uint32, workers=cores)


PEERS = {"edlib": by_edlib, "rapidfuzz": by_rapidfuzz}


def measure(case, total, name, count, pool, cores):
    found = []
    call = lambda: found.append(PEERS[name](count, pool, cores))
    times = repeated(lambda: clock_ms(call), RUNS)
    for distances in found:
        assert len(distances) == count, f"{name} computed {len(distances)} of {count} distances"
        for i, (distance, pair) in enumerate(zip(distances, pairs)):
            assert distance == pair[2], f"pair {i} of {case}: {distance} by {name}, not {pair[2]}"
    program = f"{name} ({'one core' if cores == 1 else 'all cores'})"
    share = count / total if count < total else None
    row(case, times, program, version=version(name), clock="call", share=share)


def most(limit):
    """How many of the first pairs have about so many entries."""
    count, entries = 0, 0
    while count < len(pairs) and (count == 0 or entries < limit):
        entries += len(pairs[count][0]) * len(pairs[count][1])
        count += 1
    return count


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else len(os.sched_getaffinity(0))
    for file in sorted(Path(sys.argv[1]).glob("*.tsv")):
        pairs.clear()
        with open(file) as lines:
            case, total = next(lines).split("\t")
            for line in lines:
                a, b, distance = line.split("\t")
                pairs.append((a, b, int(distance)))
        # Started after reading, so that they have the pairs.
        with get_context("fork").Pool(processes) as pool:
            for name in PEERS:
                measure(case, int(total), name, most(ENTRIES), pool, 1)
                # All long pairs, a few for each core.
                count = max(most(ENTRIES * processes), min(len(pairs), 2 * processes))
                measure(case, int(total), name, count, pool, processes)


if __name__ == "__main__":
    main()
