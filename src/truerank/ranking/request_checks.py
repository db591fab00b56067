"""What can be wrong with a request to rank, each in one sentence, before anything is scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Int
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking.backends.base import Backend
from truerank.ranking.designs import Adaptive, Design, FixedNegatives, Sampled, Screened
from truerank.ranking.rows import TargetRows
from truerank.split import Split


def as_indices(name: str, values: ArrayLike) -> Int:
    """Whole numbers as int64."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidArgumentError(
            name, f"shape {array.shape} of {array.dtype}", "a one-dimensional array of indices"
        )
    if array.size and int(array.max()) >= 2**63:
        raise InvalidArgumentError(
            name, int(array.max()), "indices from 0", "indices, not external ids, are wanted here"
        )
    return array.astype(np.int64)


def check_design(design: object) -> None:
    """One of the designs."""
    if not isinstance(design, Design):
        raise InvalidArgumentError(
            "design", design,
            "Full(), Sampled(n), Adaptive(...), Screened(...), FixedNegatives(...) or Users(m)",
        )  # fmt: skip


def check_shared(design: object, ties: str) -> None:
    """Half a tie is no place in an order, and who is screened out is told by places."""
    certified = isinstance(design, Screened) and design.certified is not None
    if certified and ties == "half":
        raise InvalidArgumentError(
            "ties", ties, "one of optimistic, pessimistic, random where a screen is certified",
            "random is the default; by half, a target's place in a sample is no part of its rank",
        )  # fmt: skip


def check_pairs(
    users: Int,
    items: Int,
    backend: Backend,
    exclude: Interactions | None,
    user_ids: NDArray[Any] | None,
    item_ids: NDArray[Any] | None,
) -> None:
    """Indices within everything that they index: compiled code looks nothing up twice."""
    if len(users) != len(items):
        raise InvalidArgumentError(
            "items", f"{len(items)} items", f"as many as users: {len(users)}"
        )
    if len(users) == 0:
        raise InvalidDataError("there is nothing to rank: no (user, item) pairs were held out")
    n_items = backend.n_items
    if exclude is not None and exclude.n_items != n_items:
        raise InvalidArgumentError(
            "exclude", f"{exclude.n_items:,} items", f"over the scorer's {n_items:,} items"
        )
    if item_ids is not None and len(item_ids) != n_items:
        raise InvalidArgumentError(
            "item_ids", f"{len(item_ids):,} ids", f"of the scorer's {n_items:,} items"
        )
    sizes = (
        backend.n_users,
        None if exclude is None else exclude.n_users,
        None if user_ids is None else len(user_ids),
    )
    n_users = min((size for size in sizes if size is not None), default=None)
    for name, index, size in (("users", users, n_users), ("items", items, n_items)):
        least, most = int(index.min()), int(index.max())
        if least < 0 or (size is not None and most >= size):
            raise InvalidArgumentError(
                name, least if least < 0 else most,
                "indices from 0" + ("" if size is None else f" to {size - 1:,}"),
                "indices, not external ids, are wanted here",
            )  # fmt: skip


def check_fixed_negatives(design: FixedNegatives, n_rows: int, n_items: int) -> None:
    """One list of known items per pair."""
    if len(design.indptr) - 1 != n_rows:
        raise InvalidArgumentError(
            "negatives", f"{len(design.indptr) - 1} rows", f"{n_rows} rows, one per pair"
        )
    if design.items.max() >= n_items:
        raise InvalidArgumentError(
            "negatives", int(design.items.max()), f"item indices below {n_items:,}"
        )


def check_sizes(design: object, rows: TargetRows, names: NDArray[Any] | None) -> None:
    """A first sample that was asked for must fit the candidates of every user.

    A default adapts to those who have fewer (:meth:`Sampled.first_size`), but repeated draws
    never give an exact rank, so with replacement there must be candidates left to draw.
    """
    if not isinstance(design, Sampled | Adaptive) or getattr(design, "shared", None):
        return
    name, n = ("n", design.n) if isinstance(design, Sampled) else ("n0", design.n0)
    need = (n or (2 if design.replacement else 1)) + int(design.replacement)
    if (rows.n_candidates >= need).all():
        return
    row = int(np.argmin(rows.n_candidates))
    user = rows.users[row] if names is None else names[rows.users[row]]
    there = f"{int(rows.n_candidates[row]):,}, the candidates of user {user}"
    if n is None:
        raise InvalidArgumentError(
            "replacement", True, f"False where a user has fewer than {need} candidates",
            f"there are only {there}",
        )  # fmt: skip
    raise InvalidArgumentError(
        name, n, f"{'less than' if design.replacement else 'at most'} {there}",
        f"take a smaller sample, or rank in full, or leave {name} out: it then adapts to each user",
    )  # fmt: skip


def name_of(scorer: object) -> str:
    """What to call a scorer: its ``name`` if it has one, else its class."""
    name = getattr(scorer, "name", None)
    return name if isinstance(name, str) else type(scorer).__name__


def fitted_on(model: object) -> str | None:
    """Fingerprint of the data that a model says it was fitted on; None if it does not say.

    A fitted model says so by ``trained_on``, one made by ``fold_in`` by ``folded_from``.
    """
    known = getattr(model, "trained_on", None) or getattr(model, "folded_from", None)
    data = getattr(known, "data", None)
    return data if isinstance(data, str) else None


def fits_split(model: object, split: Split) -> bool:
    """Whether a model was fitted on the training part of this very split, as far as it says."""
    return fitted_on(model) in (None, split.train.fingerprint())


def check_training(model: object, split: Split) -> None:
    """A model fitted on anything else may have seen what is held out here."""
    if not fits_split(model, split):
        raise InvalidDataError(
            f"this {name_of(model)} was fitted on other data than the training part of this "
            "split, so it may have seen the held-out items; fit it with model.fit(split.train), or "
            "say trained_elsewhere=True if it is meant to know other data"
        )
