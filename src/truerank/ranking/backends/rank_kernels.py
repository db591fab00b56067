"""Ranks of a block of rows under each design, compiled. :mod:`.rounding` says what decides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Float, Int
from truerank.numerics.ties import (
    ABOVE,
    TIED_ABOVE,
    Ties,
    compare_to_target,
    rank_from,
    rank_in_row,
)
from truerank.ranking.backends.rounding import (
    FactorArrays,
    ListedItems,
    count_among,
    exact_dot,
    fill_listed,
    fill_row,
    rounding_guard,
    score_one,
)
from truerank.ranking.rival_draws import continue_chance, draw_rivals, mark, unmark
from truerank.ranking.stages import SampleState, goes_on

STEP = 64
"""Scores looked at together where some of a tile are too near to say."""

ROUND_UP = 1.0 + 2.0**-20
"""Thresholds are rounded to float32: the error bound is a little more than its formula."""


class SeveralTargetsBlock(NamedTuple):
    """Rows of some users, several of each, with room for what is found.

    Attributes:
        users: Each of them once.
        row_indptr: Rows ``row_indptr[k]`` to ``row_indptr[k + 1] - 1`` belong to user k of them.
        targets: Of each row.
        places: Where in the list each target stands.
        excluded_places: Where in the list the excluded items stand, ascending within a user.
        passed: For each user, the first of these that no tile has reached yet.
        ends: After the last one of each user.
        own: Score of the target.
        better: How many beat it: grows.
        tied: How many tie with it: grows.
        heads: How many of these stand above it by their coin: grows.
        ties: The order of tied items.
    """

    users: Int
    row_indptr: Int
    targets: Int
    places: Int
    excluded_places: NDArray[np.int32]
    passed: Int
    ends: Int
    own: Float
    better: Int
    tied: Int
    heads: Int
    ties: Ties


@njit(nogil=True, cache=True)
def rank_sampled(
    scorer: Any,
    users: NDArray[np.int64],
    targets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    excluded_indptr: NDArray[np.int64],
    excluded_items: NDArray[np.int32],
    n_candidates: NDArray[np.int64],
    most: NDArray[np.int64],
    n_items: int,
    stages: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    replacement: bool,
    ties: Ties,
    scratch: tuple[NDArray[np.uint8], NDArray[np.int64]],
    state: SampleState,
    out_rank: NDArray[np.int64],
) -> None:
    """Rank of each row, its sample grown stage by stage from where ``state`` has it.

    ``keys`` are the starting words of the draws; ``most`` how many rivals may be drawn; ``stages``
    are sample sizes, the largest rank that goes on from each, and that rank's probability to;
    ``scratch`` is marks, and room for the rivals. Rivals met before are drawn again, not scored.
    """
    sizes, max_rank, continue_prob = stages
    marks, rivals = scratch
    for row in range(len(users)):
        user, target, key = users[row], targets[row], keys[row]
        excluded = excluded_items[excluded_indptr[user] : excluded_indptr[user + 1]]
        mark(marks, target, excluded)
        better, tied, heads = state.better[row], state.tied[row], state.heads[row]
        drawn, used, rank = state.drawn[row], 0, 1
        if drawn > 0:
            used = draw_rivals(
                rivals, 0, drawn, key, used, n_items, n_candidates[row] - 1, replacement, marks
            )
        for stage in range(len(sizes)):
            wanted = min(sizes[stage] - 1, most[row])
            used = draw_rivals(
                rivals, drawn, wanted, key, used, n_items, n_candidates[row] - 1, replacement, marks
            )
            more = count_among(scorer, user, target, rivals, drawn, wanted, ties)
            better += more[0]
            tied += more[1]
            heads += more[2]
            drawn = wanted
            whole = drawn == most[row] and not replacement
            rank = rank_from(better, tied, heads, ties.rule, whole)
            chance = continue_chance(key, stage)
            go_on = goes_on(rank, max_rank[stage], continue_prob[stage], chance)
            if drawn == most[row] or not go_on:
                break
        unmark(marks, target, excluded, rivals, drawn)
        out_rank[row] = rank
        state.better[row], state.tied[row], state.heads[row] = better, tied, heads
        state.drawn[row], state.scored[row] = drawn, drawn + 1


@njit(nogil=True, cache=True)
def rank_fixed_negatives(
    scorer: Any,
    users: NDArray[np.int64],
    targets: NDArray[np.int64],
    indptr: NDArray[np.int64],
    negatives: NDArray[np.int64],
    ties: Ties,
    out_rank: NDArray[np.int64],
) -> None:
    """Rank of each row's target among its given negatives."""
    for row in range(len(users)):
        rivals = negatives[indptr[row] : indptr[row + 1]]
        better, tied, heads = count_among(
            scorer, users[row], targets[row], rivals, 0, len(rivals), ties
        )
        out_rank[row] = rank_from(better, tied, heads, ties.rule, True)


@njit(nogil=True, cache=True)
def rank_item_item(
    scorer: Any,
    users: NDArray[np.int64],
    targets: NDArray[np.int64],
    excluded_indptr: NDArray[np.int64],
    excluded_items: NDArray[np.int32],
    ties: Ties,
    out_rank: NDArray[np.int64],
) -> None:
    """Rank of each row's target among all candidates, from whole rows of scores."""
    for row in range(len(users)):
        user = users[row]
        if scorer.owner[0] != user:
            fill_row(scorer, user)
        excluded = excluded_items[excluded_indptr[user] : excluded_indptr[user + 1]]
        out_rank[row] = rank_in_row(scorer.row, user, targets[row], excluded, ties)


@njit(nogil=True, cache=True)
def count_item_item(
    scorer: Any,
    names: NDArray[np.int32],
    users: Int,
    row_indptr: Int,
    targets: Int,
    places: Int,
    excluded_places: NDArray[np.int32],
    begins: Int,
    ends: Int,
    ties: Ties,
    found: tuple[Int, Int, Int],
    room: Float,
) -> None:
    """Count the items of a list for the rows of some users.

    ``names`` are the items of the list; for the rest see :class:`.ListedRows`.
    """
    for k in range(len(users)):
        fill_listed(scorer, users[k], names, room)
        excluded = excluded_places[begins[k] : ends[k]]
        for row in range(row_indptr[k], row_indptr[k + 1]):
            own = score_one(scorer, users[k], targets[row])
            more = count_in_scores(
                room, own, names, excluded, targets[row], places[row], users[k], ties
            )
            found[0][row] += more[0]
            found[1][row] += more[1]
            found[2][row] += more[2]


@njit(nogil=True, cache=True)
def count_in_scores(
    scores: NDArray[Any],
    own: float,
    names: NDArray[np.int32],
    excluded: NDArray[np.int32],
    target: int,
    place: int,
    user: int,
    ties: Ties,
) -> tuple[int, int, int]:
    """How many of the scores of a list beat the target, tie with it, and tie above it.

    Args:
        scores: Of the items.
        own: Of the target.
        names: The items of the list.
        excluded: Places to leave out, ascending.
        target: The item.
        place: Its place, which is left out.
        user: Whose scores they are.
        ties: The order of tied items.
    """
    better, tied, heads, e = 0, 0, 0, 0
    for j in range(len(scores)):
        if e < len(excluded) and excluded[e] == j:
            e += 1
        elif j != place:
            rival = int(names[j])
            where = compare_to_target(rival, scores[j], target, own, ties, user)
            better += where == ABOVE
            tied += where & 1
            heads += where == TIED_ABOVE
    return better, tied, heads


@njit(nogil=True, cache=True)
def score_targets(
    scorer: FactorArrays, users: NDArray[np.int64], targets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The exact score of each row's target."""
    own = np.empty(len(users))
    for row in range(len(users)):
        own[row] = exact_dot(scorer.user, users[row], scorer.item, targets[row])
    return own


@njit(nogil=True, cache=True)
def count_in_tile(
    tile: NDArray[np.float32],
    first: int,
    width: int,
    scorer: FactorArrays,
    items: ListedItems,
    block: SeveralTargetsBlock,
) -> None:
    """Add what one tile (some users x places ``first`` and after of a list) says about each row.

    Tiles must come in the order of their places.
    """
    longest = np.float32(0.0)
    for place in range(first, first + width):
        longest = max(longest, items.norms[place])
    for k in range(len(block.users)):
        user = block.users[k]
        at, end = block.passed[k], block.ends[k]
        while at < end and block.excluded_places[at] < first + width:
            tile[k, block.excluded_places[at] - first] = -np.inf
            at += 1
        block.passed[k] = at
        # One error bound for the tile, that of its longest item: two thresholds and no more.
        widest = scorer.error_coefficient[user] * np.float64(longest)
        for row in range(block.row_indptr[k], block.row_indptr[k + 1]):
            own, target = block.own[row], block.targets[row]
            error_bound = ROUND_UP * (widest + rounding_guard(own))
            low, high = np.float32(own - error_bound), np.float32(own + error_bound)
            mine = block.places[row] - first
            above, around = count_above_and_near(tile, k, 0, width, low, high)
            block.better[row] += above
            # The target itself is always among those too near to say.
            if around == np.int64(0 <= mine < width):
                continue
            for start in range(0, width, STEP):
                stop = min(start + STEP, width)
                if count_above_and_near(tile, k, start, stop, low, high)[1] == 0:
                    continue
                for j in range(start, stop):
                    if j != mine and low <= tile[k, j] <= high:
                        rival = int(items.names[first + j])
                        exact = exact_dot(scorer.user, user, scorer.item, rival)
                        where = compare_to_target(rival, exact, target, own, block.ties, user)
                        block.better[row] += where == ABOVE
                        block.tied[row] += where & 1
                        block.heads[row] += where == TIED_ABOVE


@njit(nogil=True, cache=True)
def count_above_and_near(
    tile: NDArray[np.float32],
    k: int,
    start: int,
    stop: int,
    low: np.float32,
    high: np.float32,
) -> tuple[np.int64, np.int64]:
    """Scores of row k surely above, and those too near to say; 8 at a time with AVX2.

    Unsigned indices tell the compiler that none counts from the end; only so it vectorises.
    """
    above, reached = np.int32(0), np.int32(0)
    for j in range(np.uint64(start), np.uint64(stop)):
        score = tile[k, j]
        above = np.int32(above + np.int32(score > high))
        reached = np.int32(reached + np.int32(score >= low))
    return np.int64(above), np.int64(reached - above)
