import numpy as np
import pytest
import shapely

from gridstride import box_overlap


def boxes(rng, count, dimensions, dtype):
    low = rng.integers(0, 40, (count, dimensions))
    return np.hstack([low, low + rng.integers(0, 9, (count, dimensions))]).astype(dtype)


def pairs_of(set1, set2):
    """All pairs by the definition."""
    d = set1.shape[1] // 2
    overlap = (set1[:, None, :d] <= set2[None, :, d:]) & (set1[:, None, d:] >= set2[None, :, :d])
    return np.argwhere(overlap.all(axis=2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("counts", [(60, 80), (1, 1), (0, 5), (5, 0)], ids=str)
def test_all_pairs(device, rng, dtype, dimensions, counts):
    set1, set2 = (boxes(rng, count, dimensions, dtype) for count in counts)
    expected = pairs_of(set1, set2)
    for algorithm in ("auto", "brute_force", "indexed"):
        found = box_overlap(set1, set2, algorithm=algorithm, device=device)
        assert found.offsets.dtype == np.int64 and found.indices.dtype == np.int32
        np.testing.assert_array_equal(found.pairs(), expected)


def test_within_one_set(device, rng):
    boxes1 = boxes(rng, 50, 3, np.float32)
    expected = pairs_of(boxes1, boxes1)
    found = box_overlap(boxes1, device=device)
    np.testing.assert_array_equal(found.pairs(), expected[expected[:, 0] < expected[:, 1]])
    assert found.shape == (50, 50)


def test_shapely(rng):
    set1, set2 = boxes(rng, 200, 2, np.float64), boxes(rng, 300, 2, np.float64)
    tree = shapely.STRtree(shapely.box(*set2.T))
    expected = np.array(sorted(zip(*tree.query(shapely.box(*set1.T), predicate="intersects"))))
    np.testing.assert_array_equal(box_overlap(set1, set2).pairs(), expected)


def test_views_are_read_in_place(device, rng):
    table = np.asfortranarray(boxes(rng, 40, 3, np.float64))
    found = box_overlap(table[::-2], table[1::3], device=device)
    np.testing.assert_array_equal(found.pairs(), pairs_of(table[::-2], table[1::3]))


def test_result(rng):
    set1, set2 = boxes(rng, 30, 2, np.int32), boxes(rng, 40, 2, np.int32)
    found = box_overlap(set1, set2)
    assert len(found) == 30 and found.shape == (30, 40)
    assert found.counts.tolist() == [len(found[row]) for row in range(30)]
    assert found[-1].tolist() == found[29].tolist()
    with pytest.raises(IndexError, match="there is no box 30 in the first set: there are 30"):
        found[30]
    sparse = found.to_scipy()
    assert sparse.shape == (30, 40) and sparse.dtype == bool
    np.testing.assert_array_equal(np.argwhere(sparse.toarray()), found.pairs())
    assert box_overlap(set1[:0], set2).to_scipy().shape == (0, 40)


def test_infinite_limits(device):
    everything = np.array([[-np.inf, -np.inf, np.inf, np.inf]])
    assert box_overlap(everything, np.array([[0.0, 0.0, 0.0, 0.0]]), device=device).counts.tolist() == [1]


def test_refused(rng):
    good = boxes(rng, 3, 2, np.float64)
    with pytest.raises(ValueError, match="box_overlap: row 1 of set2 is no box: .*NaN is no limit") as raised:
        box_overlap(good, np.array([[0.0, 0, 1, 1], [0, np.nan, 1, 1]]))
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="both sets must have the same number of dimensions"):
        box_overlap(good, boxes(rng, 3, 3, np.float64))
    with pytest.raises(ValueError, match="box_overlap: "):
        box_overlap(good[:, :3])
    with pytest.raises(TypeError, match="the dtype of set1 is int64, but possible are float32, float64, int32"):
        box_overlap(good.astype(np.int64))
    with pytest.raises(TypeError, match="the dtype of set2 is float32, but possible are float64"):
        box_overlap(good, good.astype(np.float32))
    with pytest.raises(ValueError, match='algorithm is "tree"'):
        box_overlap(good, algorithm="tree")


def test_only_numbers_are_rows(rng):
    found = box_overlap(boxes(rng, 3, 2, np.int32))
    for wrong in (slice(0, 1), 1.0):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            found[wrong]
