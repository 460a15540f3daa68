"""What a byte of a load costs by the size of its file, where files differ in little else. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from inrush.model.blocks import FloatArray
from inrush.model.decomposition import Units
from inrush.model.fits import fit_sum


@dataclass(frozen=True)
class SizeCost:
    """Seconds for a byte where files differ in size alone, and little: a cost of the byte, and one that grows with its
    file. What a file costs whatever its size is not seen of sizes that are nearly the same."""

    byte_s: float
    file_byte_s: float

    def at(self, file_bytes: ArrayLike) -> FloatArray:
        return np.asarray(self.byte_s + self.file_byte_s * np.asarray(file_bytes, np.float64))

    def files_per_s(self, file_bytes: ArrayLike) -> FloatArray:
        return np.asarray(1 / (self.at(file_bytes) * np.asarray(file_bytes, np.float64)))


def fit_size_cost(of: Units) -> SizeCost:
    """By the seconds of a byte, each unit alike."""
    y = of.seconds / of.bytes
    found = fit_sum(np.stack([np.ones_like(y), of.file_bytes], axis=1), y, weights=y**2)
    return SizeCost(float(found[0]), float(found[1]))
