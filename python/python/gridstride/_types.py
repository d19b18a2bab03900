"""The types of arguments that several functions take."""

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._core import Device

#: The argument ``device``: one device or several, or their names.
Devices: TypeAlias = Device | str | Iterable[Device | str]

#: The argument ``stream``: a handle of CUDA, or a stream of torch, cupy, numba or cuda.core.
Stream: TypeAlias = int | Any


class OnDevice(Protocol):
    """An array in the memory of a GPU: a ``DeviceArray``, or one of torch, cupy or numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


#: A text of letters of one byte.
Text: TypeAlias = str | bytes | bytearray | memoryview

#: One sequence: a text, or the codes of its letters.
Sequence: TypeAlias = Text | NDArray[np.uint8]
