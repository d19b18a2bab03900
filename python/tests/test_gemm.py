from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg.blas import dgemm, sgemm

from gridstride import gemm


@pytest.mark.parametrize("blas", [sgemm, dgemm])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_blas(device, rng, blas, trans_a, trans_b):
    dtype = np.float32 if blas is sgemm else np.float64
    a, b = rng.standard_normal((5, 7)).astype(dtype), rng.standard_normal((7, 4)).astype(dtype)
    c = rng.standard_normal((5, 4)).astype(dtype)
    a, b = a.T.copy() if trans_a else a, b.T.copy() if trans_b else b
    expected = blas(0.5, a, b, beta=-2.0, c=c, trans_a=trans_a, trans_b=trans_b)
    before = c.copy()
    found = gemm(a, b, c, alpha=0.5, beta=-2.0, trans_a=trans_a, trans_b=trans_b, device=device)
    # 7 products and 3 roundings of numbers of magnitude 10.
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
    assert found.dtype == dtype and (c == before).all()


def test_c_is_written(device, rng):
    a, b = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    table = np.ones((6, 6))
    c = table[::2, ::-2]
    assert gemm(a, b, c, beta=1.0, overwrite_c=True, device=device) is c
    np.testing.assert_allclose(table[::2, ::-2], a @ b + 1, rtol=1e-13)
    assert (table[1::2] == 1).all()
    # C shares memory with A.
    expected = a @ a + a
    gemm(a, a, a, beta=1.0, overwrite_c=True, device=device)
    np.testing.assert_allclose(a, expected, rtol=1e-13, atol=1e-14)


def test_other_shapes(device, rng):
    a, x = rng.standard_normal((4, 3)), rng.standard_normal(3)
    np.testing.assert_allclose(gemm(a, x, np.ones(4), beta=2.0, device=device), a @ x + 2, rtol=1e-13)
    np.testing.assert_allclose(gemm(x, a, trans_b=True, device=device), x @ a.T, rtol=1e-13)
    batch = rng.standard_normal((2, 4, 3))
    np.testing.assert_allclose(gemm(batch, a, alpha=2.0, trans_b=True, device=device), 2 * batch @ a.T, rtol=1e-12)
    np.testing.assert_allclose(gemm(a, batch, trans_a=True, device=device), a.T @ batch, rtol=1e-12)
    for lengths in (1, 0), (0, 1), (0, 0), (1, 2), (2, 1):
        factors = np.ones((lengths[0], 2, 3)), np.ones((lengths[1], 3, 2))
        assert gemm(*factors, device=device).shape == np.matmul(*factors).shape
    assert gemm(a[:0], a.T).shape == (0, 4)


def test_half_precision(device):
    a = np.full((2, 3), 2, np.float16)
    assert gemm(a, a.T, device=device).dtype == np.float32
    c = np.ones((2, 2), np.float16)
    assert gemm(a, a.T, c, beta=1.0, overwrite_c=True, device=device) is c
    assert (c == 13).all()


def test_nan_is_not_read(device):
    a = np.ones((2, 2))
    assert (gemm(a, a, np.full((2, 2), np.nan), device=device) == 2).all()


def test_refused():
    a = np.ones((2, 3))
    with pytest.raises(ValueError, match="gemm: A is 2×3 and B is 2×3: A must have as many columns as B has rows"):
        gemm(a, a)
    with pytest.raises(ValueError, match=r"the product has the shape \(2, 2\), but c has the shape \(2,\)"):
        gemm(a, a.T, np.ones(2))
    with pytest.raises(TypeError, match="the dtype of c is int64, but possible are float64$"):
        gemm(a, a.T, np.ones((2, 2), np.int64))
    with pytest.raises(TypeError, match="gemm: c is a list"):
        gemm(a, a.T, [[1.0, 1.0]] * 2, overwrite_c=True)
    with pytest.raises(ValueError, match="gemm: c is read-only"):
        gemm(a, a.T, np.broadcast_to(1.0, (2, 2)), overwrite_c=True)
    with pytest.raises(ValueError, match='gemm: precision is "half"'):
        gemm(a, a.T, precision="half")


def test_flags_are_bools(rng):
    a = rng.random((3, 3))
    with pytest.raises(TypeError, match="trans_a is 'N'"):
        gemm(a, a, trans_a="N")


def test_masks_are_refused(rng):
    a = rng.random((3, 3))
    masked = np.ma.array(np.ones((3, 3)), mask=np.eye(3))
    with pytest.raises(TypeError, match="gemm: c is a masked array"):
        gemm(a, a, masked)
    with pytest.raises(TypeError, match="gemm: c is a masked array"):
        gemm(a, a, masked, overwrite_c=True)


def test_factors_beyond_the_range(rng):
    a = np.ones((2, 2), np.float32)
    for name in ("alpha", "beta"):
        for dtype in (np.float32, np.float16):
            with pytest.raises(ValueError, match=f"gemm: {name} is 1e39, which is beyond the range of f32"):
                gemm(a.astype(dtype), a.astype(dtype), np.ones((2, 2), np.float32), **{name: 1e39})
    assert np.isinf(gemm(a, a, alpha=np.inf)).all() and gemm(a.astype(float), a.astype(float), alpha=1e39)[0, 0] == 2e39


def test_scalars_are_not_rounded():
    a = np.ones((1, 1))
    for number in (2**53 + 1, -(2**53) - 1, np.int64(2**53 + 1), np.array(2**53 + 1), Decimal(2**53 + 1), Fraction(2**55 + 1, 2)):
        for name in ("alpha", "beta"):
            with pytest.raises(ValueError, match=f"gemm: {name} is {number}, which float64 would round: convert it to float"):
                gemm(a, a, a, **{name: number})
    with pytest.raises(ValueError, match="gemm: alpha is 10*, which is beyond the range of float64"):
        gemm(a, a, alpha=10**400)
    with pytest.raises(TypeError, match="gemm: beta is '1', but has to be a number"):
        gemm(a, a, a, beta="1")
    for number in (2**60, np.uint64(2**63), Decimal("0.1"), 1e300, np.float32(2), True):
        assert gemm(a, a, alpha=number)[0, 0] == float(number)


def test_the_order_of_scipy_is_named():
    a = np.ones((2, 2))
    for alpha in (1.0, 2, np.float32(1), np.array(1.0)):
        with pytest.raises(TypeError, match=r"gemm: a is the number [12]: scipy's gemm begins with alpha, .* gemm\(a, b, alpha="):
            gemm(alpha, a, a)
