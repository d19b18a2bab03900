"""The articles' tasks as a user of PyTorch writes them, from arrays on the host to arrays on the host.

There is none for tensor sketches, whose letters depend on each other.
"""

from __future__ import annotations

import numpy as np
import torch
from measure import MissingPeer
from numpy.typing import NDArray

# Boxes of the first set that are tested at a time, of which PyTorch holds a table with those of the second set.
SLICE = 4000


class Programs:
    """The programs on a device of PyTorch."""

    def __init__(self, device: str) -> None:
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise MissingPeer("PyTorch finds no GPU")
        self.device = device
        torch.backends.cuda.matmul.allow_tf32 = False

    def upload(self, array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def download(self, tensor: torch.Tensor) -> NDArray[np.generic]:
        return tensor.cpu().numpy()

    def synchronize(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()

    def product(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """A product of tensors."""
        return a @ b

    def distances(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Distances of all rows of two tensors, by differences, as gridstride's."""
        return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")

    def box_overlap(self, set1: NDArray[np.float32], set2: NDArray[np.float32]) -> NDArray[np.int64]:
        """All pairs, P×2, by broadcasting, as the article has it."""
        own, other = self.upload(set1), self.upload(set2)
        pairs = []
        for start in range(0, len(own), SLICE):
            boxes = own[start : start + SLICE, None]
            overlap = ((boxes[..., :3] <= other[None, :, 3:]) & (boxes[..., 3:] >= other[None, :, :3])).all(dim=2)
            found = overlap.nonzero()
            found[:, 0] += start
            pairs.append(found)
        return self.download(torch.cat(pairs))

    def matmul(self, a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.generic]:
        return self.download(self.upload(a) @ self.upload(b))

    # The same for a thin matrix.
    thin_matmul = matmul

    def bucket_means(self, timestamps: NDArray[np.int64], values: NDArray[np.float64], every: int) -> NDArray[np.float64]:
        keys = torch.div(self.upload(timestamps), every, rounding_mode="floor")
        counts = torch.unique_consecutive(keys, return_counts=True)[1]
        return self.download(torch.segment_reduce(self.upload(values), "mean", lengths=counts))
