"""Fits that cannot run away: non-negative coefficients, relative errors, no starting point. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

FloatArray = NDArray[np.float64]


def fit_sum(columns: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """c >= 0 with columns @ c close to y, errors relative to y.

    columns: shape (n, k); y: shape (n,), positive. A law with a sum as its inverse is fitted with y = 1 / rate.
    """
    y = np.asarray(y, np.float64)
    w = np.ones_like(y) if weights is None else np.sqrt(np.asarray(weights, np.float64))
    scaled = np.asarray(columns, np.float64) * (w / y)[:, None]
    # Columns of one size: x^2 beside 1/x would else lose its digits.
    size = np.sqrt((scaled**2).sum(axis=0))
    size[size == 0] = 1.0
    found, _ = nnls(scaled / size, w)
    return np.asarray(found / size, np.float64)


def log_errors(fitted: ArrayLike, y: ArrayLike) -> FloatArray:
    """ln(y / fitted); inf where nothing is fitted."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(y, np.float64)) - np.log(np.asarray(fitted, np.float64)))


def aicc(squares: float, n: int, parameters: int) -> float:
    """Akaike's criterion, corrected for few points; inf where there are too few.

    squares: sum of squared log errors. The variance counts as a parameter.
    """
    k = parameters + 1
    if n - k - 1 <= 0:
        return float("inf")
    return n * float(np.log(max(squares, 1e-24) / n)) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
