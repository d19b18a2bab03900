"""Arrays of PyTorch, CuPy and Numba in the memory of a GPU. Skipped without one."""

import gc
import threading

import numpy as np
import pytest

import gridstride
from gridstride import Device, time_series

if not gridstride.gpus():
    pytest.skip("there is no GPU", allow_module_level=True)

GPU = gridstride.gpus()[0]


@pytest.fixture(params=["torch", "cupy"])
def library(request):
    """Functions of a library: an array on the GPU, a copy of one on the host, and a view of a result."""
    module = pytest.importorskip(request.param)
    if request.param == "torch":
        return module, lambda host: module.tensor(host, device="cuda"), lambda it: it.cpu().numpy(), module.from_dlpack
    return module, module.asarray, module.asnumpy, module.from_dlpack


def test_products(library, rng):
    _, upload, download, view = library
    a, b = rng.random((65, 33)), rng.random((33, 70))
    there_a, there_b = upload(a), upload(b)
    product = gridstride.matmul(there_a, there_b)
    assert product.device == GPU
    np.testing.assert_allclose(product.numpy(), a @ b)
    shared = view(product)
    np.testing.assert_allclose(download(shared), a @ b)
    # The consumer's work on the result, and ours on what it makes of that.
    doubled = gridstride.matmul(shared * 2, upload(np.eye(70)))
    np.testing.assert_allclose(doubled.numpy(), 2 * (a @ b))
    # Transposed factors are read in place; other calls need row-major order.
    np.testing.assert_allclose(gridstride.matmul(there_b.T, there_a.T).numpy(), (a @ b).T)
    with pytest.raises(ValueError, match="distances: a is not in row-major order"):
        gridstride.distances(there_a.T)


def test_writes_to_out(library, rng):
    _, upload, download, _ = library
    a = rng.random((40, 40)).astype(np.float32)
    there, out = upload(a), upload(np.zeros((40, 40), np.float32))
    assert gridstride.matmul(there, there, out=out) is out
    np.testing.assert_allclose(download(out), a @ a, rtol=1e-5)
    distances = upload(np.zeros((40, 40)))
    gridstride.distances(there, out=distances)
    np.testing.assert_array_equal(download(distances), gridstride.distances(a, device=GPU))
    with pytest.raises(ValueError, match="out shares memory with a"):
        gridstride.matmul(out, there, out=out)
    with pytest.raises(ValueError, match="out is not in row-major order"):
        gridstride.matmul(there, there, out=out.T)


def test_other_calls(library, rng):
    _, upload, _, _ = library
    rows = rng.random((50, 6)).astype(np.float32)
    there = upload(rows)
    found = gridstride.nearest(there, there, 4).numpy()
    expected = gridstride.nearest(rows, rows, 4, device=GPU)
    np.testing.assert_array_equal(found.indices, expected.indices)
    corners = rng.random((300, 2))
    boxes = np.hstack([corners, corners + 0.1])
    pairs = gridstride.box_overlap(upload(boxes)).numpy()
    np.testing.assert_array_equal(pairs.pairs(), gridstride.box_overlap(boxes, device=GPU).pairs())
    times, values = np.cumsum(rng.integers(0, 3, 1000)), rng.random(1000)
    buckets = time_series.aggregate(upload(times), upload(values), 5, ["mean", "max"]).numpy()
    expected = time_series.aggregate(times, values, 5, ["mean", "max"], device=GPU)
    np.testing.assert_array_equal(buckets["max"], expected["max"])


def test_errors(library):
    module, upload, _, _ = library
    a = upload(np.ones((4, 4)))
    with pytest.raises(TypeError, match="matmul: b is in the memory of the host"):
        gridstride.matmul(a, np.ones((4, 4)))
    with pytest.raises(ValueError, match="matmul: a is on cuda:0, but the call runs on cpu"):
        gridstride.matmul(a, a, device="cpu")
    with pytest.raises(TypeError, match="distances: the dtype of a is int32"):
        gridstride.distances(upload(np.ones((4, 4), np.int32)))
    with pytest.raises(TypeError, match="matmul: stream is a str"):
        gridstride.matmul(a, a, stream="none")
    with pytest.raises(ValueError, match="default stream of a thread"):
        gridstride.matmul(a, a, stream=2)
    if module.__name__ == "torch":
        with pytest.raises(ValueError, match=r"a requires gradients.*detach"):
            gridstride.matmul(a.clone().requires_grad_(), a)
    else:
        with pytest.raises(ValueError, match="contiguous copy"):
            gridstride.matmul(a[::-1], a)


def test_the_array_interface(rng):
    """Numba's arrays have no DLPack."""
    cuda = pytest.importorskip("numba.cuda")
    a = rng.random((10, 12))
    there = cuda.to_device(a)
    product = gridstride.matmul(there, cuda.to_device(a.T.copy()))
    np.testing.assert_allclose(product.numpy(), a @ a.T)
    np.testing.assert_allclose(cuda.as_cuda_array(product).copy_to_host(), a @ a.T)
    strided = there[::2, ::3]
    other = cuda.to_device(a[::2, ::3].T.copy())
    np.testing.assert_allclose(gridstride.matmul(strided, other).numpy(), a[::2, ::3] @ a[::2, ::3].T)
    stream = cuda.stream()
    again = gridstride.matmul(there, cuda.to_device(a.T.copy()), stream=stream)
    np.testing.assert_allclose(again.numpy(), a @ a.T)


class _Interface:
    """An array with another CUDA array interface."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


def test_checks_the_array_interface():
    array = GPU.upload(np.ones((4, 4)))
    there = _Interface(array)
    np.testing.assert_array_equal(gridstride.matmul(there, there).numpy(), np.full((4, 4), 4.0))
    address, _ = array.__cuda_array_interface__["data"]
    with pytest.raises(ValueError, match="out is read-only"):
        gridstride.matmul(there, there, out=_Interface(GPU.upload(np.ones((4, 4))), data=(address, True)))
    with pytest.raises(ValueError, match="a begins at .*, no multiple of its elements' 8 bytes"):
        gridstride.matmul(_Interface(array, data=(address + 4, False)), there)
    host = np.ones((4, 4))
    with pytest.raises(ValueError, match="does not know the address"):
        gridstride.matmul(_Interface(array, data=(host.__array_interface__["data"][0], False)), there)
    with pytest.raises(TypeError, match="mask"):
        gridstride.matmul(_Interface(array, mask=array), there)
    with pytest.raises(TypeError, match="dtype of a is complex64"):
        gridstride.matmul(_Interface(array, typestr="<c8"), there)
    with pytest.raises(ValueError, match="whole elements"):
        gridstride.matmul(_Interface(array, strides=(36, 8)), there)


def test_work_on_other_streams_comes_first(rng):
    """Inputs that a busy stream of torch still writes, and a consumer on such a stream."""
    torch = pytest.importorskip("torch")
    large = torch.rand((4096, 4096), device="cuda")
    for explicit in [False, True]:
        for _ in range(5):
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                # Tens of milliseconds before the input is written.
                for _ in range(6):
                    large @ large
                x = torch.full((256, 256), 3.0, device="cuda")
                y = torch.eye(256, device="cuda")
                product = gridstride.matmul(x, y, stream=side if explicit else None)
                shared = torch.from_dlpack(product)
                total = shared.sum()
            # On the default stream, the memory of x may be used again at once.
            del x, y
            torch.full((256, 256), 7.0, device="cuda")
            side.synchronize()
            assert total.item() == 3.0 * 256 * 256


@pytest.mark.parametrize("first", range(1, 4))
def test_arrays_that_begin_anywhere(library, rng, first):
    """Kernels read 16 bytes at once; slices begin at any element."""
    _, upload, _, _ = library
    for dtype in [np.float32, np.float64]:
        a, w = rng.random((33, 65)).astype(dtype), rng.random((65, 300)).astype(dtype)
        there = upload(w)[:, first : first + 256]
        np.testing.assert_allclose(gridstride.matmul(upload(a), there).numpy(), a @ w[:, first : first + 256], rtol=1e-4)
        rows = rng.random(900).astype(dtype)
        flat = upload(rows)[first : first + 800].reshape(100, 8)
        expected = gridstride.distances(rows[first : first + 800].reshape(100, 8), device=GPU)
        np.testing.assert_array_equal(gridstride.distances(flat).numpy(), expected)
    times, values = np.cumsum(rng.integers(0, 3, 1000)), rng.random(1000)
    there = upload(times), upload(values)
    found = time_series.aggregate(there[0][first:], there[1][first:], 7, ["mean", "count"]).numpy()
    expected = time_series.aggregate(times[first:], values[first:], 7, ["mean", "count"], device=GPU)
    np.testing.assert_array_equal(found["mean"], expected["mean"])
    rounded = time_series.round_timestamps(there[0][first:], 7)
    np.testing.assert_array_equal(rounded.numpy(), times[first:] // 7 * 7)
    if first % 2 == 1:
        with pytest.raises(ValueError, match="out does not begin at a multiple of 16 bytes"):
            time_series.round_timestamps(there[0][:10], 7, out=upload(np.zeros(20, np.int64))[first : first + 10])


def test_arrays_of_several_streams(rng):
    torch = pytest.importorskip("torch")
    large = torch.rand((8192, 8192), device="cuda")
    host = np.full((256, 256), 2.0)
    for _ in range(5):
        first, second = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(first):
            for _ in range(3):
                large @ large
        # The upload waits for that work, and the product runs on another stream.
        a, b = GPU.upload(host, stream=first), GPU.upload(np.eye(256))
        product = gridstride.matmul(a, b, stream=second)
        np.testing.assert_array_equal(product.numpy(), host)
        assert gridstride.matmul(product, b, out=a) is a
        np.testing.assert_array_equal(a.numpy(), host)
        # The handle of a device is not one of the stream.
        device = product.device
        del product, a, first, second
        np.testing.assert_array_equal(gridstride.matmul(host, np.eye(256), device=device), host)


def test_inputs_live_until_the_work_is_done():
    torch = pytest.importorskip("torch")
    large = torch.rand((8192, 8192), device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.full((512, 512), 2.0, device="cuda")
    side.synchronize()
    busy = torch.cuda.Stream()
    with torch.cuda.stream(busy):
        for _ in range(4):
            large @ large
    # The product waits behind the work of `busy`, and `x` is freed before it begins.
    product = gridstride.matmul(x, x, stream=busy)
    del x
    with torch.cuda.stream(side):
        overwritten = [torch.zeros((512, 512), device="cuda") for _ in range(64)]
    side.synchronize()
    assert np.array_equal(product.numpy(), np.full((512, 512), 2048.0, np.float32))
    del overwritten


def test_results_live_as_long_as_their_views():
    torch = pytest.importorskip("torch")
    views = [torch.from_dlpack(gridstride.matmul(GPU.upload(np.full((64, 64), float(n))), GPU.upload(np.eye(64)))) for n in range(50)]
    gc.collect()
    for _ in range(50):
        gridstride.matmul(GPU.upload(np.ones((64, 64))), GPU.upload(np.ones((64, 64))))
    assert [view[0, 0].item() for view in views] == list(range(50))


def test_memory_does_not_grow(rng):
    torch = pytest.importorskip("torch")
    import resource

    a = torch.rand((64, 64), device="cuda")
    there = GPU.upload(rng.random((64, 64)).astype(np.float32))

    def calls(count):
        for _ in range(count):
            torch.from_dlpack(gridstride.matmul(a, a))
            gridstride.matmul(there, there)
        GPU.synchronize()

    calls(1000)
    device_before, host_before = GPU.free_memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(50_000)
    assert GPU.free_memory >= device_before - (64 << 20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < host_before + (32 << 10)


def test_threads(library, rng):
    _, upload, download, view = library
    a = rng.random((100, 100))
    failures = []

    def work(seed):
        there, scale = upload(a), upload(np.eye(100) * seed)
        for _ in range(200):
            product = gridstride.matmul(there, scale)
            if not np.allclose(download(view(product)), a * seed):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_several_gpus():
    gpus = gridstride.gpus()
    if len(gpus) < 2:
        pytest.skip("there is one GPU")
    first, second = (gpu.upload(np.ones((4, 4))) for gpu in gpus[:2])
    with pytest.raises(ValueError, match="b is on cuda:1, but the call runs on cuda:0"):
        gridstride.matmul(first, second)
    with pytest.raises(ValueError, match="cuda:1"):
        gridstride.matmul(_Interface(second), _Interface(second), device=Device("cuda:0"))
