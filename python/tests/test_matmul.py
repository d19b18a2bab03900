import ml_dtypes
import numpy as np
import pytest

import gridstride
from gridstride import Device, box_overlap, distances, gemm, matmul


def assert_product(c, a, b, unit_roundoff):
    """Compares with float64 within k roundings of |A|·|B|, and two more."""
    wide_a, wide_b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    k = wide_a.shape[-1]
    bound = (k + 2) * unit_roundoff * 1.01 * (np.abs(wide_a) @ np.abs(wide_b))
    assert c.shape == bound.shape
    assert (np.abs(c - wide_a @ wide_b) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 7), (7, 3)),
        ((5, 7), (7,)),
        ((7,), (7, 3)),
        ((4, 5, 7), (4, 7, 3)),
        ((4, 5, 7), (7, 3)),
        ((5, 7), (4, 7, 3)),
        ((4, 5, 7), (1, 7, 3)),
        ((1, 1), (1, 1)),
        ((0, 7), (7, 3)),
        ((5, 0), (0, 3)),
    ],
    ids=str,
)
def test_products(device, rng, dtype, shapes):
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    c = matmul(a, b, device=device)
    assert c.dtype == dtype
    assert_product(c, a, b, np.finfo(dtype).eps / 2)


def test_views_are_read_in_place(device, rng):
    a, b = rng.standard_normal((12, 20)), rng.standard_normal((18, 10))
    for left, right in [
        (b.T, a.T[:18]),
        (a[::-1, ::2], b.T),
        (a[::3, 1:19], b[:, ::-4]),
        (np.broadcast_to(a[0, :18], (3, 18)), b),
        (np.asfortranarray(a[:, :18]), b[::-1]),
    ]:
        assert_product(matmul(left, right, device=device), left, right, 2**-53)


def test_unaligned_arrays_are_copied(rng):
    records = np.zeros((3, 4), [("flag", "i1"), ("x", "f8")])
    records["x"] = rng.standard_normal((3, 4))
    assert not records["x"].flags.aligned
    assert_product(matmul(records["x"], records["x"].T), records["x"], records["x"].T, 2**-53)


def test_read_only(rng):
    a = rng.standard_normal((3, 3))
    a.flags.writeable = False
    assert_product(matmul(a, a), a, a, 2**-53)
    with pytest.raises(ValueError, match="matmul: out is read-only"):
        matmul(a, a, out=a)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(device, rng, dtype):
    a, b = rng.standard_normal((6, 8)).astype(dtype), rng.standard_normal((8, 4)).astype(dtype)
    sums = matmul(a, b, device=device)
    assert sums.dtype == np.float32
    # Tensor cores, which sum these on GPUs, truncate.
    assert_product(sums, a, b, 2**-23)
    rounded = matmul(a, b, dtype=dtype, device=device)
    assert rounded.dtype == dtype
    unit_roundoff = float(ml_dtypes.finfo(dtype).eps) / 2
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = unit_roundoff * np.abs(sums) + 10 * 2**-23 * (np.abs(a.astype(float)) @ np.abs(b.astype(float)))
    assert (np.abs(rounded.astype(np.float64) - exact) <= 1.01 * bound).all()
    out = np.zeros((6, 4), dtype)
    matmul(a, b, out=out, device=device)
    assert (out == rounded).all()


def test_precisions(device, rng):
    a, b = rng.standard_normal((33, 40), np.float32), rng.standard_normal((40, 20), np.float32)
    for precision, unit_roundoff in [("full", 2**-24), ("tf32", 2**-10), ("bf16x6", 2**-22)]:
        assert_product(matmul(a, b, precision=precision, device=device), a, b, unit_roundoff)
    with pytest.raises(ValueError, match='precision is "half", but possible are full, tf32 and bf16x6'):
        matmul(a, b, precision="half")


def test_out(device, rng):
    a, b = rng.standard_normal((5, 7)), rng.standard_normal((7, 3))
    table = np.full((10, 6), 9.0)
    out = table[::2, ::-2]
    assert matmul(a, b, out=out, device=device) is out
    assert_product(out, a, b, 2**-53)
    assert (table[1::2] == 9).all() and (table[:, ::2] == 9).all()


def test_out_may_be_an_input(rng):
    a, b = rng.standard_normal((4, 4)), rng.standard_normal((4, 4))
    expected = matmul(a, b)
    table = np.hstack([a, b])
    matmul(table[:, :4], table[:, 4:], out=table[:, 2:6])
    assert (table[:, 2:6] == expected).all()


def test_refused():
    a = np.ones((2, 3))
    with pytest.raises(ValueError, match="matmul: A is 2×3 and B is 2×3: A must have as many columns as B has rows"):
        matmul(a, a)
    with pytest.raises(ValueError, match="the product is 2×2, but C is 2×3"):
        matmul(a, a.T, out=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="out has 1 axes"):
        matmul(a, a.T, out=np.zeros(4))
    with pytest.raises(ValueError, match="a has 4 axes and b has 2"):
        matmul(a[None, None], a.T)
    with pytest.raises(TypeError, match="the dtype of a is complex128, but possible are float32, float64, float16, bfloat16"):
        matmul([[1j]], [[1]])
    with pytest.raises(TypeError, match="the dtype of b is <U1, but possible are float64"):
        matmul(a, [["x"], ["y"], ["z"]])
    with pytest.raises(TypeError, match="the dtype of out is float32, but possible are float64"):
        matmul(a, a.T, out=np.zeros((2, 2), np.float32))
    with pytest.raises(TypeError, match="out is a list, not a numpy array"):
        matmul(a, a.T, out=[[0.0] * 2] * 2)
    for strides in [(0, 8), (8, 8), (-8, 8)]:
        with pytest.raises(ValueError, match="out has elements with the same place in memory"):
            matmul(a, a.T, out=np.lib.stride_tricks.as_strided(np.zeros(9)[3:], (2, 2), strides))
    with pytest.raises(TypeError, match="the dtype of the result is float32, but has to be float64"):
        matmul(a, a.T, dtype=np.float32)
    half = a.astype(np.float16)
    with pytest.raises(TypeError, match="the result is float64, but possible for factors of float16 are float32 and float16"):
        matmul(half, half.T, dtype=np.float64)
    for dtype, out in (np.float32, np.float16), (np.float16, np.float32):
        message = f"dtype is {np.dtype(dtype)}, but out has the dtype {np.dtype(out)}"
        with pytest.raises(TypeError, match=message):
            matmul(half, half.T, dtype=dtype, out=np.zeros((2, 2), out))
    with pytest.raises(TypeError, match="a is a masked array"):
        matmul(np.ma.masked_array(a, a > 0), a.T)
    with pytest.raises(TypeError, match="matmul: out is a masked array"):
        matmul(a, a.T, out=np.ma.zeros((2, 2)))
    with pytest.raises(TypeError, match="the dtype of a is >V2, but possible are float32, float64, float16, bfloat16"):
        matmul(np.ones((2, 2), np.dtype(ml_dtypes.bfloat16).newbyteorder()), a.T)


def test_nan_propagates(device):
    a = np.array([[np.nan, 1.0], [np.inf, 1.0], [0.0, 1.0]])
    c = matmul(a, np.array([[0.0], [1.0]]), device=device)
    np.testing.assert_array_equal(c, [[np.nan], [np.nan], [1.0]])


def test_memory_limit(rng):
    a = rng.standard_normal((64, 64))
    limited = Device("cpu").with_memory_limit(2**16)
    assert limited.memory_limit == 2**16
    assert_product(matmul(a, a, device=limited), a, a, 2**-53)


def test_factors_are_promoted_as_numpy_does(device, rng):
    a = rng.standard_normal((3, 4))
    for first in (np.float32, np.float64, np.float16, np.int8, np.int64, np.uint64, bool):
        for second in (np.float32, np.float64, np.float16):
            one, other = np.abs(a).astype(first), a.T.astype(second)
            found = matmul(one, other, device=device)
            expected = np.matmul(one, other)
            # Sums of factors of 16 bits are float32.
            assert found.dtype == (np.float32 if expected.dtype == np.float16 else expected.dtype)
            np.testing.assert_allclose(found, np.matmul(one, other, dtype=np.float64), rtol=0, atol=2e-2 if np.float16 in (first, second) else 1e-5)
    assert (matmul([[1, 2], [3, 4]], [[1, 0], [0, 1]], device=device) == [[1, 2], [3, 4]]).all()
    assert matmul([[1, 2]], np.ones((2, 1)), device=device).dtype == np.float64
    assert matmul(a.astype(np.float32), a.T.astype(ml_dtypes.bfloat16), device=device).dtype == np.float32
    assert gridstride.gemm([[1, 2]], [[3], [4]], device=device).tolist() == [[11]]


def test_integers_that_are_no_float64():
    for wrong in ([[2**53 + 1]], np.array([[2**64 - 1]], np.uint64)):
        with pytest.raises(ValueError, match="matmul: a has the integer [0-9]+, which float64 would round") as raised:
            matmul(wrong, [[1]])
        assert raised.value.index == 0


@pytest.mark.parametrize("kind", [">f8", ">f4", ">f2", ">i4", ">u2"])
def test_other_byte_orders_are_taken(kind):
    """Numbers in any byte order are those numbers."""
    numbers = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    swapped, native = numbers.astype(kind), numbers.astype(kind[1:])
    for first, second in ((swapped, native), (native, swapped), (swapped, swapped)):
        product, expected = matmul(first, second.T), matmul(native, native.T)
        assert product.dtype == expected.dtype and (product == expected).all()
        assert (gemm(first, second, trans_b=True) == expected).all()
        assert (distances(first, second) == distances(native, native)).all()
        assert (box_overlap(first, second).pairs() == box_overlap(native, native).pairs()).all()
    with pytest.raises(TypeError, match="the dtype of out is >f8, but possible are float64"):
        matmul(numbers, numbers.T, out=np.zeros((2, 2), ">f8"))
