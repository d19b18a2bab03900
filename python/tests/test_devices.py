import numpy as np
import pytest

import gridstride
from gridstride import Device, matmul


def has_simulator():
    return any(device.kind == "simulator" for device in gridstride.devices())


def test_names():
    cpu = Device("cpu")
    assert (cpu.name, cpu.kind, str(cpu), repr(cpu)) == ("cpu", "cpu", "cpu", "<Device cpu>")
    assert cpu.compute_capability is None and cpu.total_memory is None
    assert cpu.info.startswith("cpu: ")
    assert gridstride.devices()[0] == cpu
    assert {cpu: 1}[Device("cpu")] == 1
    assert cpu != "cpu"
    with pytest.raises(ValueError, match="there is no device \"gpu\": possible are auto, cpu, cuda"):
        Device("gpu")


def test_names_of_devices_are_arguments():
    for device in gridstride.devices():
        assert Device(device.name).kind == device.kind and Device(device.name).name == device.name


def test_auto_is_a_gpu_or_the_cpu():
    gpus = gridstride.gpus()
    assert Device() == (gpus[0] if gpus else Device("cpu"))


def test_missing_gpu():
    with pytest.raises(RuntimeError, match="device cuda:99 cannot be used"):
        Device("cuda:99")


def test_arguments(rng):
    a = rng.standard_normal((8, 8))
    expected = matmul(a, a)
    for device in ["cpu", Device("cpu"), ["cpu", Device("cpu")], (Device("cpu"),)]:
        np.testing.assert_allclose(matmul(a, a, device=device), expected, rtol=1e-13)
    with pytest.raises(TypeError, match="device is <class 'int'>, but has to be a Device, its name"):
        matmul(a, a, device=3)
    with pytest.raises(ValueError, match="matmul: there is no device in the set \\(gridstride.gpus\\(\\) is empty"):
        matmul(a, a, device=[])


@pytest.mark.skipif(not has_simulator(), reason="this build has no simulator")
def test_several_simulators_and_little_memory(rng):
    first, second = Device("simulator"), Device("simulator")
    assert first != second
    a = rng.standard_normal((48, 48))
    limited = [device.with_memory_limit(2**14) for device in (first, second)]
    np.testing.assert_allclose(matmul(a, a, device=limited), a @ a, rtol=1e-12, atol=1e-12)
    assert limited[0].memory_used == 0
    with pytest.raises(MemoryError, match="matmul: simulator"):
        matmul(a, a, device=first.with_memory_limit(100))
