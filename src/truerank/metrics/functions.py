r"""Metrics as functions of ranks: one value per row, never a mean.

A row is one held-out item: :math:`R` is its 1-based rank among :math:`N` candidates, itself
included. Ranks may be any real numbers from 1 on, because estimators ask for values between
whole ranks. A cutoff larger than the longest possible rank is harmless here (recall is then 1
everywhere); :class:`truerank.metrics.Metric`, who knows :math:`N`, refuses it.

What becomes of several held-out items of one user is in :mod:`truerank.metrics.definitions`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.checks import whole_number
from truerank.errors import InvalidArgumentError, InvalidDataError

PerRow = NDArray[np.float64]


def recall(ranks: ArrayLike, k: int) -> PerRow:
    r"""Recall@K with one held-out item, which is also its hit rate.

    .. math::  \mathrm{Recall}_K(R) = \mathbb 1[R \le K]

    >>> recall([1, 10, 11], k=10).tolist()
    [1.0, 1.0, 0.0]
    """
    return (checked_ranks(ranks) <= checked_cutoff(k)).astype(np.float64)


def precision(ranks: ArrayLike, k: int) -> PerRow:
    r"""Precision@K with one held-out item.

    .. math::  \mathrm{Precision}_K(R) = \mathbb 1[R \le K] / K

    >>> precision([1, 10, 11], k=10).tolist()
    [0.1, 0.1, 0.0]
    """
    return recall(ranks, k) / k


def ndcg(ranks: ArrayLike, k: int) -> PerRow:
    r"""nDCG@K with one held-out item.

    .. math::  \mathrm{nDCG}_K(R) = \frac{\mathbb 1[R \le K]}{\log_2(1 + R)}

    The ideal DCG is 1 (the single relevant item in first place), so no normaliser appears.
    See [jarvelin2002]_.

    >>> ndcg([1, 3, 11], k=10).tolist()
    [1.0, 0.5, 0.0]
    """
    R = checked_ranks(ranks)
    return np.where(checked_cutoff(k) >= R, 1.0 / np.log2(1.0 + R), 0.0)


def ap(ranks: ArrayLike, k: int | None = None) -> PerRow:
    r"""Average precision, AP@K, with one held-out item.

    .. math::  \mathrm{AP}_K(R) = \mathbb 1[R \le K] / R

    One precision, that at the item's own rank, is averaged. Without ``k`` the whole list counts.

    >>> ap([1, 4, 11], k=10).tolist()
    [1.0, 0.25, 0.0]
    """
    R = checked_ranks(ranks)
    return np.where(_inside(R, k), 1.0 / R, 0.0)


def mrr(ranks: ArrayLike, k: int | None = None) -> PerRow:
    r"""Reciprocal rank with one held-out item: then it equals :func:`ap`.

    .. math::  \mathrm{RR}_K(R) = \mathbb 1[R \le K] / R

    Without ``k`` the whole list counts. The M of its name is the mean, which is not taken here.

    >>> mrr([1, 4, 11]).round(3).tolist()
    [1.0, 0.25, 0.091]
    """
    return ap(ranks, k)


def auc(ranks: ArrayLike, n_items: ArrayLike) -> PerRow:
    r"""The part of the other candidates that the held-out item stands above.

    .. math::  \mathrm{AUC}(R) = \frac{N - R}{N - 1}

    Args:
        ranks: 1-based ranks.
        n_items: Candidates :math:`N \ge 2`, the held-out item included; one number or one a row.

    >>> auc([1, 6, 11], n_items=11).tolist()
    [1.0, 0.5, 0.0]
    """
    R = checked_ranks(ranks)
    N = checked_sizes(n_items, R)
    if np.any(N < 2):
        raise InvalidDataError(
            "auc needs at least 2 candidates, got a row with n_items = 1: there is nothing to "
            "stand above; drop these rows"
        )
    return np.asarray((N - R) / (N - 1.0), dtype=np.float64)


def checked_ranks(ranks: ArrayLike) -> PerRow:
    """Ranks as floats, all of them at least 1."""
    R = np.asarray(ranks, dtype=np.float64)
    bad = ~(R >= 1.0)  # this way round, NaN is bad
    if bad.any():
        raise InvalidDataError(
            f"ranks must be at least 1, got {R.flat[np.argmax(bad)]:.15g} in row "
            f"{int(np.argmax(bad))} ({int(bad.sum()):,} such rows); the best rank is 1, not 0"
        )
    return R


def checked_sizes(n_items: ArrayLike, ranks: PerRow) -> PerRow:
    """Numbers of candidates as floats, one per rank and none below it."""
    given = np.asarray(n_items, dtype=np.float64)
    if given.ndim and given.shape != ranks.shape:
        raise InvalidArgumentError(
            "n_items", f"shape {given.shape}", f"one number, or of shape {ranks.shape} like ranks"
        )
    N = np.broadcast_to(given, ranks.shape)
    bad = ~(ranks <= N)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidDataError(
            f"a rank cannot exceed its number of candidates, got rank {ranks.flat[row]:.15g} with "
            f"n_items = {N.flat[row]:.15g} in row {row} ({int(bad.sum()):,} such rows)"
        )
    return N


def checked_cutoff(k: int) -> int:
    """A cutoff as a whole number, at least 1."""
    return whole_number("k", k)


def _inside(ranks: PerRow, k: int | None) -> NDArray[np.bool_]:
    return np.asarray(ranks <= (np.inf if k is None else checked_cutoff(k)), dtype=np.bool_)
