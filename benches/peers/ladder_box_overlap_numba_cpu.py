"""The published box overlap on the CPU, beside `gridstride_learn box-overlap`.

Run with Numba and NumPy:  python3 ladder_box_overlap_numba_cpu.py [--boxes 200000] [--runs 3]
Times are those of whole calls by the host's clock. The slow versions search for a share of
the first set only: the times are divided by that share. All matches found are compared with those of a search along x.

broadcasting: NumPy, slices of boxes of the first set against all of the second.
compiled:     Numba, a loop over both sets, a box of the first set in locals; f32 and i32, on one core and on all.
"""

import argparse

import numpy as np
from numba import __version__, njit, prange

from boxes import LIMIT, OVERFLOW, UNUSED, check, matches, welds_and_segments
from timing import clock_ms, repeated, row

# Boxes of the first set that a slow version searches for, and of a slice.
OF_BROADCASTING, OF_ONE_CORE, SLICE = 2000, 10_000, 500


def broadcasting(set1, set2):
    out = np.full((len(set1), LIMIT), UNUSED, np.int32)
    for start in range(0, len(set1), SLICE):
        part = set1[start : start + SLICE, None]
        overlap = ((part[..., :3] <= set2[None, :, 3:]) & (part[..., 3:] >= set2[None, :, :3])).all(axis=2)
        for i, row in enumerate(overlap, start):
            found = np.flatnonzero(row)
            out[i, : min(len(found), LIMIT)] = found[:LIMIT]
            if len(found) > LIMIT:
                out[i, -1] = OVERFLOW
    return out


@njit
def find(own, set2, places):
    x0, y0, z0, x1, y1, z1 = own[0], own[1], own[2], own[3], own[4], own[5]
    count = 0
    for j in range(len(set2)):
        if (
            x0 <= set2[j, 3]
            and y0 <= set2[j, 4]
            and z0 <= set2[j, 5]
            and x1 >= set2[j, 0]
            and y1 >= set2[j, 1]
            and z1 >= set2[j, 2]
        ):
            if count < LIMIT:
                places[count] = j
            else:
                places[LIMIT - 1] = OVERFLOW
            count += 1


@njit
def one_core(set1, set2):
    out = np.full((len(set1), LIMIT), UNUSED, np.int32)
    for i in range(len(set1)):
        find(set1[i], set2, out[i])
    return out


@njit(parallel=True)
def all_cores(set1, set2):
    out = np.full((len(set1), LIMIT), UNUSED, np.int32)
    for i in prange(len(set1)):
        find(set1[i], set2, out[i])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--boxes", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    integers = welds_and_segments(options.boxes)
    floats = [(boxes / 1000).astype(np.float32) for boxes in integers]
    n = len(integers[0])
    for version, search, sets, rows in (
        ("broadcasting", broadcasting, floats, OF_BROADCASTING),
        ("plain", one_core, floats, OF_ONE_CORE),
        ("plain, i32", one_core, integers, OF_ONE_CORE),
        ("threads", all_cores, floats, n),
        ("threads, i32", all_cores, integers, n),
    ):
        set1, set2 = sets[0][:rows], sets[1]
        expected, _ = matches(set1, set2)
        # Compiles it too.
        check(search(set1[:10], set2), expected[:10], version)
        found = []
        call = lambda: found.append(search(set1, set2))
        times = repeated(lambda: clock_ms(call), options.runs)
        check(found[-1], expected, version)
        program, of = ("NumPy", np.__version__) if search is broadcasting else ("Numba", __version__)
        share = rows / n if rows < n else None
        row(version, times, program, version=of, clock="call", share=share)


if __name__ == "__main__":
    main()
