"""Exact ranks the slow way: every score compared with every other, a user at a time.

The joint order of a user's list, for each tie rule. Of equal scores,

* ``random``: the smaller word of (seed, user, item) comes first;
* ``optimistic``: the user's own targets come first, among themselves by item index;
* ``pessimistic``: they come last, among themselves by item index;
* ``half``: they stand together behind the first half (rounded up) of the tied rivals.

Among a part of the candidates ``half`` puts each tied rival above or below by a coin of its own.
Users of a block who share their rivals meet the items in one random order, that of the block.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.rng import GOLDEN, MULTIPLIERS, Stream, addresses

Int = NDArray[np.int64]


def scores_of(scorer: Any, user: int) -> NDArray[np.float64]:
    """Scores of all items for one user, summed in float64 from left to right where we sum."""
    if getattr(scorer, "user_factors", None) is not None:
        x, y = scorer.user_factors[user], scorer.item_factors
        total = np.zeros(len(y))
        for k in range(len(x)):
            total += np.float64(x[k]) * y[:, k].astype(np.float64)
        return total
    if getattr(scorer, "history", None) is not None and hasattr(scorer, "item_item"):
        line = scorer.history[[user]].tocsr()
        total = np.zeros(scorer.history.shape[1])
        for value, item in zip(line.data, line.indices, strict=True):
            weights = scorer.item_item[[int(item)]]
            dense = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
            total += np.float64(value) * dense[0].astype(np.float64)
        return total
    return np.asarray(scorer.score_all(np.array([user])))[0].astype(np.float64)


def rank_in_list(
    scores: NDArray[np.float64],
    target: int,
    candidates: NDArray[np.bool_],
    targets: Int,
    rule: str,
    words: NDArray[np.uint64],
    *,
    whole: bool = True,
) -> int:
    """The rank of one target among its candidates, of whom some are targets as well.

    ``whole`` says that these are all the candidates there are.
    """
    better = int(((scores > scores[target]) & candidates).sum())
    tied = (scores == scores[target]) & candidates
    if rule == "random":
        return 1 + better + int((tied & (words < words[target])).sum())
    own = np.sort(targets[tied[targets]])
    rivals = int(tied.sum()) - len(own)
    if rule == "half" and not whole:
        heads = tied & (words < np.uint64(2**63))
        heads[own] = False
        return 1 + better + int(heads.sum()) + int(np.searchsorted(own, target))
    before = {"optimistic": 0, "half": (rivals + 1) // 2, "pessimistic": rivals}[rule]
    return 1 + better + before + int(np.searchsorted(own, target))


def slow_ranks(
    scorer: Any, users: Int, items: Int, seen: Any, *, ties: str, seed: int, rows: Int
) -> Iterator[tuple[int, int]]:
    """(row, rank) of some rows."""
    order = rows[np.argsort(users[rows], kind="stable")]
    previous, scores, words = -1, np.empty(0), np.empty(0, np.uint64)
    for row in order:
        user, target = int(users[row]), int(items[row])
        if user != previous:
            previous, scores = user, scores_of(scorer, user)
            words = addresses(seed, Stream.TIES, user, np.arange(len(scores)))
        candidates = np.ones(len(scores), dtype=bool)
        if seen is not None:
            candidates[seen.items_of(user)] = False
        own = items[users == user]
        candidates[own] = True  # one list for all of a user's held-out items
        yield int(row), rank_in_list(scores, target, candidates, own, ties, words)


def block_of(name: Any, n_blocks: int) -> int:
    """The block of a user: by the hash of a number, or by the CRC of a text."""
    if isinstance(name, int | np.integer):
        return int(addresses(0, Stream.BOOTSTRAP, 200, int(name) % 2**64)[0]) % n_blocks
    return zlib.crc32(str(name).encode()) % n_blocks


def order_of_block(seed: int, block: int, n_items: int, n: int) -> Int:
    """The first items of a block's order: by its words, each where it first comes."""
    key = addresses(seed, Stream.CATALOGUE_ORDER, block)[0]
    found, n_words = np.empty(0, np.int64), 2 * n
    while len(found) < n:
        n_words *= 2
        with np.errstate(over="ignore"):
            z = key + np.arange(n_words, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(GOLDEN)
            for shift, factor in zip((30, 27), MULTIPLIERS, strict=True):
                z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
            words = (z ^ (z >> np.uint64(31))).astype(object)
        items = (words * n_items // 2**64).astype(np.int64)
        found = items[np.sort(np.unique(items, return_index=True)[1])]
    return found[:n]


def slow_shared(
    scorer: Any,
    users: Int,
    items: Int,
    seen: Any,
    *,
    ties: str,
    seed: int,
    rows: Int,
    names: Any,
    stages: Any,
) -> Iterator[tuple[int, int, int]]:
    """(row, rank, size of the sample) of some rows, whose users share their rivals in blocks."""
    orders: dict[int, Int] = {}
    for row in rows:
        user, target = int(users[row]), int(items[row])
        scores = scores_of(scorer, user)
        n_items = len(scores)
        block = block_of(names[user], stages.n_blocks)
        if block not in orders:
            longest = int(stages.sizes[stages.sizes < n_items].max(initial=0))
            orders[block] = order_of_block(seed, block, n_items, longest)
        words = addresses(seed, Stream.TIES, user, np.arange(n_items))
        own = items[users == user]
        candidates = np.ones(n_items, dtype=bool)
        if seen is not None:
            candidates[seen.items_of(user)] = False
        candidates[own] = True
        for stage, size in enumerate(stages.sizes.tolist()):
            met = np.full(n_items, size >= n_items)
            met[orders[block][:size]] = True
            met[target] = True
            met &= candidates
            whole = bool(met.sum() == candidates.sum())
            among = own[met[own]]
            rank = rank_in_list(scores, target, met, among, ties, words, whole=whole)
            word = int(addresses(seed, Stream.NEGATIVES, user, target, stage)[0])
            most, share = stages.max_rank[stage], stages.continue_prob[stage]
            if whole or not (rank < most or (rank == most and word < share * 2.0**64)):
                break
        yield int(row), rank, int(met.sum())
