"""Files in the FASTA format."""

import bz2
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from . import _core
from ._core import Alphabet, Sequences

__all__ = ["Records", "read"]


class Records(NamedTuple):
    """The records of a file."""

    #: The header of each record up to the first blank.
    names: list[str]
    sequences: Sequences


def read(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    alphabet: Literal["dna", "protein"] | Alphabet = "dna",
    unknown: Literal["error", "skip"] = "error",
) -> Records:
    """Read all records of a FASTA file.

    Parameters
    ----------
    source : path or binary file
        Names that end in .gz, .bgz, .bz2 or .xz are decompressed.
    alphabet : {'dna', 'protein'} or Alphabet
        The letters. DNA and proteins are in upper or lower case, and U is T.
    unknown : {'error', 'skip'}
        How to treat bytes that are no letters, such as N: 'skip' leaves them out.

    Returns
    -------
    Records
        ``names`` and ``sequences``.

    Raises
    ------
    OSError
        If the file cannot be read, or is compressed and damaged or cut short.
    ValueError
        If the text is not FASTA, or has bytes that are no letters. The error names the record, whose number is its
        attribute ``index``.

    Examples
    --------
    >>> import io
    >>> from gridstride import fasta
    >>> names, sequences = fasta.read(io.BytesIO(b">first record\\nGATT\\nACA\\n>second\\nCC\\n"))
    >>> names
    ['first', 'second']
    >>> sequences
    <Sequences: 2 of 9 letters in all>
    >>> sequences[1]
    array([1, 1], dtype=uint8)
    """
    text = _contents(source) if isinstance(source, str | os.PathLike) else source.read()
    return Records(*_core.parse_fasta(text, alphabet=alphabet, unknown=unknown))


def _contents(path: str | os.PathLike[str]) -> bytes:
    decompress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": _core.gunzip,
        ".bgz": _core.gunzip,
        ".bz2": lambda compressed: _streams(compressed, bz2.BZ2Decompressor),
        ".xz": lambda compressed: _streams(compressed, lzma.LZMADecompressor),
    }
    path = Path(path)
    text = path.read_bytes()
    if path.suffix not in decompress:
        return text
    try:
        return decompress[path.suffix](text)
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise OSError(f"fasta.read: {path} cannot be decompressed: {error}") from error


def _streams(compressed: bytes, decompressor: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> bytes:
    """Returns the content of all streams.

    `bz2.decompress` and `lzma.decompress` take a damaged stream behind another one for the end of the file.
    """
    contents = []
    while True:
        stream = decompressor()
        contents.append(stream.decompress(compressed))
        if not stream.eof:
            raise OSError("the compressed data is cut short")
        # Zeros may pad a file.
        compressed = stream.unused_data.lstrip(b"\0")
        if not compressed:
            return b"".join(contents)
