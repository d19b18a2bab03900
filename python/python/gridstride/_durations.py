"""Spans and points of time in the unit of timestamps."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction

import numpy as np

_NANOSECONDS: dict[str, int | Fraction] = {
    "as": Fraction(1, 10**9),
    "fs": Fraction(1, 10**6),
    "ps": Fraction(1, 1000),
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
    "w": 7 * 86_400 * 10**9,
}


def span_in(unit: str | None, span: int | str | timedelta | np.timedelta64) -> int:
    """Returns a span as a number of the timestamps' unit, which has to be whole."""
    if isinstance(span, int | np.integer) and not isinstance(span, np.timedelta64):
        return _int64("every", span, int(span))
    nanoseconds = _nanoseconds(span)
    if unit is None:
        raise ValueError(f"every is {span!r}, but the timestamps have no unit: give it as an integer in their unit")
    ticks = nanoseconds / _NANOSECONDS[unit.lower()]
    if ticks.denominator != 1:
        raise ValueError(f"every is {span!r}, which is no multiple of the timestamps' unit, {unit}")
    return _int64("every", span, int(ticks))


def point_in(unit: str | None, point: int | datetime | np.datetime64) -> int:
    """Returns a point of time as a number of the timestamps' unit."""
    if isinstance(point, int | np.integer) and not isinstance(point, np.timedelta64):
        return _int64("origin", point, int(point))
    if unit is None:
        raise ValueError(f"origin is {point!r}, but the timestamps have no unit: give it as an integer in their unit")
    if isinstance(point, datetime) and point.tzinfo is not None:
        point = point.astimezone(timezone.utc).replace(tzinfo=None)
    # pandas' own conversion keeps the nanoseconds.
    exact = point.to_datetime64() if hasattr(point, "to_datetime64") else np.datetime64(point)
    try:
        ticks = exact.astype(f"datetime64[{unit}]")
        # A time beyond the unit's range is another one there, or an error of newer versions of numpy.
        fits = ticks == exact and ticks.astype(exact.dtype) == exact
    except OverflowError:
        fits = False
    if not fits:
        raise ValueError(f"origin is {point!r}, which is no multiple of the timestamps' unit, {unit}")
    return int(ticks.astype(np.int64))


def _int64(name: str, value: object, ticks: int) -> int:
    if not -(2**63) <= ticks < 2**63:
        raise ValueError(f"{name} is {value!r}, which is beyond the range of int64")
    return ticks


def _nanoseconds(span: str | timedelta | np.timedelta64) -> Fraction:
    if isinstance(span, str):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([a-zA-Z]+)", span.strip())
        factor = match and _NANOSECONDS.get(match[2].lower())
        # M is a month in pandas.
        if not match or not factor or match[2] == "M":
            raise ValueError(
                f"every is {span!r}, but possible are a number and one of ns, us, ms, s, m, min, h, d and w: 35s, 1.5h"
            )
        return Fraction(match[1]) * factor
    if not isinstance(span, timedelta | np.timedelta64):
        raise TypeError(f"every is {span!r}, but has to be an integer, a text such as '35s', a timedelta or a timedelta64")
    # pandas' own conversion keeps the nanoseconds.
    span = span.to_timedelta64() if hasattr(span, "to_timedelta64") else np.timedelta64(span)
    unit, count = np.datetime_data(span.dtype)
    if unit.lower() not in _NANOSECONDS or unit == "M":
        raise ValueError(f"every is {span!r}, whose unit has no fixed length")
    return Fraction(int(span.astype(np.int64)) * count * _NANOSECONDS[unit.lower()])
