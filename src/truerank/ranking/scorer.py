"""What ranking needs of a model: the Scorer protocol, and one line to make one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Indices, Scores
from truerank.checks import check_counts
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.numerics.dot_products import DotProducts


@runtime_checkable
class Scorer(Protocol):
    """Anything that scores items for users; larger is better.

    Two optional pairs of attributes open the fast paths. A scorer that has one of them
    promises that its scores are exactly

    * ``user_factors`` (n_users, d) and ``item_factors`` (n_items, d): their dot products;
    * ``history`` (users x items, scipy sparse) and ``item_item`` (items x items, dense or
      scipy sparse): ``history @ item_item``.

    The promise is checked on a few pairs before ranking.
    """

    @property
    def n_items(self) -> int:
        """How many items there are; items are ``0..n_items-1``."""

    def score_all(self, users: Indices) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """Scores of given items: ``items`` and the result are ``(len(users), n)``."""


def checked_scores(scores: Any, shape: tuple[int, ...], method: str) -> NDArray[Any]:
    """What a scorer returned, if it is real numbers in the shape that was asked for."""
    try:
        values = np.asarray(scores)
    except (TypeError, ValueError, RuntimeError) as error:  # nested lists; tensors that cannot
        raise InvalidDataError(
            f"{method} of the scorer returned a {type(scores).__name__} that is not an array "
            f"({error}); it must be an array of shape {shape}"
        ) from None
    if values.shape != shape:
        raise InvalidDataError(
            f"{method} of the scorer returned an array of shape {values.shape} for "
            f"{shape[0]} users; it must be {shape}"
        )
    check_real(values, f"{method} of the scorer returned", "scores")
    return values


def check_real(values: NDArray[Any], returned: str, what: str) -> None:
    """Refuse complex numbers, of which none is larger, and text and objects, which are none.

    Args:
        values: Scores, or what they are computed of.
        returned: The beginning of the sentence, up to the verb.
        what: What the values are.
    """
    if values.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"{returned} values of type {values.dtype}; {what} must be real numbers"
        )


@dataclass(frozen=True, slots=True)
class FunctionScorer:
    """A Scorer from a plain function.

    >>> popularity = np.array([3.0, 1.0, 2.0])
    >>> scorer = FunctionScorer(lambda users: np.tile(popularity, (len(users), 1)), n_items=3)
    >>> scorer.score_pairs(np.array([7]), np.array([[2, 0]]))
    array([[2., 3.]])

    Attributes:
        all_items: ``users -> (len(users), n_items)``; may be None if ``pairs`` is given.
        n_items: How many items there are.
        pairs: ``(users, items) -> scores like items``; may be None if ``all_items`` is given.
    """

    all_items: Callable[[Indices], Scores] | None = None
    n_items: int = 0
    pairs: Callable[[Indices, Indices], Scores] | None = None

    def __post_init__(self) -> None:
        if self.all_items is None and self.pairs is None:
            raise InvalidArgumentError("all_items", None, "a function, or pairs must be one")
        for name in ("all_items", "pairs"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise InvalidArgumentError(name, type(given).__name__, "a function")
        check_counts(n_items=self.n_items)

    def score_all(self, users: Indices) -> Scores:
        """From ``all_items``, or from ``pairs`` over every item."""
        if self.all_items is not None:
            return self.all_items(users)
        everything = np.broadcast_to(np.arange(self.n_items), (len(users), self.n_items))
        return self.pairs(users, everything)  # type: ignore[misc]  # one of the two is given

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """From ``pairs``, or picked out of ``all_items``."""
        if self.pairs is not None:
            return self.pairs(users, items)
        # Checked before anything is picked: a row too few or a column too many would not show.
        scores = checked_scores(self.score_all(users), (len(users), self.n_items), "score_all")
        return np.take_along_axis(scores, items, axis=1)


@dataclass(frozen=True, slots=True)
class FactorScorer(DotProducts):
    """A Scorer from two factor matrices: the score is the dot product of two rows.

    Attributes:
        user_factors: Users x dimensions.
        item_factors: Items x dimensions.
        name: What to call the model in tables.
    """

    user_factors: NDArray[Any]
    item_factors: NDArray[Any]
    name: str = field(default="FactorScorer", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        for name in ("user_factors", "item_factors"):
            factors = np.asarray(getattr(self, name))
            check_real(factors, f"{name} has", "factors")
            object.__setattr__(self, name, factors)
        if self.user_factors.ndim != 2 or self.item_factors.ndim != 2:
            raise InvalidArgumentError("factors", "other shapes", "two matrices")
        if self.user_factors.shape[1] != self.item_factors.shape[1]:
            raise InvalidArgumentError(
                "item_factors", f"{self.item_factors.shape[1]} columns",
                f"as wide as user_factors ({self.user_factors.shape[1]})",
            )  # fmt: skip
