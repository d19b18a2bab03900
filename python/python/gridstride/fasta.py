"""Files in the FASTA and FASTQ formats."""

import io
import os
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
    """Read all records of a file of FASTA or FASTQ, which its first byte tells.

    Qualities are counted and left out. White space in sequences is ignored.

    Parameters
    ----------
    source : path or binary file
        It is decompressed if its first bytes say so: gzip, bgzip, zstd, bzip2, xz, or zip with a single file.
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
        If the text is neither FASTA nor FASTQ, has bytes that are no letters, or has a ``>`` or ``;`` within a sequence,
        where two records would be merged or a comment would be read. The error names the record and the line, and the
        number of the record, from 0, is its attribute ``index``.

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
    if isinstance(source, str | os.PathLike):
        text: str | bytes = os.fsdecode(source)
    elif isinstance(source, io.TextIOBase):
        raise TypeError("fasta.read: the file is open as text: open it as binary, such as open(path, 'rb')")
    elif hasattr(source, "read"):
        text = source.read()
    else:
        raise TypeError(f"fasta.read: the source is a {type(source).__name__}, and has to be a path or a binary file")
    return Records(*_core.read_fasta(text, alphabet=alphabet, unknown=unknown))
