r"""In what order tied items stand: decided here, nowhere else.

Each rule is an order of all items of a user, targets and others, so several targets of one user
never share a place, and a list has one first place. With ``better`` candidates above a target,
``tied`` beside it that are not targets of this user, and ``before`` tied targets of this user with
a smaller index, its rank is

===============  ==================================================================
rule             the target's rank
===============  ==================================================================
``random``       its place in one random order of the tied items, addressed by
                 (seed, user, item): the default. Chance decides, as it would in the list that a
                 user sees, and a constant model has the metrics of a random one.
``half``         ``1 + better + ceil(tied / 2) + before``: the user's tied targets stand in the
                 middle of the tied others.
``optimistic``   ``1 + better + before``: targets first. A constant model is perfect.
``pessimistic``  ``1 + better + tied + before``: targets last, the rule of the NCF evaluation.
===============  ==================================================================

**Samples.** An estimator takes a sampled rank for a hypergeometric (or binomial) draw given the
full rank. That holds where a rival stands above or below the target whoever else is drawn: for
``random``, ``optimistic`` and ``pessimistic`` exactly. The middle of a tied block is no such
order: half of the *drawn* ties has next to no variance, and no distribution of full ranks explains
it. So in a sample that does not hold all candidates, ``half`` puts each tied rival above or below
by a fair coin addressed by (seed, user, rival): the number of candidates above the target is then
1 + better + Binomial(tied, 1/2), whose mean is within 1/2 of the half rank, and the sampled rank
is hypergeometric given that. In a sample of all candidates ``half`` is the exact half rank again.
Given negatives are somebody else's protocol: there ``half`` is half of the ties, as it is told.

**Validation** of models during training goes by ``half`` too (:func:`half_of_ties`); where it
samples, its ranks are scaled up and need not be whole, and a tied rival is half a rival
(:func:`half_above`).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError
from truerank.numerics.jit import strict
from truerank.numerics.sorted_rows import contains
from truerank.numerics.streams import extend_address

TieRule = Literal["half", "optimistic", "pessimistic", "random"]
TIE_RULES: tuple[str, ...] = get_args(TieRule)
DEFAULT_TIES: TieRule = "random"

HALF, OPTIMISTIC, PESSIMISTIC, RANDOM = range(4)
"""Codes of the rules for compiled code, in the order of their names."""

BELOW, TIED_BELOW, ABOVE, TIED_ABOVE = range(4)
"""Where a rival stands; a tied one above or below by the coin of its address."""

_HEADS = np.uint64(2**63)


class Ties(NamedTuple):
    """The order of tied items, for compiled code.

    Attributes:
        rule: Code of the rule.
        word: Word of the address (seed, TIES), from which (user, item) goes on.
        indptr: ``targets[indptr[u]:indptr[u + 1]]`` are the targets of user ``u``.
        targets: Ascending within a user, each once.
    """

    rule: int
    word: np.uint64
    indptr: NDArray[Any]
    targets: NDArray[Any]


def tie_code(rule: str) -> int:
    """The rule as the number that compiled code knows.

    >>> tie_code("half") == HALF
    True
    """
    if rule not in TIE_RULES:
        raise InvalidArgumentError("ties", rule, f"one of {', '.join(TIE_RULES)}")
    return TIE_RULES.index(rule)


@njit(nogil=True, cache=True)
def compare_to_target(
    rival: int, score: float, target: int, own: float, ties: Ties, user: int
) -> int:
    """Where a rival stands by its score and, if that ties, by the rule."""
    if score > own:
        return ABOVE
    if score < own:
        return BELOW
    return compare_tied(rival, target, ties, user)


@njit(nogil=True, cache=True)
def compare_tied(rival: int, target: int, ties: Ties, user: int) -> int:
    """Where a rival of the target's own score stands.

    A target among its own negatives ties with itself; under ``random`` it is not above itself.
    """
    if rival == target:
        return TIED_BELOW
    if ties.rule == RANDOM:
        key = extend_address(ties.word, user)
        return ABOVE if extend_address(key, rival) < extend_address(key, target) else BELOW
    if is_target(rival, ties, user):
        return ABOVE if rival < target else BELOW
    if ties.rule != HALF:
        return TIED_BELOW
    coin = extend_address(extend_address(ties.word, user), rival) < _HEADS
    return TIED_ABOVE if coin else TIED_BELOW


@njit(nogil=True, cache=True)
def is_target(item: int, ties: Ties, user: int) -> bool:
    """Whether the item is one of the user's targets."""
    return contains(ties.targets, ties.indptr[user], ties.indptr[user + 1], item)


@njit(nogil=True, cache=True)
def rank_from(better: int, tied: int, heads: int, rule: int, whole: bool) -> int:
    """The 1-based rank. ``heads`` of the tied ones stand above by their coin.

    ``whole`` says that all candidates were met, so that half of the ties is half of them all.
    """
    if rule == HALF:
        return 1 + better + ((tied + 1) // 2 if whole else heads)
    if rule == PESSIMISTIC:
        return 1 + better + tied
    return 1 + better


@njit(nogil=True, cache=True)
def ranks_from(
    better: NDArray[np.int64],
    tied: NDArray[np.int64],
    heads: NDArray[np.int64],
    rule: int,
    whole: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """:func:`rank_from` for whole arrays."""
    rank = np.empty(len(better), np.int64)
    for row in range(len(better)):
        rank[row] = rank_from(better[row], tied[row], heads[row], rule, whole[row])
    return rank


@njit(nogil=True, cache=True)
def rank_in_row(
    scores: NDArray[Any], user: int, target: int, excluded: NDArray[np.int32], ties: Ties
) -> int:
    """Rank of the target in one full row of scores, the excluded items left out."""
    own = scores[target]
    above, same = np.int32(0), np.int32(0)
    for j in range(len(scores)):
        above = np.int32(above + np.int32(scores[j] > own))
        same = np.int32(same + np.int32(scores[j] == own))
    better, tied = int(above), int(same) - 1
    for k in range(len(excluded)):
        better -= scores[excluded[k]] > own
        tied -= scores[excluded[k]] == own
    if tied > 0 and ties.rule == RANDOM:
        for j in range(len(scores)):
            if scores[j] == own:
                better += compare_tied(j, target, ties, user) == ABOVE
        for k in range(len(excluded)):
            if scores[excluded[k]] == own:
                better -= compare_tied(int(excluded[k]), target, ties, user) == ABOVE
    elif tied > 0:
        for k in range(ties.indptr[user], ties.indptr[user + 1]):
            other = ties.targets[k]
            if other != target and scores[other] == own:
                better += other < target
                tied -= 1
    return rank_from(better, tied, 0, ties.rule, True)


@njit(nogil=True, cache=True)
def ranks_in_rows(
    scores: NDArray[Any],
    users: NDArray[np.int64],
    excluded_indptr: NDArray[Any],
    excluded_items: NDArray[np.int32],
    ties: Ties,
    out: NDArray[Any],
) -> None:
    """Ranks of all targets of these users, one after another, each in its user's row of scores."""
    at = 0
    for row in range(len(users)):
        user = users[row]
        excluded = excluded_items[excluded_indptr[user] : excluded_indptr[user + 1]]
        for k in range(ties.indptr[user], ties.indptr[user + 1]):
            out[at] = rank_in_row(scores[row], user, ties.targets[k], excluded, ties)
            at += 1


def half_of_ties(indptr: NDArray[Any], targets: NDArray[Any]) -> Ties:
    """The rule ``half`` for these targets: what validation goes by, whose ranks are of all items.

    It needs no random order, so that the epochs of a model differ by its scores alone.
    """
    return Ties(HALF, np.uint64(0), indptr, targets)


@strict
def half_above(score: float, own: float) -> float:
    """How much of a rival stands above a target whose sampled rank is scaled up: 1, 1/2 or 0."""
    return 1.0 if score > own else 0.5 * (score == own)
