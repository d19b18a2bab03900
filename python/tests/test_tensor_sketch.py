import math
import warnings

import numpy as np
import pytest

from gridstride import Alphabet, Sequences, ShortSequenceWarning
from gridstride.tensor_sketch import TensorSketch


def definition(codes, hashes, signs, dim):
    """T[k+1] += sign · roll(T[k], hash), for each letter and from the longest tuple down."""
    tuple_length = hashes.shape[1]
    rows = np.zeros((tuple_length + 1, dim))
    rows[0, 0] = 1
    for code in codes:
        for k in reversed(range(tuple_length)):
            rows[k + 1] += signs[code, k] * np.roll(rows[k], hashes[code, k])
    return rows[tuple_length]


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", [False, True])
def test_definition(device, rng, dtype, normalize):
    sketcher = TensorSketch(24, 3, seed=5, dtype=dtype, normalize=normalize)
    assert (sketcher.dim, sketcher.tuple, sketcher.dtype) == (24, 3, np.dtype(dtype).name)
    sequences = [rng.integers(0, 4, length).astype(np.uint8) for length in (0, 1, 3, 40)]
    found = sketcher.sketch(sequences, device=device)
    assert found.shape == (4, 24) and found.dtype == dtype
    for codes, row in zip(sequences, found):
        tuples = math.comb(len(codes), 3)
        expected = definition(codes, sketcher.hashes, sketcher.signs, 24) / (max(tuples, 1) if normalize else 1)
        # The documented bound of the Fourier form.
        bound = 1500 * 3 * 2**-24 * (1 if normalize else tuples)
        np.testing.assert_allclose(row, expected, atol=bound, rtol=0)


def test_texts_and_codes_agree(rng):
    sketcher = TensorSketch(16, 2)
    codes = rng.integers(0, 4, 50).astype(np.uint8)
    text = "".join("ACGT"[code] for code in codes)
    expected = sketcher.sketch([codes])
    for same in (text, text.lower(), text.encode(), text.replace("T", "U"), np.repeat(codes, 2)[::2]):
        assert (sketcher.sketch([same]) == expected).all()
    assert (sketcher.sketch(Sequences([text], alphabet="dna")) == expected).all()
    assert sketcher.sketch([]).shape == (0, 16)


def test_alphabets():
    assert TensorSketch(16, 2, alphabet="protein").hashes.shape == (20, 2)
    binary = TensorSketch(16, 2, alphabet=Alphabet("01"))
    assert (binary.sketch(["0110"]) == binary.sketch([np.array([0, 1, 1, 0], np.uint8)])).all()
    skipping = TensorSketch(16, 2, unknown="skip")
    assert (skipping.sketch(["GANTTA"]) == skipping.sketch(["GATTA"])).all()


def test_tables():
    hashes, signs = np.array([[1, 2, 2]]), np.array([[1, 1, -1]])
    sketcher = TensorSketch(4, 3, alphabet=Alphabet("a"), tables=(hashes, signs))
    np.testing.assert_allclose(sketcher.sketch(["aaaaaa"]), [[0, -20, 0, 0]], atol=1e-4)
    with pytest.raises(ValueError, match="the tables have rows for 1 letters, but the alphabet has 4"):
        TensorSketch(4, 3, tables=(hashes, signs))
    with pytest.raises(ValueError, match="TensorSketch: the tables have 3 columns, but tuple is 2"):
        TensorSketch(4, 2, alphabet=Alphabet("a"), tables=(hashes, signs))
    with pytest.raises(ValueError, match="TensorSketch: the sign at row 0, column 2 is 0, not 1 or -1"):
        TensorSketch(4, 3, alphabet=Alphabet("a"), tables=(hashes, np.array([[1, 1, 0]])))


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_windows(device, rng, dtype):
    sketcher = TensorSketch(16, 2, dtype=dtype, normalize=True)
    codes = rng.integers(0, 4, 60).astype(np.uint8)
    for width, stride in [(10, 1), (12, 5), (60, 7), (61, 1)]:
        starts = range(0, max(len(codes) - width + 1, 0), stride)
        found = sketcher.windows(codes, width, stride, device=device)
        expected = sketcher.sketch([codes[start : start + width] for start in starts], device=device)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        out = np.zeros((len(starts), 32), dtype)[:, ::2]
        assert sketcher.windows(codes, width, stride, out=out, device=device) is out
        assert (out == found).all()
    strided = sketcher.windows(np.repeat(codes, 3)[::3], 10, device=device)
    assert (strided == sketcher.windows(codes, 10, device=device)).all()


def test_out(device):
    sketcher = TensorSketch(16, 2)
    out = np.ones((16, 2), np.float32).T
    assert sketcher.sketch(["ACGT", "TTT"], out=out, device=device) is out
    assert (out == sketcher.sketch(["ACGT", "TTT"], device=device)).all()
    with pytest.raises(ValueError, match="sketch: .*out"):
        sketcher.sketch(["ACGT"], out=out)
    with pytest.raises(TypeError, match="the dtype of out is float64, but possible are float32"):
        sketcher.sketch(["ACGT"], out=np.zeros((1, 16)))


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_session_and_stream(device, rng, dtype):
    sketcher = TensorSketch(16, 2, dtype=dtype)
    sequences = [rng.integers(0, 4, length).astype(np.uint8) for length in (30, 0, 7, 1)]
    expected = sketcher.sketch(sequences, device=device)
    session = sketcher.session(device=device)
    for codes in sequences:
        session.push(codes[:5])
        session.push(codes[5:])
        session.end_sequence()
    taken = session.take_finished()
    found = np.concatenate([taken, session.finish()])
    assert found.dtype == dtype and (found == expected).all()
    with pytest.raises(ValueError, match="the session has ended"):
        session.push("A")
    streamed = np.concatenate(list(sketcher.stream(iter(sequences), device=device)))
    assert (streamed == expected).all()
    assert list(sketcher.stream([], device=device)) == []


def test_refused():
    with pytest.raises(ValueError, match="TensorSketch: dim, the dimension, is 0, not in 1 to 4096"):
        TensorSketch(0, 2)
    with pytest.raises(ValueError, match="TensorSketch: tuple, the number of letters"):
        TensorSketch(4, 9)
    with pytest.raises(ValueError, match='dtype is "int64", but possible are float32 and float64'):
        TensorSketch(4, 2, dtype=int)
    sketcher = TensorSketch(4, 2)
    with pytest.raises(ValueError, match="sketch: sequence 0: 'N' .*: unknown='skip' leaves such bytes out"):
        sketcher.sketch(["GAN"])
    with pytest.raises(ValueError, match="sketch: .* 7") as raised:
        sketcher.sketch([np.array([0], np.uint8), np.array([1, 7], np.uint8)])
    assert raised.value.index == 1
    with pytest.raises(TypeError, match="sketch: this is one sequence: put it into a list"):
        sketcher.sketch("GATTACA")
    with pytest.raises(ValueError, match="windows: "):
        sketcher.windows("GATTACA", 0)
    with pytest.raises(OverflowError, match="sketch: ") as raised:
        TensorSketch(1, 8, alphabet=Alphabet("a"), tables=([[0] * 8], [[1] * 8])).sketch(["a" * 400_000])
    assert raised.value.index == 0
    with pytest.raises(ValueError, match="session: there are 2 devices, but it runs on one"):
        sketcher.session(device=["cpu", "cpu"])


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_all_lengths(device, rng, dtype):
    sketcher = TensorSketch(16, 3, dtype=dtype, seed=2)
    sequences = [rng.integers(0, 4, length).astype(np.uint8) for length in (0, 2, 20)]
    rows = sketcher.sketch_rows(sequences, device=device)
    assert rows.shape == (3, 4, 16) and rows.dtype == dtype
    for k in range(1, 4):
        tables = sketcher.hashes[:, :k], sketcher.signs[:, :k]
        expected = [definition(codes, *tables, 16) for codes in sequences]
        # The documented bound of the Fourier form.
        np.testing.assert_allclose(rows[:, k], expected, atol=1500 * k * 2**-24 * math.comb(20, k), rtol=0)
    assert (rows[:, 0] == np.eye(16)[0]).all()
    out = np.zeros((3, 4, 32), dtype)[:, :, ::2]
    assert sketcher.sketch_rows(sequences, out=out, device=device) is out and (out == rows).all()
    with pytest.raises(ValueError, match="sketch_rows"):
        sketcher.sketch_rows(sequences, out=np.zeros((3, 3, 16), dtype))


def test_sequences_of_another_alphabet_are_refused(device):
    sketcher = TensorSketch(8, 2)
    with pytest.raises(ValueError, match="sketch: the Sequences have codes of another alphabet"):
        sketcher.sketch(Sequences(["ACDC"], alphabet="protein"), device=device)


def test_errors_name_the_sequence():
    with pytest.raises(ValueError, match="sketch: sequence 5: 'N'") as raised:
        TensorSketch(8, 2).sketch(["ACGT"] * 5 + ["ACGTN", "AC"])
    assert raised.value.index == 5


def test_messages_have_the_names_of_python():
    session = TensorSketch(8, 2).session()
    session.finish()
    for name, call in {
        "push": lambda: session.push("A"),
        "end_sequence": session.end_sequence,
        "take_finished": session.take_finished,
        "finish": session.finish,
    }.items():
        with pytest.raises(ValueError, match=f"^{name}: the session has ended with finish: begin another"):
            call()
    with pytest.raises(OverflowError, match="use normalize=True, dtype='float64' or shorter tuples"):
        TensorSketch(1, 8, alphabet=Alphabet("a"), tables=([[0] * 8], [[1] * 8])).sketch(["a" * 400_000])


def test_short_sequences_are_warned_of():
    sketcher = TensorSketch(8, 3)
    texts = ["ACGT", "AC", "", "ACG", "A", "C"]
    said = "4 of 6 sequences are shorter than a tuple of 3 letters, and their sketches are zero: sequence 1, sequence 2, sequence 4, 1 more"
    session = sketcher.session()
    for text in texts:
        session.push(text[:1])
        session.push(text[1:])
        session.end_sequence()
    for name, call in {
        "sketch": lambda: sketcher.sketch(texts),
        "sketch_rows": lambda: sketcher.sketch_rows(Sequences(texts, alphabet="dna")),
        "finish": session.finish,
        "stream: ": lambda: list(sketcher.stream(iter(texts))),
    }.items():
        with pytest.warns(ShortSequenceWarning, match=f"{name}.*{said}$") as warned:
            rows = call()
        assert [warning.filename for warning in warned] == [__file__] and len(rows) > 0
    with pytest.warns(ShortSequenceWarning, match="windows: the sequence of 4 letters is shorter than a window of 5 letters"):
        assert sketcher.windows("ACGT", 5).shape == (0, 8)
    with pytest.warns(ShortSequenceWarning, match="windows: windows of 2 letters have no tuples of 3 letters"):
        assert not sketcher.windows("ACGT", 2).any()


def test_warnings_of_short_sequences_are_filtered():
    assert issubclass(ShortSequenceWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortSequenceWarning)
        assert not TensorSketch(8, 3).sketch(["A"]).any()
    with pytest.raises(ShortSequenceWarning):
        TensorSketch(8, 3).sketch(["A"])


@pytest.mark.filterwarnings("error::gridstride.ShortSequenceWarning")
def test_warnings_that_are_errors_lose_no_sketches():
    sketcher = TensorSketch(8, 3)
    session = sketcher.session()
    session.push("A")
    session.end_sequence()
    with pytest.raises(ShortSequenceWarning, match="finish: 1 of 1 sequences are shorter than a tuple of 3 letters, .*: sequence 0$"):
        session.finish()
    session.push("AC")
    session.end_sequence()
    with pytest.raises(ShortSequenceWarning, match="1 of 2 sequences .*: sequence 1$"):
        session.finish()
    assert session.finish().shape == (2, 8)
    with pytest.raises(ValueError, match="finish: the session has ended"):
        session.finish()
    stream = sketcher.stream(["ACGT", "A"])
    rows = []
    with pytest.raises(ShortSequenceWarning, match="^stream: 1 of 2 sequences"):
        rows.extend(iter(stream))
    assert len(np.concatenate([*rows, *stream])) == 2


def test_streams_end_with_an_exception():
    def failing():
        yield "ACGT"
        raise KeyError("no more")

    for sequences, exception in (["ACGT", "ACGTN", "ACGT"], ValueError), (["ACGT", 7, "ACGT"], TypeError), (failing(), KeyError):
        stream = TensorSketch(8, 3).stream(sequences)
        with pytest.raises(exception):
            list(stream)
        assert next(stream, None) is None and list(stream) == []


def test_streams_yield_all_sequences_before_an_exception():
    def failing(sequences, exception):
        yield from sequences
        raise exception

    sketcher = TensorSketch(8, 3)
    texts = ["ACGT" * (1 + index % 7) for index in range(100)]
    expected = sketcher.sketch(texts)
    for sequences, exception, message in [
        (failing(texts, KeyError("no more")), KeyError, "no more"),
        ([*texts, "ACGTN", "ACGT"], ValueError, "^stream: sequence 100: 'N' .*unknown='skip'"),
        ([*texts, 7], TypeError, "^stream: sequence 100: "),
        ([*texts, None], ValueError, "^stream: sequence 100: the sequence is missing"),
        ([*texts, np.array([0, 9], np.uint8)], ValueError, "^stream: sequence 100: there is the code 9 at position 1"),
    ]:
        stream, rows = sketcher.stream(sequences), []
        with pytest.raises(exception, match=message) as raised:
            for part in stream:
                rows.append(part)
        np.testing.assert_array_equal(np.concatenate(rows), expected)
        assert exception not in (ValueError, TypeError) or raised.value.index == 100
        assert next(stream, None) is None


def test_streams_end_at_once_with_an_interrupt():
    def interrupted():
        yield "ACGT"
        raise KeyboardInterrupt

    stream = TensorSketch(8, 3).stream(interrupted())
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert list(stream) == []


@pytest.mark.filterwarnings("error::gridstride.ShortSequenceWarning")
def test_streams_go_on_after_a_warning_to_the_exception():
    def failing():
        yield from ["ACGT", "A"]
        raise KeyError("no more")

    stream, rows = TensorSketch(8, 3).stream(failing()), []
    for exception in (ShortSequenceWarning, KeyError):
        with pytest.raises(exception):
            for part in stream:
                rows.append(part)
    assert len(np.concatenate(rows)) == 2 and next(stream, None) is None


def test_one_sequence_is_no_stream():
    sketcher = TensorSketch(4, 2)
    for one in ("GATTACA", b"GATTACA", bytearray(b"GATTACA"), memoryview(b"GATTACA")):
        with pytest.raises(TypeError, match="stream: this is one sequence: put it into a list"):
            sketcher.stream(one)
    with pytest.raises(TypeError, match="stream: this is one sequence of codes: put it into a list"):
        sketcher.stream(np.array([0, 1], np.uint8))
    with pytest.raises(ValueError, match="stream: the Sequences have codes of another alphabet"):
        sketcher.stream(Sequences(["GATTACA"], alphabet="protein"))
    with pytest.raises(ValueError, match="stream: there are 2 devices, but it runs on one"):
        sketcher.stream(["GATTACA"], device=["cpu", "cpu"])
