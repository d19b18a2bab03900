import edlib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gridstride.tensor_sketch import TensorSketch
from gridstride import Alphabet, Sequences, edit_distance


def texts(rng, count, longest):
    lengths = rng.integers(0, longest, count)
    return ["".join(rng.choice(list("ACGT"), length)) for length in lengths]


def test_edlib(device, rng):
    a, b = texts(rng, 12, 60), texts(rng, 12, 60)
    expected = [edlib.align(x, y)["editDistance"] if x and y else max(len(x), len(y)) for x, y in zip(a, b)]
    found = edit_distance(a, b, device=device)
    assert found.dtype == np.int64 and found.tolist() == expected
    for limit in (0, 10, 40):
        within = [distance if distance <= limit else -1 for distance in expected]
        assert edit_distance(a, b, limit=limit, device=device).tolist() == within


def test_arguments():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance(b"kitten", "sitting") == 3
    assert edit_distance("", "") == 0
    assert edit_distance("é", "e") == 1
    assert edit_distance([], []).shape == (0,)
    codes = np.arange(9, dtype=np.uint8)
    assert edit_distance([codes[::2], b""], [codes[::-2], "ab"]).tolist() == [4, 2]
    dna = Sequences(["GATTACA", "CC"], alphabet="dna")
    assert edit_distance(dna, Sequences(["GATACA", ""], alphabet="dna")).tolist() == [1, 2]
    assert edit_distance(iter(["a"]), iter(["b"])).tolist() == [1]


def test_refused():
    with pytest.raises(ValueError, match="edit_distance: a has 1 sequences and b has 2"):
        edit_distance(["a"], ["b", "c"])
    with pytest.raises(TypeError, match="one argument is a text, and the other has several sequences"):
        edit_distance("a", ["b"])
    with pytest.raises(ValueError, match="beyond U\\+00FF"):
        edit_distance("日本", "ab")
    with pytest.raises(TypeError, match="the dtype of a sequence is int64, but possible are uint8"):
        edit_distance([np.arange(3)], ["a"])


def test_sequences():
    sequences = Sequences(["GATTACA", np.array([3, 2], np.uint8), ""], alphabet="dna")
    assert len(sequences) == 3 and sequences.lengths.tolist() == [7, 2, 0]
    assert sequences[0].tolist() == [2, 0, 3, 3, 0, 1, 0] and sequences[-2].tolist() == [3, 2]
    with pytest.raises(IndexError, match="there is no sequence 3: there are 3"):
        sequences[3]
    for wrong in [["A", "GN"], iter(["A", "GN"])]:
        with pytest.raises(ValueError, match="sequence 1: 'N' \\(byte 78\\) at position 1 is not a letter") as raised:
            Sequences(wrong, alphabet="dna")
        assert raised.value.index == 1
    assert len(Sequences()) == 0
    with pytest.raises(ValueError, match="alphabet is rna, but possible are dna, protein and an Alphabet"):
        Sequences(["A"], alphabet="rna")


def test_sequences_remember_their_alphabet(device):
    encoded = Sequences(["GATTACA", "CC"], alphabet="dna")
    texts = ["GATTACA", "CA"]
    assert edit_distance(encoded, texts, device=device).tolist() == [0, 1]
    assert edit_distance(texts, encoded, device=device).tolist() == [0, 1]
    assert edit_distance(encoded, encoded, device=device).tolist() == [0, 0]
    for other in [Sequences(texts), Sequences(texts, alphabet="protein")]:
        with pytest.raises(ValueError, match="codes of another alphabet"):
            edit_distance(encoded, other, device=device)


def test_sequences_of_codes_get_an_alphabet_that_has_them():
    codes = Sequences([np.array([2, 0, 3], np.uint8)])
    assert edit_distance(Sequences(codes, alphabet="dna"), ["GAT"]).tolist() == [0]
    with pytest.raises(ValueError, match="there is the code 71 at position 0, but the alphabet has 4 letters"):
        Sequences(Sequences(["GATTACA"]), alphabet="dna")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_every_kind_are_text(kind):
    text = kind(b"ACGT")
    assert edit_distance(Sequences(["ACGT"], alphabet="dna"), [text]).tolist() == [0]
    assert edit_distance(text, "ACG") == 1
    assert Alphabet.dna().encode(text).tolist() == Alphabet.dna().encode("ACGT").tolist()
    assert Sequences(iter([text]), alphabet="dna")[0].tolist() == Sequences(["ACGT"], alphabet="dna")[0].tolist()
    with pytest.raises(TypeError, match="Sequences: this is one sequence: put it into a list"):
        Sequences(text)
    with pytest.raises(TypeError, match="the dtype of a sequence is int64"):
        edit_distance([memoryview(np.arange(3))], ["ACG"])


def test_codes_beyond_the_alphabet_are_refused():
    letters = np.frombuffer(b"ACGT", np.uint8)
    encoded = Sequences(["ACGT", "AC"], alphabet="dna")
    codes = np.arange(4, dtype=np.uint8)
    for wrong in ([codes, letters], iter([codes, letters])):
        with pytest.raises(ValueError, match="edit_distance: sequence 1: there is the code 65 at position 0") as raised:
            edit_distance(encoded, wrong)
        assert raised.value.index == 1


def test_columns_of_text(device):
    texts, others = ["GATTACA", "", "cafe"], ["CATTAGA", "A", "café"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        column = pa.array(others, kind)
        assert edit_distance(texts, column, device=device).tolist() == [2, 1, 1]
        assert edit_distance(pa.chunked_array([texts[:1], texts[1:]]), column, device=device).tolist() == [2, 1, 1]
    assert edit_distance(pl.Series(texts), pd.Series(others)).tolist() == [2, 1, 1]
    assert edit_distance(pa.array([b"\xe9"]), ["é"]).tolist() == [0]
    sketcher = TensorSketch(8, 2)
    np.testing.assert_array_equal(sketcher.sketch(pa.array(["ACGT", "GG"])), sketcher.sketch(["ACGT", "GG"]))
    with pytest.raises(ValueError, match="sequence 1: 'X' .* is not a letter"):
        sketcher.sketch(pa.array(["ACGT", "X"]))


@pytest.mark.parametrize("kind", [list, tuple, iter, pa.array, pl.Series, pd.Series])
def test_the_text_that_is_wrong_is_named(kind):
    with pytest.raises(ValueError, match="edit_distance: sequence 2:? .*has characters beyond U\\+00FF") as raised:
        edit_distance(["a", "b", "c"], kind(["a", "é", "日"]))
    assert raised.value.index == 2
    with pytest.raises(ValueError, match="edit_distance: sequence 1:? .*(null|missing)") as raised:
        edit_distance(["a", "b"], kind(["a", None]))
    assert raised.value.index == 1
    if kind in (list, tuple, iter):
        with pytest.raises(TypeError, match="edit_distance: sequence 1: the dtype of a sequence is int64") as raised:
            edit_distance(["a", "b"], kind(["a", 3]))
        assert raised.value.index == 1
