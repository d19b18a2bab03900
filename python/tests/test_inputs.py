"""The tables of input files that the tests of the program and of SQL go through, too."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gridstride import box_overlap, fasta, matmul
from gridstride.time_series import aggregate

INPUTS = Path(__file__).parents[2] / "tests" / "data" / "inputs"


def rows(kind):
    """Return the rows of a table that are for Python, as parameters of a test."""
    found = []
    for row in json.loads((INPUTS / f"{kind}.json").read_text()):
        own = row.get("python", {})
        stated = own if "is" in own or "error" in own else row
        if "because" not in own or stated is own:
            found.append(pytest.param(row, own, stated, id=row["file"]))
    return found


def check(path, row, stated, read):
    """Compare what ``read`` returns or raises with what the row says."""
    path = path / row["file"]
    path.write_bytes(bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "error" in stated:
            with pytest.raises(Exception) as raised:
                read(path)
            assert stated["error"] in str(raised.value)
            return
        found = read(path)
    assert sorted(found) == sorted(part for part in stated["is"].split("; ") if part)
    assert len(caught) == ("warning" in row)
    assert all(row["warning"] in str(warning.message) for warning in caught)


def text(number):
    return repr(float(number)).removesuffix(".0")


@pytest.mark.parametrize(("row", "own", "stated"), rows("sequences"))
def test_sequences(tmp_path, row, own, stated):
    def read(path):
        names, sequences = fasta.read(path)
        letters = ("".join("ACGT"[code] for code in codes) for codes in sequences)
        return [" ".join(f"{name}={sequence}" for name, sequence in zip(names, letters, strict=True))]

    check(tmp_path, row, stated, read)


@pytest.mark.parametrize(("row", "own", "stated"), rows("points"))
def test_points(tmp_path, row, own, stated):
    def read(path):
        frame = pd.read_csv(path, **own.get("read", {}))
        times = frame[own.get("timestamp", "timestamp")]
        if "unit" in own:
            times = pd.to_datetime(times, unit=own["unit"], utc=True)
        elif not pd.api.types.is_numeric_dtype(times):
            times = pd.to_datetime(times, format="ISO8601", utc=True)
        values = frame[own.get("value", "value")]
        every = row.get("every", "1h")
        buckets = aggregate(times, values, every, ["count", "sum"], series=frame.get("series"), sort=own.get("sort", False))
        found = buckets.to_pandas().reset_index()
        series = [f"{name} " for name in found["series"]] if "series" in found else [""] * len(found)
        starts = found["start"].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        columns = zip(series, starts, map(text, found["count"]), map(text, found["sum"]), strict=True)
        return [f"{name}{start} {count} {total}" for name, start, count, total in columns]

    check(tmp_path, row, stated, read)


@pytest.mark.parametrize(("row", "own", "stated"), rows("boxes"))
def test_boxes(tmp_path, row, own, stated):
    def read(path):
        frame = pd.read_csv(path, **own.get("read", {}))
        ids = frame.pop("id")
        return [f"{ids[a]} {ids[b]}" for a, b in box_overlap(frame).pairs().tolist()]

    check(tmp_path, row, stated, read)


@pytest.mark.parametrize(("row", "own", "stated"), rows("matrices"))
def test_matrices(tmp_path, row, own, stated):
    def read(path):
        product = matmul(np.load(path), np.eye(3))
        return [" ".join(map(text, numbers)) for numbers in product.tolist()]

    check(tmp_path, row, stated, read)
