r"""Validation users: who says after an epoch how good a model is, and when to stop.

Known users have a part of their training items held out; new users are set aside whole, and known
by a part of their items. *Full*: a held-out item is ranked among all items that the user has not
been trained on, ties by half (:mod:`truerank.numerics.ties`). *Sampled*: of n of them, drawn once
and the same in every epoch, n' are not the item itself; its rank r among these is then taken for
the rank

.. math::  1 + (r - 1) \frac{N - 1}{n'}

among all N candidates (the middle one if n' is 0), which is unbiased for n' > 0. The metric of it
is not, but the epochs of one model are compared on the same draws, and that is all that is asked
here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, is_adaptive
from truerank.arrays import Float32
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.metrics import Metric, parse
from truerank.numerics.jit import strict
from truerank.numerics.streams import word
from truerank.numerics.threads import Each
from truerank.numerics.ties import half_above, half_of_ties, ranks_in_rows
from truerank.rng import Stream, Training, addresses
from truerank.training.negative_sampling import NegativeSampler, Pairs, draw_absent

MOST_KNOWN_USERS = 5000
"""Known users at most: more make the check expensive and hardly more certain."""

MOST_NEW_USERS = 1000
"""New users at most: what they would teach is lost as well."""

HELD_OUT = 0.2
"""The part of a validation user's items that are held out."""

CELLS = 2**21
"""Scores held at once by a thread."""

ScoreRows = Callable[[NDArray[np.int64]], NDArray[Any]]
"""From user indices to scores of all items, a row for each."""


@dataclass(frozen=True, slots=True, eq=False)
class ValidationUsers:
    """Users, what a model knows of them and what it should find.

    Attributes:
        known: What the model knows of all users: no candidates.
        users: The validation users, ascending.
        held_out: Their held-out items, in the rows of all users.
        metric: What is averaged over them.
        n_sampled: Items that each is ranked among; None for all.
        seed: Of the sampled items.
        short_lists: Whether a user may have fewer candidates than the metric's cutoff.
    """

    known: Pairs
    users: NDArray[np.int64]
    held_out: Pairs
    metric: Metric
    n_sampled: int | None = None
    seed: int = 0
    short_lists: bool = False

    @classmethod
    def of(
        cls,
        train: Interactions,
        held_out: Interactions,
        *,
        metric: Metric,
        n_sampled: int | None,
        seed: int,
    ) -> ValidationUsers:
        """Every user with something held out who is also trained on.

        Not those who have learned nearly every item: with fewer candidates than the metric's
        cutoff, or none that is not held out, there is nothing to evaluate.
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
                f"no user has enough candidates to evaluate {metric}: at most "
                f"{candidates[held_out.user_counts > 0].max():,} items are not trained on; choose "
                "a validation_metric with a smaller cutoff"
            )
        users = np.flatnonzero(able)
        return cls(Pairs.of(train), users, Pairs.of(held_out), metric, n_sampled, seed)

    @classmethod
    def of_histories(
        cls, history: Interactions, held_out: Interactions, *, metric: Metric
    ) -> ValidationUsers:
        """New users: every one with both a history and something held out."""
        if history.n_items != held_out.n_items or history.n_users != held_out.n_users:
            raise InvalidDataError(
                "the two parts of the validation users differ in users or items; take fold_in and "
                "held_out of one split"
            )
        users = np.flatnonzero((held_out.user_counts > 0) & (history.user_counts > 0))
        if len(users) == 0:
            raise InvalidDataError(
                "no validation user has both a history and held-out items; give some who have"
            )
        return cls(Pairs.of(history), users, Pairs.of(held_out), metric, short_lists=True)

    def evaluate(self, score_rows: ScoreRows, each: Each) -> float:  # type: ignore[type-arg]
        """Mean of the metric over the users, each held-out item ranked among all candidates."""
        ties = half_of_ties(self.held_out.indptr, self.held_out.items)

        def rank(who: NDArray[np.int64], out: NDArray[np.float64]) -> None:
            ranks_in_rows(score_rows(who), who, self.known.indptr, self.known.items, ties, out)

        return self._mean(rank, each, cells=self.known.n_items)

    def evaluate_factors(self, users: Float32, items: Float32, each: Each) -> float:  # type: ignore[type-arg]
        """The same where scores are dot products of factors; among a sample if there is one."""
        n = self.n_sampled
        if n is None:
            return self.evaluate(lambda who: users[who] @ items.T, each)

        def rank(who: NDArray[np.int64], out: NDArray[np.float64]) -> None:
            keys = addresses(self.seed, Stream.TRAINING, Training.RANKED_AMONG, who)
            _sampled_ranks(users, items, self.known, self.held_out, who, keys, n, out)

        return self._mean(rank, each, cells=10**4)

    def _mean(
        self,
        rank: Callable[[NDArray[np.int64], NDArray[np.float64]], None],
        each: Each,  # type: ignore[type-arg]
        *,
        cells: int,
    ) -> float:
        """Ranks by blocks of users, then the mean of the metric; ``cells`` scores for each user."""
        counts = np.diff(self.held_out.indptr)[self.users]
        starts = np.concatenate([[0], np.cumsum(counts)])
        ranks = np.empty(starts[-1])
        block = max(1, CELLS // cells)

        def work(first: int) -> None:
            who = self.users[first : first + block]
            rank(who, ranks[starts[first] : starts[min(first + block, len(self.users))]])

        each(work, range(0, len(self.users), block))
        candidates = self.known.n_items - np.diff(self.known.indptr)[self.users]
        owner, n = np.repeat(self.users, counts), np.repeat(candidates, counts)
        _, values = self.metric.per_user(owner, ranks, None if self.short_lists else n)
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
    uniform = NegativeSampler(np.empty(0), np.empty(0, np.int32), np.empty(0))
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
            "evaluated on what was memorised; take them out of one of them"
        )


def validation_users_of(
    data: Interactions,
    given: Interactions | None,
    *,
    share: float,
    metric: str,
    n_sampled: int | None,
    seed: int,
) -> tuple[Interactions, ValidationUsers | None, list[str]]:
    """What is trained on, the validation users, and a sentence for each default that gave way.

    A share that nobody asked for gives way to none where nobody can validate, and a metric that
    nobody asked for to a cutoff that every validation user has candidates for.

    Args:
        data: The training data.
        given: Held-out items of the same users, to validate with; otherwise some of the data are.
        share: The part of the users who validate; 0 for none.
        metric: What is evaluated.
        n_sampled: Items that each is ranked among; None for all.
        seed: Decides who and what is held out.
    """
    if given is not None:
        check_validation(data, given)
        learned, held_out = data, given
    elif share == 0:
        return data, None, []
    elif is_adaptive(share) and not np.any(data.user_counts >= 2):
        why = "no user has two items, one to learn from and one to validate with"
        return data, None, [adaptation_note("validation_share", 0, share, why)]
    else:
        learned, held_out = train_validation_split(data, share=share, seed=seed)
    chosen, adapted, room = parse(metric), [], _candidates(learned, held_out)
    if given is None and is_adaptive(share) and not len(room):
        why = "who would validate has learned, or has held out, every item"
        return data, None, [adaptation_note("validation_share", 0, share, why)]
    if is_adaptive(metric) and len(room) and room.max() < (chosen.k or 1):
        chosen = replace(chosen, k=int(room.min()))
        why = (
            f"some validation users have {room.min()} candidates, and nobody more than {room.max()}"
        )
        adapted.append(adaptation_note("validation_metric", str(chosen), metric, why))
    users = ValidationUsers.of(learned, held_out, metric=chosen, n_sampled=n_sampled, seed=seed)
    return learned, users, adapted


def _candidates(train: Interactions, held_out: Interactions) -> NDArray[np.int64]:
    """How many items are ranked, for each user who has one that is not held out."""
    n = train.n_items - train.user_counts
    can = (held_out.user_counts > 0) & (train.user_counts > 0) & (n > held_out.user_counts)
    return np.asarray(n[can])


def train_validation_split(
    data: Interactions, *, share: float, seed: int
) -> tuple[Interactions, Interactions]:
    """What to train on, and a fifth of the items of some known users, one at least.

    Args:
        data: The training data.
        share: The part of the users with two items or more who are chosen, in (0, 1].
        seed: Decides who and what.
    """
    chosen = _some_users(
        data, share, MOST_KNOWN_USERS, (seed, Stream.TRAINING, Training.VALIDATION_USERS),
        "a validation part, or validation_share=0",
    )  # fmt: skip
    words = addresses(seed, Stream.TRAINING, Training.HELD_OUT_ITEMS, data.users, data.indices)
    held = _held_out(data, words) & chosen[data.users]
    return data.select(~held), data.select(held)


def set_users_aside(
    data: Interactions, *, share: float, seed: int
) -> tuple[NDArray[np.bool_], Interactions, Interactions]:
    """New users: who is not learned from, what is known of them, and a fifth of their items.

    Args:
        data: The training data.
        share: The part of the users with two items or more who are set aside.
        seed: Decides who and what.
    """
    # Addresses of their own: Users(m) draws by USER_SAMPLE, and must not meet these users first.
    address = (seed, Stream.TRAINING, Training.NEW_USERS)
    aside = _some_users(data, share, MOST_NEW_USERS, address, "validation users")
    mine = data.select(aside[data.users])
    words = addresses(seed, Stream.TRAINING, Training.NEW_USERS_ITEMS, mine.users, mine.indices)
    held = _held_out(mine, words)
    return aside, mine.select(~held), mine.select(held)


def _some_users(
    data: Interactions, share: float, most: int, address: tuple[int, ...], otherwise: str
) -> NDArray[np.bool_]:
    """Some of the users with two items or more, drawn by their address."""
    long = np.flatnonzero(data.user_counts >= 2)
    if len(long) == 0:
        raise InvalidDataError(
            "no user has two items, so none can say when to stop learning; give longer histories, "
            f"{'or ' if ',' not in otherwise else ''}{otherwise}"
        )
    seed, purpose, *key = address
    words = addresses(seed, Stream(purpose), *key, long)
    n = min(most, max(1, round(share * len(long))))
    chosen = np.zeros(data.n_users, np.bool_)
    chosen[long[np.argsort(words, kind="stable")[:n]]] = True
    return chosen


def _held_out(data: Interactions, words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """A fifth of every user's items, one at least, chosen by their words."""
    users = data.users
    order = np.lexsort((words, users))
    place = np.arange(len(data)) - data.indptr[:-1][users]
    n_held = np.maximum(1, np.floor(HELD_OUT * data.user_counts + 0.5)).astype(np.int64)
    held = np.zeros(len(data), np.bool_)
    held[order] = place < n_held[users]
    return held
