"""Boxes in data frames, whose columns go by their names."""

import itertools
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gridstride import box_overlap, box_overlap_counts, box_overlap_slices, distances, nearest

SPELLINGS = [line.split(",") for line in (Path(__file__).parents[2] / "tests" / "data" / "box_columns.csv").read_text().splitlines()]
BOXES = np.array([[0.0, 10.0, 1.0, 11.0], [0.5, 10.5, 2.0, 12.0], [5.0, 10.0, 6.0, 11.0]])


def table(names, order):
    """Columns in another order than that of boxes."""
    return {names[place]: BOXES[:, place].copy() for place in order}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pa.RecordBatch.from_pydict(columns)])
# The table that the tests of the program go through, too.
@pytest.mark.parametrize("names", SPELLINGS, ids=lambda names: names[0])
def test_boxes_go_by_names_in_any_order(make, names):
    expected = box_overlap(BOXES).pairs().tolist()
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 5):
        frame = make(table(names, order))
        assert box_overlap(frame).pairs().tolist() == expected
        assert box_overlap(frame, BOXES).pairs().tolist() == box_overlap(BOXES, BOXES).pairs().tolist()
        assert box_overlap_counts(BOXES, frame).tolist() == [2, 2, 1]
        (only,) = box_overlap_slices(frame, max_pairs=100)
        assert only.overlaps.pairs().tolist() == expected


def test_boxes_with_three_axes():
    columns = {name: [value] for name, value in zip(["zmax", "zmin", "ymax", "ymin", "xmax", "xmin"], [3.0, 2.0, 5.0, 4.0, 7.0, 6.0])}
    inside = np.array([[6.5, 4.5, 2.5, 6.6, 4.6, 2.6]])
    assert box_overlap(pd.DataFrame(columns), inside).counts.tolist() == [1]


def test_integers_in_frames():
    frame = pl.DataFrame({"maxX": [4], "minX": [0], "maxY": [4], "minY": [0]})
    assert box_overlap(frame, [[1, 1, 2, 2]]).counts.tolist() == [1]


def test_columns_with_numbers_go_by_position():
    expected = box_overlap(BOXES).pairs().tolist()
    assert box_overlap(pd.DataFrame(BOXES)).pairs().tolist() == expected
    assert box_overlap(pl.DataFrame(BOXES)).pairs().tolist() == expected


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_unknown_and_ambiguous_names_are_refused(make):
    columns = table(["minX", "minY", "maxX", "maxY"], range(4))
    with pytest.raises(ValueError, match='set1 is a data frame: the column "id" is no coordinate beside the others: select minX, minY, maxX, maxY'):
        box_overlap(make({"id": [1, 2, 3], **columns}))
    with pytest.raises(ValueError, match='set2 is a data frame: the column "left" is no coordinate beside the others: select minX, minY, maxX, maxY'):
        box_overlap(BOXES, make({**columns, "left": [1.0, 2.0, 3.0]}))
    two = table(["xmin", "minY", "maxX", "maxY"], range(4))
    with pytest.raises(ValueError, match="set2 is a data frame: there are two columns minX, 'xmin' and 'left': the columns are xmin"):
        box_overlap(BOXES, make({**two, "left": [1.0, 2.0, 3.0]}))
    del columns["maxX"]
    with pytest.raises(ValueError, match="box_overlap_counts: set1 is a data frame: there is no column maxX: the columns are minX, minY, maxY"):
        box_overlap_counts(make(columns))
    with pytest.raises(ValueError, match="there is no column minZ: the columns are"):
        box_overlap(make({**table(["minX", "minY", "maxX", "maxY"], range(4)), "zmax": [1.0, 1.0, 1.0]}))
    with pytest.raises(ValueError, match="there is no column minX, minY, maxX, maxY: the columns are a, b, c, d"):
        box_overlap(make({"a": [1.0], "b": [1.0], "c": [1.0], "d": [1.0]}))


def test_top_below_bottom_is_no_box():
    """Images count rows from the top: then top is below bottom, and no box results."""
    image = pd.DataFrame({"left": [0.0, 0.0], "top": [1.0, 1.0], "right": [1.0, 1.0], "bottom": [1.0, 2.0]})
    remedy = "if y grows downwards, as in images, rename top to minY and bottom to maxY"
    with pytest.raises(ValueError, match=f"row 1 of set is no box: bottom is above top; {remedy}") as raised:
        box_overlap(image)
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="box_overlap: row 1 of set2 is no box"):
        box_overlap(BOXES, image)
    assert box_overlap(image.rename(columns={"top": "minY", "bottom": "maxY"})).pairs().tolist() == [[0, 1]]


NAMES = ["minX", "minY", "maxX", "maxY"]


@pytest.mark.parametrize("kind", ["Int64", "Float64", "Float32", "int64[pyarrow]", "double[pyarrow]", "float16", "int8"])
def test_nullable_columns_without_nulls_are_taken(kind):
    whole = np.array([[0, 10, 1, 11], [1, 10, 2, 12], [5, 10, 6, 11]])
    frame = pd.DataFrame(whole, columns=NAMES).astype(kind)
    expected = box_overlap(whole).pairs().tolist()
    assert box_overlap(frame).pairs().tolist() == expected == box_overlap(frame.set_axis(range(4), axis=1)).pairs().tolist()
    np.testing.assert_array_equal(distances(frame), distances(whole))
    np.testing.assert_array_equal(nearest(frame, frame[NAMES[::-1]]).indices, nearest(whole, whole).indices)
    mixed = frame.assign(minX=frame["minX"].astype(float), maxY=frame["maxY"].astype("Int32"))
    assert box_overlap(mixed).pairs().tolist() == expected


def test_columns_of_several_dtypes_are_not_rounded():
    frame = pd.DataFrame({"minX": [0.5], "minY": [0.0], "maxX": [2**53 + 1], "maxY": [1.0]})
    with pytest.raises(ValueError, match="box_overlap: set1 has the integer 9007199254740993, which float64 would round"):
        box_overlap(frame)


def test_nulls_in_frames_are_named():
    columns = {name: BOXES[:, place].tolist() for place, name in enumerate(NAMES)}
    columns["maxX"][1] = None
    frames = [pd.DataFrame(columns).astype(kind) for kind in ("Float64", "double[pyarrow]")]
    for frame in (*frames, pl.DataFrame(columns), pa.table(columns)):
        for name, call in {"box_overlap: set1": lambda: box_overlap(frame), "distances: b": lambda: distances(BOXES, frame)}.items():
            with pytest.raises(ValueError, match=f'{name}, the column "maxX", is null in row 1: leave out .*drop_nulls') as raised:
                call()
            assert raised.value.index == 1


@pytest.mark.parametrize("values", [["1", "2", "3"], [Decimal(1), Decimal(2), Decimal(3)], [date(2026, 1, 1)] * 3, [True] * 3])
def test_columns_of_no_numbers_are_named(values):
    columns = {**{name: BOXES[:, place].tolist() for place, name in enumerate(NAMES)}, "maxX": values}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        with pytest.raises(TypeError, match='box_overlap: the (dtype|Arrow type) of set1, the column "maxX", is .*: convert'):
            box_overlap(frame)
        if values[0] is not True:
            with pytest.raises(TypeError, match='distances: the (dtype|Arrow type) of a, the column "maxX", is .*: convert'):
                distances(frame)


def test_lazy_frames_have_to_be_collected():
    frame = pl.LazyFrame({name: BOXES[:, place] for place, name in enumerate(NAMES)})
    for name, call in {
        "box_overlap: set1": lambda: box_overlap(frame),
        "box_overlap_counts: set2": lambda: box_overlap_counts(BOXES, frame),
        "nearest: database": lambda: nearest(BOXES, frame),
    }.items():
        with pytest.raises(TypeError, match=rf"{name} is a LazyFrame: call its collect\(\) first"):
            call()
