"""Tensor sketches: short vectors whose distances estimate the similarity of sequences, without aligning them.

The sketch is that of A. Joudaki, G. Rätsch and A. Kahles, 'Fast Alignment-Free Similarity Estimation by Tensor
Sketching' (doi 10.1101/2020.11.13.381814): a sum over all subsequences of t letters, each of which adds ±1 at one of D
places.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import Alphabet, Device, Sequences, SketchSession
from ._types import Devices, Sequence

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SketchSession", "TensorSketch"]


class TensorSketch(_core.TensorSketch):
    """Sketches sequences. Only sketches of equal parameters can be compared.

    Parameters
    ----------
    dim : int
        The numbers of a sketch, D, up to 4096. The error of a distance falls as 1/√D.
    tuple : int
        The letters of a subsequence, t, up to 8: 3 to 6 for DNA, 2 or 3 for proteins.
    seed : int
        The seed of the tables. Equal seeds give equal tables in every version and on every machine.
    alphabet : {'dna', 'protein'} or Alphabet
        The letters of texts. The codes of arrays are below its size.
    unknown : {'error', 'skip'}
        How to treat bytes of texts that are no letters: 'skip' leaves them out.
    normalize : bool
        Whether sketches are divided by the number of subsequences, so that sketches of sequences of different lengths
        can be compared.
    dtype : dtype
        float32, or float64, which is more accurate and slower.
    form : {'auto', 'fourier', 'direct'}
        How to compute. 'direct' is the definition, and slow for long sequences.
    tables : tuple of array_like, optional
        Hashes, from 0 to D − 1, and signs, 1 or −1, in place of those of the seed: int64, with a row for each letter and
        ``tuple`` columns.

    Examples
    --------
    >>> from gridstride import distances
    >>> from gridstride.tensor_sketch import TensorSketch
    >>> sketcher = TensorSketch(64, 3, seed=1, normalize=True)
    >>> sketches = sketcher.sketch(["GATTACAGATTACA", "GATTACATATTACA", "CCGCGGCCGCCGGC"])
    >>> sketches.shape, sketches.dtype
    ((3, 64), dtype('float32'))
    >>> table = distances(sketches)
    >>> bool(table[0, 1] < table[0, 2])
    True
    """

    def __new__(
        cls,
        dim: int,
        tuple: int,
        seed: int = 0,
        *,
        alphabet: Literal["dna", "protein"] | Alphabet = "dna",
        unknown: Literal["error", "skip"] = "error",
        normalize: bool = False,
        dtype: Any = np.float32,
        form: Literal["auto", "fourier", "direct"] = "auto",
        tables: builtins.tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        return super().__new__(
            cls,
            dim,
            tuple,
            seed,
            alphabet=alphabet,
            unknown=unknown,
            normalize=normalize,
            dtype=np.dtype(dtype).name,
            form=form,
            tables=tables,
        )

    def sketch(
        self,
        sequences: Sequences | Iterable[Sequence],
        *,
        out: NDArray[Any] | None = None,
        device: Devices | None = None,
    ) -> NDArray[Any]:
        """Sketch sequences.

        Parameters
        ----------
        sequences : Sequences, or iterable of str, bytes and uint8 arrays
            Texts in the letters of the alphabet, or arrays of codes.
        out : ndarray, optional
            An array of the result's shape and dtype, with any strides, to write the result to.
        device : Device, str, or several of them, optional
            Where to compute. The default is the first GPU, or else the CPU.

        Returns
        -------
        ndarray
            A row for each sequence, of shape (n, dim).

        Raises
        ------
        ValueError
            For letters and codes that are not in the alphabet.
        OverflowError
            If a sketch that is not normalised has an entry beyond the range of float32.

        Examples
        --------
        >>> sketcher = TensorSketch(16, 2)
        >>> sketches = sketcher.sketch(["ACGT", "A"])
        >>> sketches.shape
        (2, 16)
        >>> bool(sketches[1].any())  # a single letter has no subsequence of two
        False
        """
        return super().sketch(sequences, out=out, device=device)

    def sketch_rows(
        self,
        sequences: Sequences | Iterable[Sequence],
        *,
        out: NDArray[Any] | None = None,
        device: Devices | None = None,
    ) -> NDArray[Any]:
        """Sketch sequences with subsequences of every length from 0 to t.

        Parameters
        ----------
        sequences : Sequences, or iterable of str, bytes and uint8 arrays
            Texts in the letters of the alphabet, or arrays of codes.
        out : ndarray, optional
            An array of the result's shape and dtype, with any strides, to write the result to.
        device : Device, str, or several of them, optional
            Where to compute. The default is the first GPU, or else the CPU.

        Returns
        -------
        ndarray
            Of shape (n, t + 1, dim): row k of a sequence is the sketch with subsequences of k letters.

        Examples
        --------
        >>> sketcher = TensorSketch(16, 2)
        >>> rows = sketcher.sketch_rows(["GATTACA", "CC"])
        >>> rows.shape
        (2, 3, 16)
        >>> bool(np.allclose(rows[:, 2], sketcher.sketch(["GATTACA", "CC"]), atol=1e-4))
        True
        """
        return super().sketch_rows(sequences, out=out, device=device)

    def __repr__(self) -> str:
        return f"<TensorSketch: dim={self.dim}, tuple={self.tuple}, {self.alphabet}, {self.dtype}>"

    def windows(
        self,
        sequence: Sequence,
        width: int,
        stride: int = 1,
        *,
        out: NDArray[Any] | None = None,
        device: Devices | None = None,
    ) -> NDArray[Any]:
        """Sketch all windows of a sequence.

        Windows are always sketched in the Fourier form, whatever `form` is.

        Parameters
        ----------
        sequence : str, bytes or ndarray
            A text in the letters of the alphabet, or a uint8 array of codes.
        width : int
            The letters of a window.
        stride : int
            The letters between the beginnings of neighbouring windows.
        out : ndarray, optional
            An array of the result's shape and dtype, with any strides, to write the result to.
        device : Device, str, or several of them, optional
            Where to compute. The default is the first GPU, or else the CPU.

        Returns
        -------
        ndarray
            A row for each window, of shape ((length - width) // stride + 1, dim).

        Examples
        --------
        >>> sketcher = TensorSketch(16, 2)
        >>> windows = sketcher.windows("ACGTGCAAC", 4, 2)
        >>> windows.shape
        (3, 16)
        >>> bool((windows[1] == sketcher.sketch(["GTGC"])[0]).all())
        True
        """
        return super().windows(sequence, width, stride, out=out, device=device)

    def session(self, *, device: Device | str | None = None) -> SketchSession:
        """Begin a session, which sketches sequences whose letters arrive gradually.

        Examples
        --------
        >>> sketcher = TensorSketch(16, 2)
        >>> session = sketcher.session()
        >>> session.push("ACG")
        >>> session.push("T")
        >>> session.end_sequence()
        >>> sketches = session.finish()
        >>> bool((sketches == sketcher.sketch(["ACGT"])).all())
        True
        """
        return super().session(device=device)

    def stream(
        self, sequences: Iterable[Sequence], *, device: Device | str | None = None
    ) -> Iterator[NDArray[Any]]:
        """Sketch sequences while an iterable makes them, however many they are.

        Parameters
        ----------
        sequences : iterable of str, bytes and uint8 arrays
            Texts in the letters of the alphabet, or arrays of codes. At most 25 million letters are in memory at a time.
        device : Device or str, optional
            Where to compute. The default is the first GPU, or else the CPU.

        Yields
        ------
        ndarray
            The next sketches that are finished, in the order of the sequences: at least one row.

        Examples
        --------
        >>> sketcher = TensorSketch(16, 2)
        >>> texts = ["ACGT", "GATTACA", "CC"]
        >>> sketches = np.concatenate(list(sketcher.stream(iter(texts))))
        >>> bool((sketches == sketcher.sketch(texts)).all())
        True
        """
        session = self.session(device=device)
        for sequence in sequences:
            session.push(sequence)
            session.end_sequence()
            finished = session.take_finished()
            if len(finished) > 0:
                yield finished
        rest = session.finish()
        if len(rest) > 0:
            yield rest
