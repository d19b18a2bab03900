"""The boxes of the published program, and all their pairs: a module of the programs beside it."""

import random

import numpy as np
from numba import njit, prange

# Places for the matches of a box, what is in those that are not used, and in the last one of a box with more matches.
LIMIT, UNUSED, OVERFLOW = 6, -1, -2


def welds_and_segments(boxes, seed=42):
    """Chains of 20 segments along random axes, and a weld around the start of each: whole millimetres, N×6."""
    random.seed(seed)
    welds, segments = [], []
    for _ in range(-(-boxes // 20)):
        start = [random.randint(200_000, 400_000), random.randint(200_000, 400_000), random.randint(200_000, 250_000)]
        for _ in range(20):
            axis = random.randint(0, 2)
            end = list(start)
            end[axis] += random.randint(1000, 9000)
            around = [75 * (i != axis) for i in range(3)]
            segments.append([a - b for a, b in zip(start, around)] + [a + b for a, b in zip(end, around)])
            welds.append([a - 80 for a in start] + [a + 80 for a in start])
            start = end
    return np.array(welds[:boxes], np.int32), np.array(segments[:boxes], np.int32)


@njit
def first_matches(own, set2, order, starts, longest, row):
    """Writes the first matches of a box, ascending, by a search along x; returns the number of all."""
    count = 0
    for place in range(np.searchsorted(starts, own[0] - longest), np.searchsorted(starts, own[3], side="right")):
        j = order[place]
        other = set2[j]
        if (
            own[0] <= other[3]
            and own[1] <= other[4]
            and own[2] <= other[5]
            and own[3] >= other[0]
            and own[4] >= other[1]
            and own[5] >= other[2]
        ):
            # Keeps the smallest, in order.
            last = min(count, LIMIT)
            while last > 0 and row[last - 1] > j:
                if last < LIMIT:
                    row[last] = row[last - 1]
                last -= 1
            if last < LIMIT:
                row[last] = j
            count += 1
    if count > LIMIT:
        row[LIMIT - 1] = OVERFLOW
    return count


@njit(parallel=True)
def swept(set1, set2, order, longest, out):
    """Writes the first matches of each box; returns the number of pairs."""
    starts = set2[order, 0]
    # Not a reduction: Numba 0.68 fails to compile one here under Python 3.12.
    counts = np.zeros(len(set1), np.int64)
    for i in prange(len(set1)):
        counts[i] = first_matches(set1[i], set2, order, starts, longest, out[i])
    return counts.sum()


def matches(set1, set2):
    """The first matches of each box of the first set, as the kernels write them, and the number of all pairs."""
    out = np.full((len(set1), LIMIT), UNUSED, np.int32)
    order = np.argsort(set2[:, 0], kind="stable")
    pairs = swept(set1, set2, order, (set2[:, 3] - set2[:, 0]).max(), out)
    return out, pairs


def check(found, expected, name):
    """Fails at the first box with other matches."""
    wrong = np.flatnonzero((found != expected).any(axis=1))
    assert len(wrong) == 0, f"{name}: box {wrong[0]} has the matches {found[wrong[0]]}, not {expected[wrong[0]]}"
