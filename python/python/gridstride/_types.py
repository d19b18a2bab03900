"""The types of arguments that several functions take."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._core import Device

#: The argument ``device``: one device or several, or their names.
Devices: TypeAlias = Device | str | Iterable[Device | str]

#: One sequence: a text, or the codes of its letters.
Sequence: TypeAlias = str | bytes | NDArray[np.uint8]
