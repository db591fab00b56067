"""The notation ``"ndcg@10"``, and what a metric can do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.checks import nearest
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics.definitions import ALIASES, DEFINITIONS
from truerank.metrics.functions import PerRow, checked_cutoff, checked_ranks, checked_sizes
from truerank.metrics.per_user import PerUser, grouped

RankFunction = Callable[[NDArray[np.float64]], ArrayLike]
"""Any function of an array of ranks that gives one value per rank."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its canonical name, with its cutoff; make one with :func:`parse`.

    Attributes:
        name: A key of :data:`truerank.metrics.definitions.DEFINITIONS`, or any name for a
            function of one's own.
        k: The cutoff K, or None where there is none.
        function: One's own function of ranks. Several held-out items of a user are averaged.
    """

    name: str
    k: int | None = None
    function: RankFunction | None = None

    def __post_init__(self) -> None:
        if self.function is not None:
            return
        if self.name not in DEFINITIONS:
            raise InvalidArgumentError("name", self.name, _one_of(), _nearest(self.name.lower()))
        cutoff = DEFINITIONS[self.name].cutoff
        if self.k is not None:
            checked_cutoff(self.k)
        if self.k is None and cutoff == "required":
            raise InvalidArgumentError(
                "metric", self.name, "written with a cutoff", f"for instance {self.name}@10"
            )
        if self.k is not None and cutoff == "none":
            raise InvalidArgumentError(
                "metric", str(self), "written without a cutoff", f"say {self.name}"
            )

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def linear(self) -> bool:
        """Whether a user's value is the sum of ``row_weight * row_values`` over their rows."""
        return self.function is not None or DEFINITIONS[self.name].weight is not None

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest value it can have; infinite for a function of one's own.

        >>> parse("ndcg@10").limits, as_metric(np.log).limits
        ((0.0, 1.0), (-inf, inf))
        """
        if self.function is not None:
            return -math.inf, math.inf
        return DEFINITIONS[self.name].limits

    @property
    def needs_n_items(self) -> bool:
        """Whether its value depends on the number of candidates, and not on the rank alone.

        >>> parse("auc").needs_n_items, parse("ndcg@10").needs_n_items
        (True, False)
        """
        return self.function is None and DEFINITIONS[self.name].needs_n_items

    def row_values(self, rank: ArrayLike, n_items: ArrayLike | None = None) -> PerRow:
        """F(R) of each row: the metric of a user who has this one held-out item.

        Args:
            rank: 1-based ranks, of any shape.
            n_items: Candidates, one number or one a row; see :attr:`needs_n_items`. Where it is
                given, a cutoff larger than it and a rank larger than it are refused.

        >>> parse("ndcg@10").row_values([1, 3, 11]).tolist()
        [1.0, 0.5, 0.0]
        """
        R = checked_ranks(rank)
        N = None if n_items is None else checked_sizes(n_items, R)
        self._check_cutoff(N)
        if self.function is not None:
            return _checked_output(self.function(R), R, self.name)
        value = DEFINITIONS[self.name].value
        if not self.needs_n_items:
            return value(R, self.k)
        if N is None:
            raise InvalidArgumentError(
                "n_items", None, f"given: {self} counts the items below as well"
            )
        return value(R, N)

    def row_weight(self, n_targets: ArrayLike) -> NDArray[np.float64]:
        """The w of each row, by the number of held-out items of the row's user.

        For a metric that is not linear it is 1 where every user has one held-out item, and
        refused otherwise: no weights can give its value.

        >>> parse("recall@10").row_weight([1, 4, 20]).tolist()
        [1.0, 0.25, 0.05]
        >>> parse("recall-capped@10").row_weight([1, 4, 20]).tolist()
        [1.0, 0.25, 0.1]
        """
        m = np.asarray(n_targets)
        if m.dtype.kind not in "iu" or np.any(m < 1):
            got = m.dtype if m.dtype.kind not in "iu" else int(m.min())
            raise InvalidArgumentError(
                "n_targets", got, "whole numbers, at least 1: users without any have no row"
            )
        m = m.astype(np.int64)
        if self.function is not None:
            return np.asarray(1.0 / m, dtype=np.float64)
        weight = DEFINITIONS[self.name].weight
        if weight is not None:
            return weight(m, 0 if self.k is None else self.k)
        if np.any(m > 1):
            raise InvalidArgumentError(
                "metric",
                str(self),
                "a weighted sum over held-out items where users have several of them",
                "use recall@K or ndcg@K, or per_user on exact ranks",
            )
        return np.ones(m.shape)

    def per_user(
        self, user: ArrayLike, rank: ArrayLike, n_items: ArrayLike | None = None
    ) -> tuple[NDArray[Any], PerUser]:
        """The value of each user, from the ranks of all of the user's held-out items.

        Valid for exact joint ranks: every held-out item of a user ranked in the same list. Ranks
        that a user's items share are those of no list; a value that they would carry beyond the
        metric's limits is cut there. Work grows as a sort of the rows.

        Args:
            user: User of each row, in any order.
            rank: 1-based rank of each row.
            n_items: As in :meth:`row_values`.

        Returns:
            The users, ascending, and one value for each.

        >>> parse("recall@10").per_user([7, 3, 7], [1, 4, 99])
        (array([3, 7]), array([1. , 0.5]))
        """
        rows = grouped(user, rank, n_items)
        self._check_cutoff(rows.n_items)
        joint = None if self.function is not None else DEFINITIONS[self.name].joint
        if joint is not None:
            return rows.users, joint(rows, self.k)
        values = self.row_weight(rows.size) * rows.sums(self.row_values(rows.rank))
        return rows.users, np.clip(values, *self.limits)

    def _check_cutoff(self, n_items: PerRow | None) -> None:
        if self.k is None or n_items is None or n_items.size == 0:
            return
        if self.k > n_items.min():
            raise InvalidArgumentError(
                f"the cutoff of {self}",
                self.k,
                f"at most the number of candidate items, {n_items.min():,.15g}",
                "choose a smaller K",
            )


def parse(text: str) -> Metric:
    """The metric that a text such as ``"ndcg@10"`` names.

    Case, spaces around it and ``_`` for ``-`` do not matter; other people's names are in
    :data:`truerank.metrics.definitions.ALIASES`.

    >>> [str(parse(text)) for text in ("nDCG@10", "HR@5", "MAP@10", "MRR", "recall_capped@20")]
    ['ndcg@10', 'hit@5', 'ap@10', 'mrr', 'recall-capped@20']
    """
    name, at, cutoff = text.strip().partition("@")
    name = name.strip().lower().replace("_", "-").replace(" ", "-")
    name = ALIASES.get(name, name)
    if name not in DEFINITIONS:
        raise InvalidArgumentError("metric", text, _one_of(), _nearest(name))
    if not at:
        return Metric(name)
    cutoff = cutoff.strip()
    if not (cutoff.isascii() and cutoff.isdecimal()) or int(cutoff) < 1:
        raise InvalidArgumentError(
            f"the cutoff of {text!r}", cutoff, "a whole number, at least 1", f"say {name}@10"
        )
    return Metric(name, int(cutoff))


MetricLike = str | Metric | RankFunction
"""What people may write where a metric is wanted."""


def as_metric(metric: MetricLike, *, name: str | None = None) -> Metric:
    """A metric from its notation, from itself, or from any function of ranks.

    Args:
        metric: ``"ndcg@10"``, a :class:`Metric`, or a function that takes an array of ranks and
            gives one value per rank. Several held-out items of a user are then averaged.
        name: What to call a function; its own name where none is given.

    >>> log_rank = as_metric(np.log, name="log-rank")
    >>> str(log_rank), log_rank.row_values([1, 1]).tolist()
    ('log-rank', [0.0, 0.0])
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return parse(metric)
    if callable(metric):
        own = getattr(metric, "__name__", type(metric).__name__)
        return Metric(own if name is None else name, None, metric)
    raise InvalidArgumentError(
        "metric", metric, "a text such as 'ndcg@10', a Metric, or a function of ranks"
    )


def _checked_output(values: ArrayLike, ranks: PerRow, name: str) -> PerRow:
    result = np.asarray(values, dtype=np.float64)
    if result.shape != ranks.shape:
        raise InvalidDataError(
            f"the metric {name} must give one value per rank, got shape {result.shape} for ranks "
            f"of shape {ranks.shape}; it is called with an array, not with one rank"
        )
    if not np.all(np.isfinite(result)):
        rank = ranks.flat[np.argmin(np.isfinite(result))]
        raise InvalidDataError(
            f"the metric {name} must give finite values, it does not for rank {rank:.15g}"
        )
    return result


def _one_of() -> str:
    return "one of " + ", ".join(
        f"{name}@K" if definition.cutoff == "required" else name
        for name, definition in DEFINITIONS.items()
    )


def _nearest(name: str) -> str:
    near = nearest(name, [*DEFINITIONS, *ALIASES])
    if near is None:
        return ""
    found = ALIASES.get(near, near)
    return f"did you mean {found}{'@10' if DEFINITIONS[found].cutoff == 'required' else ''}?"
