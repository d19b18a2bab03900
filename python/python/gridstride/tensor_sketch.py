"""Tensor sketches: short vectors whose distances estimate the similarity of sequences, without aligning them.

The sketch is that of A. Joudaki, G. Rätsch and A. Kahles, 'Fast Alignment-Free Similarity Estimation by Tensor
Sketching' (doi 10.1101/2020.11.13.381814): a sum over all subsequences of t letters, each of which adds ±1 at one of D
places.
"""

from ._core import SketchSession, SketchStream, TensorSketch

__all__ = ["SketchSession", "SketchStream", "TensorSketch"]
