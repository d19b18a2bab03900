"""Spans and points of time in the unit of timestamps."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from fractions import Fraction

import numpy as np

from . import _core

#: The units of numpy that have a fixed length.
_NANOSECONDS: dict[str, int | Fraction] = {
    "as": Fraction(1, 10**9),
    "fs": Fraction(1, 10**6),
    "ps": Fraction(1, 1000),
    **{unit: _core.duration(f"1{unit}") for unit in ("ns", "us", "ms", "s", "m", "h", "D", "W")},
}


def span_in(unit: str | None, span: int | str | timedelta | np.timedelta64) -> int:
    """Returns a span as a number of the timestamps' unit, which has to be whole."""
    if isinstance(span, int | np.integer) and not isinstance(span, np.timedelta64):
        return _int64("every", span, int(span))
    nanoseconds = _nanoseconds(span)
    if unit is None:
        raise ValueError(f"every is {span!r}, but the timestamps have no unit: give it as an integer in their unit")
    ticks = nanoseconds / _NANOSECONDS[unit]
    if ticks.denominator != 1:
        raise ValueError(f"every is {span!r}, which is no multiple of the timestamps' unit, {unit}")
    return _int64("every", span, int(ticks))


def point_in(unit: str | None, point: int | str | datetime | np.datetime64) -> int:
    """Returns a point of time as a number of the timestamps' unit."""
    if isinstance(point, int | np.integer) and not isinstance(point, np.timedelta64):
        return _int64("origin", point, int(point))
    if unit is None:
        raise ValueError(f"origin is {point!r}, but the timestamps have no unit: give it as an integer in their unit")
    if isinstance(point, str):
        return _text_in(unit, point)
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


def _text_in(unit: str, text: str) -> int:
    try:
        ticks = Fraction(_core.point(text)) / _NANOSECONDS[unit]
    except ValueError as error:
        raise ValueError(f"origin {text!r} {error}") from None
    if ticks.denominator != 1:
        raise ValueError(f"origin is {text!r}, which is no multiple of the timestamps' unit, {unit}")
    return _int64("origin", text, int(ticks))


def _int64(name: str, value: object, ticks: int) -> int:
    if not -(2**63) <= ticks < 2**63:
        raise ValueError(f"{name} is {value!r}, which is beyond the range of int64")
    return ticks


def _nanoseconds(span: str | timedelta | np.timedelta64) -> Fraction:
    if isinstance(span, str):
        try:
            return Fraction(_core.duration(span))
        except ValueError as error:
            raise ValueError(f"every is {span!r}: {error}") from None
    if not isinstance(span, timedelta | np.timedelta64):
        raise TypeError(f"every is {span!r}, but has to be an integer, a text such as '35s', a timedelta or a timedelta64")
    # pandas' own conversion keeps the nanoseconds.
    span = span.to_timedelta64() if hasattr(span, "to_timedelta64") else np.timedelta64(span)
    unit, count = np.datetime_data(span.dtype)
    if unit not in _NANOSECONDS:
        raise ValueError(f"every is {span!r}, whose unit has no fixed length")
    return Fraction(int(span.astype(np.int64)) * count * _NANOSECONDS[unit])
