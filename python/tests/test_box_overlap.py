import numpy as np
import pytest
import shapely

from gridstride import box_overlap, box_overlap_counts, box_overlap_slices


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
    with pytest.raises(TypeError, match="the dtype of set1 is complex128, but possible are float32, float64, int32"):
        box_overlap(good.astype(complex))
    with pytest.raises(TypeError, match="the dtype of set2 is <U1, but possible are float64"):
        box_overlap(good, [["0", "0", "1", "1"]])
    with pytest.raises(ValueError, match='algorithm is "tree"'):
        box_overlap(good, algorithm="tree")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_counts(device, rng, dtype):
    set1, set2 = boxes(rng, 60, 3, dtype), boxes(rng, 80, 3, dtype)
    for algorithm in ("auto", "brute_force", "indexed"):
        counts = box_overlap_counts(set1, set2, algorithm=algorithm, device=device)
        assert counts.dtype == np.int32
        np.testing.assert_array_equal(counts, np.bincount(pairs_of(set1, set2)[:, 0], minlength=60))
    np.testing.assert_array_equal(box_overlap_counts(set1, device=device), box_overlap(set1).counts)
    assert box_overlap_counts(set1[:0], set2, device=device).shape == (0,)
    with pytest.raises(ValueError, match="box_overlap_counts: row 0 of set2 is no box"):
        box_overlap_counts(set1, set2[:, [3, 4, 5, 0, 1, 2]] + np.array([9, 0, 0, 0, 0, 0], dtype), device=device)


@pytest.mark.parametrize("max_pairs", [0, 7, 10_000])
@pytest.mark.parametrize("is_self", [False, True])
def test_slices(device, rng, max_pairs, is_self):
    set1 = boxes(rng, 40, 2, np.float64)
    set2 = None if is_self else boxes(rng, 50, 2, np.float64)
    expected = box_overlap(set1, set2)
    found, next_row = [], 0
    for rows, overlaps in box_overlap_slices(set1, set2, max_pairs=max_pairs, device=device):
        assert rows.start == next_row and overlaps.shape == (len(rows), expected.shape[1])
        assert len(overlaps.indices) <= max_pairs or len(rows) == 1
        found.append(overlaps.pairs() + [rows.start, 0])
        next_row = rows.stop
    assert next_row == 40 and (len(found) == 1) == (max_pairs == 10_000)
    np.testing.assert_array_equal(np.concatenate(found), expected.pairs())


def test_slices_end_early_and_fail(device, rng):
    set1 = boxes(rng, 40, 2, np.float64)
    slices = box_overlap_slices(set1, max_pairs=1, device=device)
    assert next(slices).rows.start == 0
    del slices
    assert list(box_overlap_slices(set1[:0], max_pairs=1, device=device)) == []
    with pytest.raises(ValueError, match="box_overlap_slices: row 0 of") as raised:
        list(box_overlap_slices(np.full((2, 4), np.nan), max_pairs=1, device=device))
    assert raised.value.index == 0
    with pytest.raises(ValueError, match="max_pairs is -1"):
        list(box_overlap_slices(set1, max_pairs=-1))


def test_matrices(rng):
    set1, set2 = boxes(rng, 30, 2, np.int32), boxes(rng, 40, 2, np.int32)
    found = box_overlap(set1, set2)
    np.testing.assert_array_equal(np.argwhere(found.toarray()), found.pairs())
    assert found.toarray().shape == (30, 40)
    matrix = found.to_matrix(3)
    assert matrix.shape == (30, 3) and matrix.dtype == np.int32
    for row, expected in zip(matrix, found):
        assert row[row >= 0].tolist() == expected[:3].tolist() and (row[len(expected) :] == -1).all()
    assert found.to_matrix(0).shape == (30, 0)
    shapes = shapely.box(*set1.T)[:, None], shapely.box(*set2.T)[None]
    np.testing.assert_array_equal(found.toarray(), shapely.intersects(*shapes))


def test_only_numbers_are_rows(rng):
    found = box_overlap(boxes(rng, 3, 2, np.int32))
    for wrong in (slice(0, 1), 1.0):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            found[wrong]


def test_integers_and_other_dtypes_keep_every_coordinate(device):
    inner, outer = [[1, 1, 2, 2]], [[0, 0, 4, 4]]
    assert box_overlap(inner, outer, device=device).pairs().tolist() == [[0, 0]]
    for dtype in (np.int8, np.uint16, np.int64, np.uint64, np.float32):
        assert box_overlap(np.array(inner, dtype), np.array(outer, float), device=device).pairs().tolist() == [[0, 0]]
    # As float32 these would touch.
    large = np.array([[2**40, 0, 2**40 + 1, 1]]), np.array([[2**40 + 2, 0, 2**40 + 3, 1]])
    assert box_overlap(*large, device=device).counts.tolist() == [0]
    assert box_overlap_counts(*large).tolist() == [0]
    with pytest.raises(ValueError, match="set1 has the integer 9007199254740993, which float64 would round") as raised:
        box_overlap([[0, 0, 1, 2**53 + 1]])
    assert raised.value.index == 3


def test_bools_are_no_boxes():
    flags = np.array([[False, False, True, True]])
    for boxes in (flags, flags.tolist()):
        with pytest.raises(TypeError, match="box_overlap: the dtype of set1 is bool, but possible are float32, float64, int32"):
            box_overlap(boxes)
        with pytest.raises(TypeError, match="box_overlap_counts: the dtype of set2 is bool"):
            box_overlap_counts(np.zeros((1, 4)), boxes)


def test_no_boxes(device):
    boxes = np.array([[0.0, 0, 1, 1], [0.0, 0, 1, 1]])
    for dtype in (np.float32, np.float64, np.int32):
        found = box_overlap(boxes.astype(dtype), [], device=device)
        assert found.shape == (2, 0) and found.counts.tolist() == [0, 0]
        assert box_overlap([], boxes.astype(dtype), device=device).shape == (0, 2)
    assert box_overlap(np.zeros((1, 6)), []).shape == (1, 0)
    assert box_overlap([]).shape == (0, 0) and box_overlap([], []).shape == (0, 0)
    assert box_overlap_counts(boxes, []).tolist() == [0, 0]
    assert [len(rows) for rows, _ in box_overlap_slices(boxes, [], max_pairs=5)] == [2]


def test_slices_check_their_arguments_at_the_call():
    wrong = np.array([[0.0, 0, 1, 1], [2.0, 0, 1, 1]])
    with pytest.raises(ValueError, match="box_overlap_slices: row 1 of set is no box") as raised:
        box_overlap_slices(wrong, max_pairs=5)
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="box_overlap_slices: .* both sets must have the same number of dimensions"):
        box_overlap_slices(np.zeros((1, 4)), np.zeros((1, 6)), max_pairs=5)
    with pytest.raises(ValueError, match="max_pairs is -1"):
        box_overlap_slices(np.zeros((1, 4)), max_pairs=-1)
