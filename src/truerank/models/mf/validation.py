r"""Who says when to stop: users some of whose training items are held out, and any metric.

*Full*: a held-out item is ranked among all items that the user has not been trained on, ties by
the rule ``half`` (:mod:`truerank.numerics.ties`). *Sampled*: of n of them, drawn once and the same
in every epoch, n' are not the item itself; its rank r among these is then taken for the rank

.. math::  1 + (r - 1) \frac{N - 1}{n'}

among all N candidates (the middle one if n' is 0), which is unbiased for n' > 0. The metric of it
is not, but the epochs of one model are compared on the same draws, and that is all that is asked
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.metrics import Metric
from truerank.models.mf.draws import Ints, Law, Pairs, draw_absent
from truerank.numerics.jit import strict
from truerank.numerics.streams import word
from truerank.numerics.threads import Each
from truerank.numerics.ties import half_above, half_of_ties, ranks_in_rows
from truerank.rng import Stream, addresses

MOST_USERS = 5000
"""Users who judge, at most: more make the check dear and hardly more certain."""

HELD_OUT = 0.2
"""The part of a judge's items that are held out."""

CELLS = 2**21
"""Scores held at once by a thread."""

_JUDGES, _HELD, _AMONG = 1, 2, 3  # purposes within the stream of MF


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """Users, what they are trained on and what they should find.

    Attributes:
        train: All that is trained on.
        users: The judges, ascending.
        held_out: Their held-out items, in the rows of all users.
        metric: What is averaged over them.
        n_sampled: Items that each is ranked among; None for all.
        seed: Of the sampled items.
    """

    train: Pairs
    users: NDArray[np.int64]
    held_out: Pairs
    metric: Metric
    n_sampled: int | None
    seed: int

    @classmethod
    def of(
        cls,
        train: Interactions,
        held_out: Interactions,
        *,
        metric: Metric,
        n_sampled: int | None,
        seed: int,
    ) -> Judges:
        """Every user with something held out who is also trained on.

        Not those who have learned nearly every item: with fewer candidates than the metric's
        cutoff, or none that is not held out, there is nothing to judge.
        """
        able = (held_out.user_counts > 0) & (train.user_counts > 0)
        if not able.any():
            raise InvalidDataError(
                "no user has both training and validation items; give some who have"
            )
        candidates = train.n_items - train.user_counts
        able &= candidates >= np.maximum(metric.k or 1, held_out.user_counts + 1)
        if not able.any():
            raise InvalidDataError(
                f"no user has candidates enough to judge by {metric}: at most "
                f"{candidates[held_out.user_counts > 0].max():,} items are not trained on; choose "
                "a validation_metric with a smaller cutoff"
            )
        users = np.flatnonzero(able)
        return cls(Pairs.of(train), users, Pairs.of(held_out), metric, n_sampled, seed)

    def value(self, users: Float32, items: Float32, each: Each) -> float:  # type: ignore[type-arg]
        """Mean of the metric over the judges, scores being dot products of these factors."""
        counts = np.diff(self.held_out.indptr)[self.users]
        starts = np.concatenate([[0], np.cumsum(counts)])
        ranks = np.empty(starts[-1])
        candidates = len(items) - np.diff(self.train.indptr)[self.users]
        ties = half_of_ties(self.held_out.indptr, self.held_out.items)
        block = max(1, CELLS // (len(items) if self.n_sampled is None else 10**4))

        def rank(first: int) -> None:
            who = self.users[first : first + block]
            out = ranks[starts[first] : starts[min(first + block, len(self.users))]]
            if self.n_sampled is None:
                scores = users[who] @ items.T
                ranks_in_rows(scores, who, self.train.indptr, self.train.items, ties, out)
            else:
                keys = addresses(self.seed, Stream.MF, _AMONG, who)
                _sampled_ranks(
                    users, items, self.train, self.held_out, who, keys, self.n_sampled, out
                )

        each(rank, range(0, len(self.users), block))
        owner, n = np.repeat(self.users, counts), np.repeat(candidates, counts)
        _, values = self.metric.per_user(owner, ranks, n)
        return float(values.mean())


@strict
def _dot(a: Float32, b: Float32) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@strict
def _sampled_ranks(
    users: Float32,
    items: Float32,
    train: Pairs,
    held_out: Pairs,
    who: NDArray[np.int64],
    keys: NDArray[np.uint64],
    n: int,
    out: NDArray[Any],
) -> None:
    at = 0
    uniform = Law(np.empty(0), np.empty(0, np.int32), np.empty(0))
    scores, drawn = np.empty(n), np.empty(n, np.int32)
    for b in range(len(who)):
        vector = users[who[b]]
        for j in range(n):
            drawn[j] = draw_absent(train, uniform, who[b], word(keys[b], j))
            scores[j] = _dot(vector, items[drawn[j]])
        others = train.n_items - (train.indptr[who[b] + 1] - train.indptr[who[b]]) - 1
        for p in range(held_out.indptr[who[b]], held_out.indptr[who[b] + 1]):
            item, ahead, rivals = held_out.items[p], 0.0, 0
            own = _dot(vector, items[item])
            for j in range(n):
                if drawn[j] != item:
                    rivals += 1
                    ahead += half_above(scores[j], own)
            out[at] = 1.0 + others * (ahead / rivals if rivals else 0.5)
            at += 1


def check_validation(train: Interactions, held_out: Interactions) -> None:
    """A validation part that was given is of the same users and items, and not trained on."""
    for side in ("users", "items"):
        mine, theirs = (len(getattr(data, f"{side[:-1]}_ids")) for data in (train, held_out))
        if mine != theirs:
            raise InvalidDataError(
                f"the validation part has {theirs:,} {side} and the training data {mine:,}; give "
                "both the same vocabularies"
            )
        if not np.array_equal(*(getattr(data, f"{side[:-1]}_ids") for data in (train, held_out))):
            raise InvalidDataError(
                f"the validation part and the training data number their {side} differently; give "
                "both the same vocabularies, as a split does"
            )
    pairs = [
        data.users.astype(np.int64) * data.n_items + data.indices for data in (train, held_out)
    ]
    n_both = int(np.isin(pairs[1], pairs[0], assume_unique=True).sum())
    if n_both:
        raise InvalidDataError(
            f"{n_both:,} pairs of the validation part are in the training data too, and would be "
            "judged by what was learned by heart; take them out of one of them"
        )


def held_out_part(
    data: Interactions, *, share: float, seed: int
) -> tuple[Interactions, Interactions]:
    """What to train on, and a fifth of the items of some users, one at least.

    Args:
        data: The training data.
        share: The part of the users with two items or more who judge, in (0, 1].
        seed: Decides who and what.
    """
    long = np.flatnonzero(data.user_counts >= 2)
    if len(long) == 0:
        raise InvalidDataError(
            "no user has two items, so none can say when to stop learning; give longer histories, "
            "a validation part, or validation_share=0"
        )
    words = addresses(seed, Stream.MF, _JUDGES, long)
    n = min(MOST_USERS, max(1, round(share * len(long))))
    judges = np.zeros(data.n_users, np.bool_)
    judges[long[np.argsort(words, kind="stable")[:n]]] = True
    users: Ints = data.users
    order = np.lexsort((addresses(seed, Stream.MF, _HELD, users, data.indices), users))
    place = np.arange(len(data)) - data.indptr[:-1][users]
    n_held = np.maximum(1, np.floor(HELD_OUT * data.user_counts + 0.5)).astype(np.int64)
    held = np.zeros(len(data), np.bool_)
    held[order] = (place < n_held[users]) & judges[users]
    return data.select(~held), data.select(held)
