"""Devices and random numbers for all tests."""

import numpy as np
import pytest

import gridstride


def _devices():
    """The CPU, the simulator if this build has it, and the first GPU."""
    found = {device.kind: device for device in reversed(gridstride.devices())}
    return [found[kind] for kind in ("cpu", "simulator", "cuda") if kind in found]


@pytest.fixture(params=_devices(), ids=str)
def device(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(31415)
