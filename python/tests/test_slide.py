import numpy as np
import pytest

from gridstride import Windows, distances, slide_distances, slide_nearest, slide_paired
from gridstride.tensor_sketch import TensorSketch


def sequences(rng, counts, dtype=np.float64):
    return [rng.standard_normal((count, 3)).astype(dtype) for count in counts]


def definition(a, b):
    """The root of the sum of squares over the windows that both have."""
    if min(len(a), len(b)) == 0:
        return np.nan
    common = min(len(a), len(b))
    return np.sqrt(((a[:common].astype(float) - b[:common]) ** 2).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_definition(device, rng, dtype, metric):
    a, b = sequences(rng, [4, 0, 7], dtype), sequences(rng, [5, 1], dtype)
    expected = np.array([[definition(first, second) for second in b] for first in a])
    expected = expected**2 if metric == "sqeuclidean" else expected
    # γ of 21 + 4 roundings, of the reference too.
    rtol = 25 * np.finfo(dtype).eps
    np.testing.assert_allclose(slide_distances(a, b, metric=metric, device=device), expected, rtol=rtol)
    paired = slide_paired(a[:2], b, metric=metric, device=device)
    np.testing.assert_allclose(paired, np.diag(expected), rtol=rtol)


def test_forms_agree(device, rng):
    windows = rng.standard_normal((4, 5, 3))
    table = slide_distances(windows, device=device)
    assert (np.diag(table) == 0).all()
    rows, offsets = windows.reshape(20, 3), np.arange(0, 21, 5)
    for form in (list(windows), iter(windows), Windows(rows, offsets), np.asfortranarray(windows)):
        assert (slide_distances(form, windows, device=device) == table).all()
    single = Windows(rows, np.arange(21))
    np.testing.assert_allclose(slide_distances(single, device=device), distances(rows), rtol=1e-14)
    out = np.empty((4, 4), order="F")
    assert slide_distances(windows, out=out, device=device) is out and (out == table).all()
    column = np.zeros((4, 2))[:, 1]
    assert slide_paired(windows, windows[::-1], out=column, device=device) is column
    np.testing.assert_allclose(column, np.diag(table[:, ::-1]), rtol=1e-14)


@pytest.mark.parametrize("k", [1, 3])
def test_nearest(device, rng, k):
    queries, database = sequences(rng, [4, 6]), sequences(rng, [5, 3, 9, 4])
    table = slide_distances(queries, database, device=device)
    found = slide_nearest(queries, database, k, device=device)
    np.testing.assert_array_equal(found.indices, np.argsort(table, axis=1)[:, :k])
    np.testing.assert_array_equal(found.distances, np.sort(table, axis=1)[:, :k])


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
def test_sketches_of_windows():
    sketcher = TensorSketch(16, 2)
    texts = ["GATTACAGATTACA", "GATTACACCC", "AC"]
    table = slide_distances([sketcher.windows(text, 6, 2) for text in texts])
    assert table[0, 1] > 0 and np.isnan(table[2]).all()


def test_refused(rng):
    a = sequences(rng, [2, 3])
    with pytest.raises(ValueError, match="slide_distances: a has 2 axes, with the shape"):
        slide_distances(a[0])
    with pytest.raises(ValueError, match="slide_distances: sequence 1 of a has windows of 2 numbers"):
        slide_distances([a[0], a[1][:, :2]])
    with pytest.raises(ValueError, match="the offsets go from 0 to 4, and have to go from 0 to the number of rows, 2"):
        slide_distances(Windows(a[0], np.array([0, 4])))
    with pytest.raises(ValueError, match="the offsets of a have a negative number"):
        slide_distances(Windows(a[0], np.array([-1, 2])))
    with pytest.raises(TypeError, match="the offsets of a have to be integers"):
        slide_distances(Windows(a[0], np.array([0.0, 2.0])))
    with pytest.raises(ValueError, match="slide_paired"):
        slide_paired(a, a[:1])
    with pytest.raises(ValueError, match="slide_nearest: k is -1, but has to be 0 at least"):
        slide_nearest(a, a, k=-1)
    with pytest.raises(TypeError, match="the dtype of a is complex128"):
        slide_distances(np.zeros((1, 2, 3), complex))


def test_masks_are_refused():
    masked = np.ma.array(np.ones((3, 2)), mask=np.eye(3, 2))
    with pytest.raises(TypeError, match="slide_distances: a sequence of a is a masked array"):
        slide_distances([masked])
    with pytest.raises(TypeError, match="slide_distances: out is a masked array"):
        slide_distances(np.ones((3, 2, 2)), out=np.ma.zeros((3, 3)))
    with pytest.raises(TypeError, match="slide_distances: the offsets of a is a masked array"):
        slide_distances(Windows(np.ones((3, 2)), np.ma.array([0, 1, 3], mask=[0, 1, 0])))


def test_other_dtypes_are_promoted(device, rng):
    whole = rng.integers(0, 9, (3, 2, 4))
    expected = slide_distances(whole.astype(float), device=device)
    for same in (whole, list(whole), [whole[0], *whole[1:].astype(np.float32)], whole.astype(">f8"), whole.astype(np.uint8)):
        np.testing.assert_array_equal(slide_distances(same, whole, device=device), expected)
        # γ of 8 + 4 roundings, if both become float32.
        paired = slide_paired(same, whole[::-1].astype(np.float32), device=device)
        np.testing.assert_allclose(paired, np.diag(expected[:, ::-1]), rtol=12 * np.finfo(np.float32).eps)
        np.testing.assert_array_equal(slide_nearest(same, whole, 3, device=device).distances, np.sort(expected, axis=1))
    windows = Windows(whole.reshape(6, 4), np.arange(0, 7, 2))
    np.testing.assert_array_equal(slide_distances(windows, device=device), expected)
    for large in ([np.array([[2**53 + 1]]), np.ones((1, 1))], np.full((1, 1, 1), 2**53 + 1)):
        with pytest.raises(ValueError, match="slide_distances: a has the integer 9007199254740993, which float64 would round"):
            slide_distances(large)
