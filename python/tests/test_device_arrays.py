"""Arrays in the memory of a device, as arguments and results."""

import gc

import ml_dtypes
import numpy as np
import pytest

import gridstride
from gridstride import DeviceArray, time_series

DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.uint8]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (5, 7), (2, 3, 4)])
def test_upload_and_numpy(device, rng, dtype, shape):
    host = rng.integers(0, 100, shape).astype(dtype)
    array = device.upload(host)
    assert (array.shape, array.ndim, array.size, array.nbytes) == (shape, len(shape), host.size, host.nbytes)
    assert (array.dtype, array.device, len(array)) == (host.dtype, device, shape[0])
    np.testing.assert_array_equal(array.numpy(), host)
    assert array.numpy().dtype == host.dtype
    np.testing.assert_array_equal(np.asarray(array), host)


def test_upload_of_strided_arrays(device, rng):
    host = rng.random((6, 8))
    for view in [host.T, host[::-1, ::2], host[1:, 3]]:
        np.testing.assert_array_equal(device.upload(view).numpy(), view)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="this numpy has no arrays of so many axes")
def test_arrays_of_too_many_axes(device):
    array = device.upload(np.ones((1,) * 32))
    assert array.ndim == 32 and array.numpy().shape == (1,) * 32
    for axes in 33, 64:
        host = np.ones((1,) * axes)
        with pytest.raises(ValueError, match=f"Device.upload: array has {axes} axes, .* but has to have at most 32"):
            device.upload(host)
        with pytest.raises(ValueError, match=f"distances: a has {axes} axes, .* but has to have 2"):
            gridstride.distances(host, device=device)
        with pytest.raises(ValueError, match=f"distances: out has {axes} axes, .* but has to have 2"):
            gridstride.distances(np.ones((1, 1)), out=host, device=device)


def test_lists_of_device_arrays_are_refused(device):
    row = device.upload(np.ones(3))
    for rows in [row, row], (np.ones(3), row), [[row, row]]:
        with pytest.raises(TypeError, match="distances: a is a list with arrays in the memory of a device"):
            gridstride.distances(rows)
        with pytest.raises(TypeError, match="gemm: a is a list with arrays in the memory of a device"):
            gridstride.gemm(rows, np.ones((3, 2)))


def test_conversions_of_numpy(device):
    array = device.upload(np.array([1.5, 2.5]))
    assert np.asarray(array, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="by a copy"):
        np.asarray(array, copy=False)
    assert repr(array) == f"<DeviceArray (2,) float64 on {device}>"


def test_dlpack_of_the_host(device, rng):
    if device.kind == "cuda":
        pytest.skip("numpy takes arrays of the host")
    host = rng.random((4, 5))
    array = device.upload(host)
    assert array.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(array)
    np.testing.assert_array_equal(shared, host)
    # The memory lives as long as the view, and is shared.
    again = np.from_dlpack(array)
    assert shared.__array_interface__["data"][0] == again.__array_interface__["data"][0]
    del array
    gc.collect()
    np.testing.assert_array_equal(shared, host)
    with pytest.raises(AttributeError, match="no CUDA array interface"):
        device.upload(host).__cuda_array_interface__


def test_dlpack_refuses_what_it_cannot_do(device):
    array = device.upload(np.ones(3))
    with pytest.raises(BufferError, match="zero-copy"):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="cross-device"):
        array.__dlpack__(dl_device=(10, 0))


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_products(device, rng, dtype):
    a, b = rng.random((33, 65)).astype(dtype), rng.random((65, 17)).astype(dtype)
    there = gridstride.matmul(device.upload(a), device.upload(b))
    assert isinstance(there, DeviceArray)
    here = gridstride.matmul(a, b, device=device)
    assert there.dtype == here.dtype
    np.testing.assert_array_equal(there.numpy(), here)
    # A vector, and batches.
    vector = b[:, 0].copy()
    np.testing.assert_array_equal(
        gridstride.matmul(device.upload(a), device.upload(vector)).numpy(), gridstride.matmul(a, vector, device=device)
    )
    batch = np.stack([a, a[::-1]])
    np.testing.assert_array_equal(
        gridstride.matmul(device.upload(batch), device.upload(b)).numpy(), gridstride.matmul(batch, b, device=device)
    )
    narrow = gridstride.matmul(device.upload(a), device.upload(b), dtype=dtype)
    np.testing.assert_array_equal(narrow.numpy(), gridstride.matmul(a, b, dtype=dtype, device=device))


def test_products_into_out(device, rng):
    a, b = rng.random((8, 9)), rng.random((9, 7))
    out = device.upload(np.full((8, 7), np.nan))
    there_a, there_b = device.upload(a), device.upload(b)
    assert gridstride.matmul(there_a, there_b, out=out) is out
    np.testing.assert_array_equal(out.numpy(), gridstride.matmul(a, b, device=device))
    with pytest.raises(ValueError, match="matmul: out shares memory with a"):
        gridstride.matmul(there_a, there_b, out=there_a)
    with pytest.raises(TypeError, match="matmul: the dtype of out is float32"):
        gridstride.matmul(there_a, there_b, out=device.upload(np.zeros((8, 7), np.float32)))
    with pytest.raises(ValueError, match="8×6"):
        gridstride.matmul(there_a, there_b, out=device.upload(np.zeros((8, 6))))
    with pytest.raises(ValueError, match="out has 1 axes"):
        gridstride.matmul(there_a, there_b, out=device.upload(np.zeros(8)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances(device, rng, dtype):
    a, b = rng.random((30, 5)).astype(dtype), rng.random((40, 5)).astype(dtype)
    there_a, there_b = device.upload(a), device.upload(b)
    found = gridstride.distances(there_a, there_b)
    np.testing.assert_array_equal(found.numpy(), gridstride.distances(a, b, device=device))
    pairs = gridstride.distances(there_a, metric="sqeuclidean")
    np.testing.assert_array_equal(pairs.numpy(), gridstride.distances(a, metric="sqeuclidean", device=device))
    assert gridstride.distances(there_a, there_b, out=found) is found
    nearest = gridstride.nearest(there_a, there_b, 3)
    expected = gridstride.nearest(a, b, 3, device=device)
    assert nearest.indices.dtype == np.int64
    for got, want in zip(nearest.numpy(), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_box_overlap(device, rng):
    corners = rng.integers(0, 50, (200, 2))
    boxes = np.hstack([corners, corners + 3]).astype(np.int32)
    for others in [None, boxes[:70]]:
        there = gridstride.box_overlap(device.upload(boxes), None if others is None else device.upload(others))
        here = gridstride.box_overlap(boxes, others, device=device)
        assert (there.shape, len(there)) == (here.shape, 200)
        assert (there.offsets.dtype, there.indices.dtype) == (np.int64, np.int32)
        np.testing.assert_array_equal(there.numpy().pairs(), here.pairs())
        assert repr(there) == f"<DeviceOverlaps: {len(here.indices)} pairs of 200 × {here.shape[1]} boxes on {device}>"


def test_time_series(device, rng):
    times, values = np.cumsum(rng.integers(0, 5, 500)), rng.random(500)
    there = device.upload(times), device.upload(values)
    methods = ["mean", "count", "p90"]
    for offsets in [None, [0, 100, 100, 500]]:
        found = time_series.aggregate(*there, 7, methods, offsets=offsets, origin=3)
        expected = time_series.aggregate(times, values, 7, methods, offsets=offsets, origin=3, device=device)
        assert list(found) == methods
        np.testing.assert_array_equal(found.starts.numpy(), expected.starts)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        for method in methods:
            np.testing.assert_array_equal(found[method].numpy(), expected[method])
        # A column keeps what it is a part of.
        column = found["mean"]
        del found
        gc.collect()
        np.testing.assert_array_equal(column.numpy(), expected["mean"])
    rounded = time_series.round_timestamps(there[0], 7)
    np.testing.assert_array_equal(rounded.numpy(), times // 7 * 7)
    with pytest.raises(ValueError, match="pass offsets"):
        time_series.aggregate(*there, 7, series=times)


def test_results_are_arguments(device, rng):
    a = rng.random((20, 20))
    there = device.upload(a)
    cube = gridstride.matmul(gridstride.matmul(there, there), there)
    np.testing.assert_allclose(cube.numpy(), a @ a @ a)
    order = gridstride.nearest(cube, cube, 2)
    np.testing.assert_array_equal(order.indices.numpy()[:, 0], np.arange(20))


class _Interface:
    """An array of the host that looks like one of a device, for the simulator and the CPU."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {**array.__array_interface__, "strides": array.strides, "version": 3}


def test_arrays_of_a_gpu_are_not_read_on_the_host(device):
    if device.kind == "cuda":
        pytest.skip("the array is of the host")
    a = _Interface(np.ones((2, 2)))
    with pytest.raises(ValueError, match="a is on a GPU, but the call runs on"):
        gridstride.matmul(a, a, device=device)


def test_calls_of_the_host_refuse_device_arrays(device):
    a = device.upload(np.ones((3, 3)))
    for call in [
        lambda: gridstride.gemm(a, a),
        lambda: gridstride.box_overlap_counts(a),
        lambda: device.upload(a),
        lambda: time_series.bucket_counts(a, 3),
        lambda: gridstride.Sequences([a]),
    ]:
        with pytest.raises(TypeError, match="is in the memory of a device"):
            call()


def test_offsets_are_checked(device):
    times, values = device.upload(np.arange(5)), device.upload(np.ones(5))
    with pytest.raises(ValueError, match="offset -1 at index 1"):
        time_series.aggregate(times, values, 2, offsets=[0, -1, 5])
    with pytest.raises(TypeError, match="offsets have the dtype"):
        time_series.aggregate(times, values, 2, offsets=[0.0, 5.0])


def test_offsets_of_arguments_that_are_refused(device):
    times, values = device.upload(np.array([0, 1])), device.upload(np.ones(2))
    with pytest.raises(TypeError, match="timestamps is in the memory of the host, but values in that of a device"):
        time_series.aggregate([0, 1], values, 2, offsets=[0, 2])
    with pytest.raises(TypeError, match="values is in the memory of the host, but timestamps in that of a device"):
        time_series.aggregate(times, [0.0, 1.0], 2, offsets=[0, 2])
    with pytest.raises(ValueError, match="timestamps has 0 axes"):
        time_series.aggregate(device.upload(np.array(0)), values, 2, offsets=[0, 1])


def test_a_limit_of_the_call_counts_its_result(device, rng):
    a = device.upload(rng.random((64, 64)))
    limited = device.with_memory_limit(1 << 20)
    product = gridstride.matmul(a, a, device=limited)
    assert limited.memory_used >= 64 * 64 * 8
    assert product.device == limited
    with pytest.raises(MemoryError):
        gridstride.matmul(a, a, device=device.with_memory_limit(100))


def test_errors_of_places(device, rng):
    there, here = device.upload(rng.random((3, 3))), rng.random((3, 3))
    with pytest.raises(TypeError, match="matmul: b is in the memory of the host, but a in that of a device"):
        gridstride.matmul(there, here)
    with pytest.raises(TypeError, match="distances: out is in the memory of the host"):
        gridstride.distances(there, there, out=here)
    with pytest.raises(TypeError, match="timestamps is in the memory of the host"):
        time_series.aggregate(np.arange(3), device.upload(np.ones(3)), 2)
    with pytest.raises(ValueError, match="memory of the host"):
        gridstride.matmul(here, here, stream=1)
    other = gridstride.Device("cpu")
    if device.kind != "cpu":
        with pytest.raises(ValueError, match="b is on cpu, but the call runs on"):
            gridstride.matmul(there, other.upload(here))
        with pytest.raises(ValueError, match="there are 2 devices, but it runs on one"):
            gridstride.matmul(there, there, device=[device, other])
    with pytest.raises(TypeError, match="distances: the dtype of a is int32"):
        gridstride.distances(device.upload(np.ones((2, 2), np.int32)))
    if device.kind != "cuda":
        with pytest.raises(ValueError, match="has none"):
            gridstride.matmul(there, there, stream=1)


def test_limits_count_device_arrays(device):
    limited = device.with_memory_limit(1 << 16)
    array = limited.upload(np.zeros(1024))
    assert limited.memory_used == 8192
    with pytest.raises(MemoryError, match="65536"):
        limited.upload(np.zeros(8192))
    del array
    gc.collect()
    limited.synchronize()
    assert limited.memory_used == 0
