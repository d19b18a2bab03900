import bz2
import gzip
import io
import lzma

import pytest

from gridstride import edit_distance, fasta
from gridstride.tensor_sketch import TensorSketch

TEXT = b">first of two\r\nGATT\r\nACA\r\n\r\n>second\nCC\n>\n>last\nA"


#: The empty block at the end of a file of bgzip.
LAST_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def bgzip(text):
    """Return a block of bgzip, which has its size in its header."""
    compressed = gzip.compress(text)
    header = b"\x1f\x8b\x08\x04" + compressed[4:10] + b"\x06\x00BC\x02\x00"
    size = len(compressed) + 8
    return header + (size - 1).to_bytes(2, "little") + compressed[10:]


@pytest.mark.filterwarnings("ignore::gridstride.ShortSequenceWarning")
@pytest.mark.parametrize(
    ("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_files(tmp_path, suffix, compress):
    path = tmp_path / f"records.fa{suffix}"
    path.write_bytes(compress(TEXT))
    names, sequences = fasta.read(path)
    assert names == ["first", "second", "", "last"]
    assert sequences.lengths.tolist() == [7, 2, 0, 1]
    assert sequences[0].tolist() == [2, 0, 3, 3, 0, 1, 0]
    assert TensorSketch(16, 2).sketch(sequences).shape == (4, 16)
    assert edit_distance(sequences, sequences).tolist() == [0] * 4
    assert fasta.read(str(path)).names == names
    if suffix:
        whole = compress(TEXT)
        damaged = bytearray(whole)
        damaged[len(damaged) // 2] ^= 0xFF
        for bad in whole[:-9], damaged:
            path.write_bytes(bad)
            with pytest.raises(OSError, match=r"fasta.read: cannot read .*records.fa.*: (reading|nothing|the)"):
                fasta.read(path)


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_several_streams(tmp_path, suffix, compress):
    path = tmp_path / f"records.fa{suffix}"
    first, second = compress(TEXT[:20]), compress(TEXT[20:])
    for padding in b"", bytes(4):
        path.write_bytes(first + second + padding)
        assert fasta.read(path).sequences.lengths.tolist() == [7, 2, 0, 1]
    damaged = bytearray(second)
    damaged[len(damaged) // 2] ^= 0xFF
    for bad in damaged, second[:-9]:
        path.write_bytes(first + bad)
        with pytest.raises(OSError, match=r"fasta.read: cannot read .*records.fa.*: (reading|nothing|the)"):
            fasta.read(path)


@pytest.mark.parametrize("suffix", [".gz", ".bgz"])
def test_bgzip(tmp_path, suffix):
    path = tmp_path / f"records.fa{suffix}"
    blocks = bgzip(TEXT[:20]), bgzip(TEXT[20:]), LAST_BLOCK
    path.write_bytes(b"".join(blocks))
    assert fasta.read(path).sequences.lengths.tolist() == [7, 2, 0, 1]
    # Cut between two blocks: each of them is whole, and what is there is read.
    path.write_bytes(b"".join(blocks[:2]))
    with pytest.warns(UserWarning, match=r"fasta.read: .*records.fa"):
        assert fasta.read(path).sequences.lengths.tolist() == [7, 2, 0, 1]
    path.write_bytes(b"".join(blocks)[:-1])
    with pytest.raises(OSError, match="is cut short"):
        fasta.read(path)
    damaged = bytearray(blocks[0] + blocks[2])
    damaged[-35] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(OSError, match="the gzip data is damaged near byte"):
        fasta.read(path)


def test_alphabets():
    proteins = fasta.read(io.BytesIO(b">p\nMKV"), alphabet="protein")
    assert proteins.sequences[0].tolist() == [10, 8, 17]
    skipped = fasta.read(io.BytesIO(b">n\nGANNA"), unknown="skip")
    assert skipped.sequences.lengths.tolist() == [3]


def test_refused(tmp_path):
    with pytest.raises(ValueError, match="record 2 \\(second\\), line 5: letter 6 is 'N' \\(byte 78\\), .*unknown='skip'") as raised:
        fasta.read(io.BytesIO(b">first\nA\n>second\nGAT\nTAN\n"))
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="it is not FASTA or FASTQ: it begins with 'A', not with '>'"):
        fasta.read(io.BytesIO(b"ACGT"))
    with pytest.raises(ValueError, match="the file is empty"):
        fasta.read(io.BytesIO(b""))
    with pytest.raises(ValueError, match="record 1 \\(a\\), line 3: the header has a carriage return in it") as raised:
        fasta.read(io.BytesIO(b">a\r\nACGT\n>b\rGGTT\n"))
    assert raised.value.index == 0
    with pytest.raises(FileNotFoundError):
        fasta.read(tmp_path / "missing.fa")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_fastq(tmp_path, compress):
    text = b"@first x\nGATT\nACA\n+\n@>;+\n+II\n@second\nCC\n+second\n@@\n"
    path = tmp_path / "reads.txt"
    path.write_bytes(compress(text))
    for source in path, io.BytesIO(compress(text)):
        names, sequences = fasta.read(source)
        assert names == ["first", "second"]
        assert sequences.lengths.tolist() == [7, 2]


@pytest.mark.parametrize("unknown", ["skip", "error"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b">a\nACGT>b\nGG\n", r"record 1 \(a\), line 2: there is a '>' within a line"),
        (b">a\nACGT\r>b\rGG\r", r"record 1 \(a\), line 2: there is a '>' within a line"),
        (b">a\n;comment\nACGT\n", r"record 1 \(a\), line 2: there is a ';'"),
        (b"@a\nACG\n+\nII\n", r"record 1 \(a\), line 4: there are 2 qualities for 3 letters"),
        (">a\nACGT\n".encode("utf-16"), "the text is UTF-16"),
    ],
)
def test_records_are_never_merged(text, said, unknown):
    with pytest.raises(ValueError, match=said):
        fasta.read(io.BytesIO(text), unknown=unknown)


def test_files_that_are_no_binary_files(tmp_path):
    path = tmp_path / "records.fa"
    path.write_bytes(TEXT)
    for source in path.open(), io.StringIO(">a\nACGT\n"):
        with source, pytest.raises(TypeError, match="the file is open as text: open it as binary"):
            fasta.read(source)
    for source in b">a\nACGT\n", None:
        with pytest.raises(TypeError, match=f"the source is a {type(source).__name__}, and has to be a path or a binary file"):
            fasta.read(source)
