"""numpy's times and labels in the types that pandas, pyarrow and polars have."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: For each function, the units of datetimes (M) and of durations (m) that its package does not have, and those that the
#: times are converted to.
_UNITS = {
    "to_pandas": {"M": dict.fromkeys("YMWDhm", "s"), "m": dict.fromkeys("WDhm", "s")},
    "to_arrow": {"M": dict.fromkeys("YMW", "D") | dict.fromkeys("hm", "s"), "m": dict.fromkeys("WDhm", "s")},
    "to_polars": {"M": dict.fromkeys("YMW", "D") | dict.fromkeys("hms", "ms"), "m": dict.fromkeys("WDhms", "ms")},
}


def exact_times(function: str, name: str, times: NDArray[Any]) -> NDArray[Any]:
    """Datetimes or durations in a unit that a package has; other arrays as they are."""
    kind, dtype = times.dtype.kind, times.dtype
    if kind not in "mM":
        return times
    unit, _ = np.datetime_data(dtype)
    if unit in ("ps", "fs", "as"):
        raise ValueError(f"{function}: the {name} are {dtype}, and the finest unit is ns: round them first")
    if unit == "generic" or (kind == "m" and unit in "YM"):
        raise ValueError(f"{function}: the {name} are {dtype}, whose unit has no fixed length: convert them to seconds")
    exact = times.astype(f"{kind}8[{_UNITS[function][kind].get(unit, unit)}]")
    if (exact.astype(dtype) != times).any():
        raise ValueError(f"{function}: the {name} are {dtype}, beyond the range of {exact.dtype}")
    return exact


def native_labels(function: str, labels: Any) -> Any:
    """numpy's labels in the byte order of the machine and, if they are times, in a unit that a package has."""
    if not isinstance(labels, np.ndarray):
        return labels
    if labels.dtype == object and len(labels) > 0 and type(labels[0]).__module__.partition(".")[0] == "pandas":
        import pandas as pd

        # Timestamps of pandas are datetimes of Python's, whose nanoseconds others lose.
        return pd.Series(labels.tolist()).array
    if labels.dtype.kind not in "iufmMUS":
        return labels
    native = labels.astype(labels.dtype.newbyteorder("="), copy=False)
    return exact_times(function, "labels", native)
