import gzip
import io

import pytest

from gridstride import edit_distance, fasta
from gridstride.tensor_sketch import TensorSketch

TEXT = b">first of two\r\nGATT\r\nACA\r\n\r\n>second\nCC\n>\n>last\nA"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files(tmp_path, suffix):
    path = tmp_path / f"records.fa{suffix}"
    path.write_bytes(gzip.compress(TEXT) if suffix else TEXT)
    names, sequences = fasta.read(path)
    assert names == ["first", "second", "", "last"]
    assert sequences.lengths.tolist() == [7, 2, 0, 1]
    assert sequences[0].tolist() == [2, 0, 3, 3, 0, 1, 0]
    assert TensorSketch(16, 2).sketch(sequences).shape == (4, 16)
    assert edit_distance(sequences, sequences).tolist() == [0] * 4
    assert fasta.read(str(path)).names == names


def test_alphabets():
    proteins = fasta.read(io.BytesIO(b">p\nMKV"), alphabet="protein")
    assert proteins.sequences[0].tolist() == [10, 8, 17]
    skipped = fasta.read(io.BytesIO(b">n\nGANNA"), unknown="skip")
    assert skipped.sequences.lengths.tolist() == [3]


def test_refused(tmp_path):
    with pytest.raises(ValueError, match="fasta.read: record 1 \\(second\\): 'N' \\(byte 78\\) at position 5") as raised:
        fasta.read(io.BytesIO(b">first\nA\n>second\nGAT\nTAN\n"))
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="the text begins with 'A', not with '>'"):
        fasta.read(io.BytesIO(b"ACGT"))
    with pytest.raises(ValueError, match="the text is empty"):
        fasta.read(io.BytesIO(b""))
    with pytest.raises(ValueError, match="the header of record 1 has a carriage return in it") as raised:
        fasta.read(io.BytesIO(b">a\r\nACGT\n>b\rGGTT\n"))
    assert raised.value.index == 1
    with pytest.raises(FileNotFoundError):
        fasta.read(tmp_path / "missing.fa")
