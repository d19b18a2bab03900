import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from gridstride import distances, nearest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("shape", [(7, 5, 12), (1, 1, 1), (0, 3, 2), (3, 0, 2), (2, 2, 0)], ids=str)
def test_distances(device, rng, dtype, metric, shape):
    n, m, d = shape
    a, b = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((m, d)).astype(dtype)
    found = distances(a, b, metric=metric, device=device)
    assert found.dtype == np.float64
    # γ of d + 4 roundings, of the reference too.
    rtol = 2 * (d + 4) * np.finfo(dtype).eps / 2
    expected = cdist(a.astype(float), b.astype(float), metric) if d > 0 else np.zeros((n, m))
    np.testing.assert_allclose(found, expected, rtol=rtol)


def test_pairwise_has_the_bits_of_distances(device, rng):
    a = rng.standard_normal((9, 4))[::-2, ::-1]
    table = distances(a, device=device)
    assert (table == distances(a, a, device=device)).all()
    assert (np.diag(table) == 0).all() and (table == table.T).all()


def test_out(device, rng):
    a, b = rng.standard_normal((4, 3)), rng.standard_normal((3, 5)).T
    table = np.zeros((5, 4))
    assert distances(a, b, out=table.T, device=device) is not None
    np.testing.assert_allclose(table.T, cdist(a, b), rtol=1e-14)
    with pytest.raises(ValueError, match="out"):
        distances(a, b, out=np.zeros((4, 4)), device=device)


@pytest.mark.parametrize("k", [1, 3, 20])
def test_nearest(device, rng, k):
    database, queries = rng.standard_normal((20, 4)), rng.standard_normal((6, 4))
    found = nearest(queries, database, k, device=device)
    assert found.indices.dtype == np.int64 and found.indices.shape == found.distances.shape == (6, k)
    expected, rows = KDTree(database).query(queries, k)
    np.testing.assert_allclose(found.distances, expected.reshape(6, k), rtol=1e-14)
    np.testing.assert_array_equal(found.indices, rows.reshape(6, k))


def test_refused(rng):
    a = rng.standard_normal((3, 4))
    with pytest.raises(ValueError, match="distances: "):
        distances(a, a[:, :3])
    with pytest.raises(ValueError, match="distances: .*NaN") as raised:
        distances(a, np.array([[0.0] * 4, [np.nan] * 4]))
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="a has 1 axes, with the shape \\[4\\], but has to have 2"):
        distances(a[0])
    with pytest.raises(TypeError, match="the dtype of a is complex128, but possible are float32, float64"):
        distances([[1j, 2]])
    with pytest.raises(ValueError, match='metric is "cosine", but possible are euclidean and sqeuclidean'):
        distances(a, metric="cosine")
    with pytest.raises(ValueError, match="nearest: "):
        nearest(a, a, k=4)


def test_dtypes_are_promoted(device):
    assert distances([[0, 0]], [[3, 4]], device=device).tolist() == [[5]]
    for dtype in (np.int16, np.float16, np.float32, bool):
        a = np.array([[0, 1]]).astype(dtype)
        assert distances(a, np.array([[1.0, 1.0]]), device=device).tolist() == [[1]]
        assert nearest(np.array([[1.0, 1.0]]), a, device=device).distances.tolist() == [[1]]
    with pytest.raises(ValueError, match="distances: b has the integer 9007199254740993, which float64 would round"):
        distances([[0.0]], [[2**53 + 1]])


def test_the_columns_of_data_frames_belong_together():
    points = {"x": [0.0, 1.0], "y": [10.0, 20.0]}
    turned = {"y": [10.0], "x": [3.0]}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        assert distances(make(points), make(turned), metric="sqeuclidean").tolist() == [[9], [104]]
        assert nearest(make(turned), make(points)).indices.tolist() == [[0]]
        assert distances(make(points), np.array([[0.0, 10.0]])).shape == (2, 1)
        with pytest.raises(ValueError, match="distances: b has the columns x, z, but a has the columns x, y: select"):
            distances(make(points), make({"x": [1.0], "z": [2.0]}))
    assert distances(pd.DataFrame([[0.0, 1.0]]), pl.DataFrame(points)).shape == (1, 2)


def test_one_row_is_singular():
    with pytest.raises(ValueError, match="k is 2, but the database has 1 row: ask"):
        nearest([[1.0]], [[1.0]], k=2)
