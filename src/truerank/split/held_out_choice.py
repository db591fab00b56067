"""Which of a user's interactions are held out: the latest, or a seeded random choice."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from truerank.arrays import Int, Mask
from truerank.checks import check_one_of
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError, Message
from truerank.rng import Stream, addresses

By = Literal["random", "latest"]


def chosen(
    data: Interactions,
    n_held: Int,
    *,
    by: By,
    seed: int,
    purpose: Stream = Stream.SPLIT,
) -> Mask:
    """True for the ``n_held[u]`` interactions of each user that are held out.

    ``"random"``: every subset of that size is equally likely. Each interaction has a word
    addressed by (seed, purpose, user, item) and the largest words are held out, so the row order
    of the input cannot matter. ``"latest"``: the latest times; equal times are ordered by the
    same words. Work grows as the sort of all interactions; there is no loop over users.
    """
    check_one_of("by", by, get_args(By))
    users = data.users
    words = addresses(seed, purpose, users, data.indices)
    if by == "latest":
        order = np.lexsort((words, timestamps(data, "by='latest'"), users))
    else:
        order = np.lexsort((words, users))
    # Users are sorted already, so position p of the order belongs to the user of row p.
    left_after = data.indptr[1:][users] - np.arange(len(data)) - 1
    held = np.zeros(len(data), dtype=np.bool_)
    held[order] = left_after < n_held[users]
    return held


def share(counts: Int, fraction: float) -> Int:
    r"""How many of each count a fraction is: :math:`\min(\lfloor f n + 1/2 \rfloor, n - 1)`.

    Halves round up, and one always stays behind.

    >>> share(np.array([0, 1, 2, 3, 5, 10]), 0.2).tolist()
    [0, 0, 0, 1, 1, 2]
    """
    # The small addition keeps 0.35 * 10 and its like on the side decimal arithmetic puts them.
    rounded = np.floor(fraction * counts + 0.5 + 1e-9).astype(np.int64)
    return np.asarray(np.maximum(np.minimum(rounded, counts - 1), 0), dtype=np.int64)


def checked_fraction(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InvalidArgumentError(name, value, "a number between 0 and 1, both excluded")
    if not 0.0 < value < 1.0:
        hint = f"for {value:g} percent write {value / 100:g}" if 1 < value < 100 else ""
        raise InvalidArgumentError(name, value, "between 0 and 1, both excluded", hint)
    return float(value)


def timestamps(data: Interactions, purpose: str) -> Int:
    """The timestamps, or a sentence that says what needed them."""
    if data.timestamps is None:
        raise InvalidDataError(
            f"{purpose} needs timestamps and these interactions have none; "
            + Message("pass timestamp= when making them", "name their column with --time-column")
            + ", or choose at random"
        )
    return data.timestamps
