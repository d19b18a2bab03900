"""The extension module. Its functions have no defaults: those of the package's Python files do."""

import builtins
from collections.abc import Iterable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Self

from .time_series import Buckets, Point, Span

__all__ = [
    "METHODS",
    "Alphabet",
    "BoxSlices",
    "Device",
    "DeviceArray",
    "Sequences",
    "ShortSequenceWarning",
    "SketchSession",
    "SketchStream",
    "Summaries",
    "TensorSketch",
    "__version__",
    "aggregate",
    "box_overlap",
    "box_overlap_counts",
    "box_overlap_slices",
    "bucket_counts",
    "choices",
    "devices",
    "distances",
    "edit_distances",
    "from_arrow",
    "gemm",
    "gpus",
    "matmul",
    "nearest",
    "read_fasta",
    "round_timestamps",
    "slide_distances",
    "slide_nearest",
    "slide_paired",
    "summarize",
]

METHODS: list[tuple[str, str]]
__version__: str

@final
class Device:
    def __new__(cls, name: str = "auto") -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Literal["cpu", "cuda", "simulator"]: ...
    @property
    def info(self) -> str: ...
    @property
    def total_memory(self) -> int | None: ...
    @property
    def free_memory(self) -> int | None: ...
    @property
    def compute_capability(self) -> tuple[int, int] | None: ...
    @property
    def memory_limit(self) -> int | None: ...
    @property
    def memory_used(self) -> int | None: ...
    def with_memory_limit(self, bytes: int) -> Device: ...
    def upload(self, array: ArrayLike, *, stream: _Stream | None = None) -> DeviceArray: ...
    def synchronize(self) -> None: ...
    def __copy__(self) -> Device: ...
    def __deepcopy__(self, _memo: object) -> Device: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

_Stream = int | Any

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> Device: ...
    def numpy(self) -> NDArray[Any]: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: _Stream | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...

_Devices = Device | str | Iterable[Device | str]
_Text = str | bytes | bytearray | memoryview
_Sequence = _Text | NDArray[np.uint8]

def devices() -> list[Device]: ...
def gpus() -> list[Device]: ...

@final
class Alphabet:
    def __new__(cls, letters: _Text) -> Self: ...
    @staticmethod
    def dna() -> Alphabet: ...
    @staticmethod
    def protein() -> Alphabet: ...
    @property
    def size(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def encode(self, text: _Text, *, unknown: str = "error") -> NDArray[np.uint8]: ...

@final
class Sequences:
    def __new__(
        cls,
        sequences: Sequences | Iterable[_Sequence] | None = None,
        *,
        alphabet: str | Alphabet | None = None,
        unknown: str = "error",
    ) -> Self: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint8]: ...
    @property
    def lengths(self) -> NDArray[np.int64]: ...

@final
class SketchSession:
    def push(self, letters: _Sequence) -> None: ...
    def end_sequence(self) -> None: ...
    def take_finished(self) -> NDArray[Any]: ...
    def finish(self) -> NDArray[Any]: ...

@final
class SketchStream:
    def __iter__(self) -> Self: ...
    def __next__(self) -> NDArray[Any]: ...

class ShortSequenceWarning(UserWarning): ...

class TensorSketch:
    def __new__(
        cls,
        dim: int,
        tuple: int,
        seed: int = 0,
        *,
        alphabet: Literal["dna", "protein"] | Alphabet = "dna",
        unknown: Literal["error", "skip"] = "error",
        normalize: bool = False,
        dtype: DTypeLike | None = None,
        form: Literal["auto", "fourier", "direct"] = "auto",
        tables: builtins.tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self: ...
    @property
    def dim(self) -> int: ...
    @property
    def tuple(self) -> int: ...
    @property
    def hashes(self) -> NDArray[np.int64]: ...
    @property
    def signs(self) -> NDArray[np.int64]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def alphabet(self) -> Alphabet: ...
    @property
    def unknown(self) -> str: ...
    @property
    def normalize(self) -> bool: ...
    @property
    def form(self) -> str: ...
    def __getnewargs_ex__(self) -> builtins.tuple[builtins.tuple[int, int], dict[str, Any]]: ...
    def sketch(
        self, sequences: Sequences | Iterable[_Sequence], *, out: NDArray[Any] | None = None, device: _Devices | None = None
    ) -> NDArray[Any]: ...
    def sketch_rows(
        self, sequences: Sequences | Iterable[_Sequence], *, out: NDArray[Any] | None = None, device: _Devices | None = None
    ) -> NDArray[Any]: ...
    def windows(
        self,
        sequence: _Sequence,
        width: int,
        stride: int = 1,
        *,
        out: NDArray[Any] | None = None,
        device: _Devices | None = None,
    ) -> NDArray[Any]: ...
    def session(self, *, device: Device | str | None = None) -> SketchSession: ...
    def stream(self, sequences: Iterable[_Sequence], *, device: Device | str | None = None) -> SketchStream: ...

@final
class BoxSlices:
    def __iter__(self) -> Self: ...
    def __next__(self) -> tuple[int, int, tuple[NDArray[np.int64], NDArray[np.int32], tuple[int, int]]]: ...

@final
class Summaries:
    def __len__(self) -> int: ...
    def resample(self, every: Span) -> Summaries: ...
    def agg(self, methods: str | Sequence[str] = "mean", *, ddof: int = 1) -> Buckets: ...

def matmul(
    a: Any,
    b: Any,
    *,
    precision: str,
    dtype: DTypeLike | None,
    out: Any,
    device: _Devices | None,
    stream: _Stream | None,
) -> Any: ...
def distances(
    a: Any, b: Any, *, metric: str, out: Any, device: _Devices | None, stream: _Stream | None
) -> Any: ...
def nearest(
    queries: Any, database: Any, k: int, *, metric: str, device: _Devices | None, stream: _Stream | None
) -> tuple[Any, Any]: ...
def edit_distances(
    a: Sequences | Iterable[_Sequence],
    b: Sequences | Iterable[_Sequence],
    *,
    limit: int | None,
    device: _Devices | None,
) -> NDArray[np.int64]: ...
def box_overlap(
    set1: Any, set2: Any, *, algorithm: str, device: _Devices | None, stream: _Stream | None
) -> tuple[Any, Any, tuple[int, int]]: ...
def read_fasta(source: bytes | str, *, alphabet: str | Alphabet, unknown: str) -> tuple[list[str], Sequences]: ...
def from_arrow(column: object) -> tuple[NDArray[Any], list[bool] | None] | None: ...
def aggregate(
    timestamps: Any,
    values: Any,
    every: Span,
    methods: str | Sequence[str],
    *,
    series: Any,
    offsets: Any,
    origin: Point,
    fill: Any,
    nan: str,
    ddof: int,
    singletons: str,
    duplicates: str,
    sort: bool,
    device: _Devices | None,
    stream: _Stream | None,
) -> Any: ...
def round_timestamps(
    timestamps: Any, every: Span, *, origin: Point, out: Any, device: _Devices | None, stream: _Stream | None
) -> Any: ...
def gemm(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None,
    *,
    alpha: float,
    beta: float,
    trans_a: bool,
    trans_b: bool,
    overwrite_c: bool,
    precision: str,
    device: _Devices | None,
) -> NDArray[Any]: ...
def slide_distances(
    a: Any, b: Any, *, metric: str, out: NDArray[np.float64] | None, device: _Devices | None
) -> NDArray[np.float64]: ...
def slide_paired(
    a: Any, b: Any, *, metric: str, out: NDArray[np.float64] | None, device: _Devices | None
) -> NDArray[np.float64]: ...
def slide_nearest(
    queries: Any, database: Any, k: int, *, metric: str, device: _Devices | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def box_overlap_counts(
    set1: ArrayLike, set2: ArrayLike | None, *, algorithm: str, device: _Devices | None
) -> NDArray[np.int32]: ...
def box_overlap_slices(
    set1: ArrayLike, set2: ArrayLike | None, max_pairs: int, *, algorithm: str, device: _Devices | None
) -> BoxSlices: ...
def bucket_counts(
    timestamps: Any, every: Span, *, origin: Point, device: _Devices | None
) -> tuple[NDArray[Any], NDArray[np.int64]]: ...
def choices() -> list[tuple[str, list[str]]]: ...
def summarize(
    timestamps: Any,
    values: Any,
    every: Span,
    *,
    series: Any,
    offsets: Any,
    origin: Point,
    nan: str,
    duplicates: str,
    sort: bool,
    device: _Devices | None,
) -> Summaries: ...
