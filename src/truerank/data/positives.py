"""Which interactions are positives: what a rating says about them.

A weight above 0 is a positive unless a threshold is named. 0 and below are not: -1 is a dislike,
0 hours is a game never played, 0 of 0 and 1 is an impression without a click, and a 0 in a sparse
matrix is not an entry. Where 0 does mean something (the implicit half of Book-Crossing, the
lowest of ratings from 0 to 10), ``min_rating=0`` counts it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from truerank.arrays import Float32, Mask
from truerank.data.input_columns import checked_weights
from truerank.errors import DataWarning, InvalidArgumentError, InvalidDataError, option

if TYPE_CHECKING:
    import pyarrow as pa

    from truerank.data.interactions import Interactions

Data = TypeVar("Data", bound="Interactions")


def only_positives(
    data: Data, min_rating: float | None, *, users: bool = True, items: bool = True
) -> Data:
    """The interactions that count, and how many do not, as if the others had never been read.

    Args:
        data: One weight per pair: what repeated pairs mean is settled.
        min_rating: Least weight that counts; None is anything above 0, and warns where that
            leaves something out.
        users: Whether users without any positive leave the vocabulary.
        items: Whether items do.
    """
    from truerank.data.filters import compact

    if data.weights is None:
        if min_rating is not None:
            raise InvalidArgumentError(
                "min_rating", min_rating, "left out where there are no ratings",
                "name their column with weight=",
            )  # fmt: skip
        return data
    if min_rating is not None and np.isnan(min_rating):
        raise InvalidArgumentError("min_rating", min_rating, "a number")
    keep = _positive(data.weights, min_rating)
    if keep.all():
        return data
    kept = replace(data.select(keep), n_dropped=len(keep) - int(np.count_nonzero(keep)))
    return compact(kept, users=users, items=items)


def positive_rows(
    table: pa.Table, rating: str | None, min_rating: float | None
) -> tuple[pa.Table, int]:
    """The rows of a table that are positives by a column of ratings, and how many are not."""
    if rating is None:
        return table, 0
    values = checked_weights(table.column(rating).to_numpy(), len(table))
    keep = _positive(values, min_rating)
    return table.filter(keep), len(keep) - int(np.count_nonzero(keep))


def _positive(ratings: Float32, min_rating: float | None) -> Mask:
    keep: Mask = ratings > 0 if min_rating is None else ratings >= min_rating
    if keep.all():
        return keep
    low, high = float(ratings.min()), float(ratings.max())
    if not keep.any():
        least = "above 0" if min_rating is None else f"at least {min_rating:g}"
        raise InvalidDataError(
            f"no rating is {least}, they run from {low:g} to {high:g}, so there are no positives; "
            "say what counts as one with " + option("min_rating")
        )
    if min_rating is None:
        warnings.warn(
            f"{np.count_nonzero(~keep):,} of {len(keep):,} interactions have a rating of 0 or less "
            f"(the lowest is {low:g}) and do not count as positives; draw the line elsewhere with "
            + option("min_rating"),
            DataWarning,
            stacklevel=5,
        )
    return keep
