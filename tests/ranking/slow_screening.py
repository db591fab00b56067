"""Screened ranking as its docstring tells it, a row and a rival at a time: the reference.

Each block of users has a random order of the catalogue. A row meets the first items of it; its own
target and what its user has seen are passed over. Rows of a rank that may go on meet more, and who
meets all has an exact rank.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from slow_ranking import GOLDEN, WORD, banned_for, held_by, mix

from truerank.data.interactions import Interactions
from truerank.ranking import RankTable
from truerank.ranking.screening.screened_ranks import SLICE
from truerank.ranking.stages import Stages
from truerank.rng import Stream, addresses

HALF_OF_WORDS = 2**63


class SlowRows(NamedTuple):
    """What becomes of each row; and of each user, how many scores it takes."""

    rank: list[int]
    n_sampled: list[int]
    n_items: list[int]
    stage: list[int]
    scored: dict[int, int]


def order_of_block(seed: int, block: int, n_items: int, n: int) -> list[int]:
    """The first items of a block's order: words of its stream, what came before passed over."""
    key = int(addresses(seed, Stream.CATALOGUE_ORDER, block)[0])
    found: list[int] = []
    seen: set[int] = set()
    draw = 0
    while len(found) < n:
        item = mix((key + draw * GOLDEN) % WORD) * n_items // WORD
        draw += 1
        if item not in seen:
            seen.add(item)
            found.append(item)
    return found


def block_of(name: Any, n_blocks: int) -> int:
    """The block of a user by its id: a number by the words of bootstraps, a text by its CRC."""
    if isinstance(name, int | np.integer):
        return int(addresses(0, Stream.BOOTSTRAP, 200, int(name) % 2**64)[0]) % n_blocks
    return zlib.crc32(str(name).encode()) % n_blocks


class Order:
    """The order of one user's items: who stands above whom."""

    def __init__(self, scores: np.ndarray, held: set[int], ties: str, seed: int, user: int) -> None:
        self.scores, self.held, self.ties = scores.tolist(), held, ties
        self.words = addresses(seed, Stream.TIES, user, np.arange(len(scores))).tolist()

    def rank(self, target: int, rivals: list[int], *, whole: bool) -> int:
        """The place of the target among the rivals, itself included."""
        better = tied = heads = 0
        for rival in rivals:
            if self.scores[rival] > self.scores[target]:
                better += 1
            elif self.scores[rival] < self.scores[target]:
                pass
            elif self.ties == "random":
                better += self.words[rival] < self.words[target]
            elif rival in self.held:  # targets stand together, by their index
                better += rival < target
            else:
                tied += 1
                heads += self.words[rival] < HALF_OF_WORDS
        half = -(-tied // 2) if whole else heads
        return 1 + better + {"pessimistic": tied, "half": half}.get(self.ties, 0)


def slow_screened(
    scores: np.ndarray,
    users: np.ndarray,
    items: np.ndarray,
    stages: Stages,
    *,
    seed: int,
    exclude: Interactions | None = None,
    ties: str = "random",
    names: Any = None,
    target_in_line: bool = False,
) -> SlowRows:
    """Every row by itself; ``scores`` is users x items, ``names`` are the users' ids.

    ``target_in_line``: the target is scored again with every stretch of places, as foreign scorers
    are asked to.
    """
    n_items, held = scores.shape[1], held_by(users, items)
    found = SlowRows([], [], [], [], {})
    longest = max([size for size in stages.sizes.tolist() if size < n_items], default=0)
    orders: dict[int, list[int]] = {}
    stretches: dict[int, set[tuple[int, int]]] = {}
    for user, target in zip(users.tolist(), items.tolist(), strict=True):
        banned = banned_for(user, held[user], exclude)
        name = user if names is None else names[user]
        block = block_of(name, stages.n_blocks or 1)
        if block not in orders:
            orders[block] = order_of_block(seed, block, n_items, longest)
        mine, before = Order(scores[user], held[user], ties, seed, user), 0
        asked = stretches.setdefault(user, set())
        for stage, size in enumerate(stages.sizes.tolist()):
            met = orders[block][:size] if size < n_items else list(range(n_items))
            rivals = [item for item in met if item != target and item not in banned]
            whole = len(rivals) == n_items - len(banned) - 1
            rank = mine.rank(target, rivals, whole=whole)
            found.scored.setdefault(user, 0)
            if size >= n_items:
                asked.add((0, n_items + 1))  # all anew
            else:
                asked.add((before, size))
                found.scored[user] += -(-(size - before) // SLICE) * target_in_line
            chance = int(addresses(seed, Stream.NEGATIVES, user, target, stage)[0]) / 2**64
            most, share = int(stages.max_rank[stage]), float(stages.continue_prob[stage])
            goes_on = rank < most or (rank == most and chance < share)
            if whole or not goes_on or size >= n_items:
                break
            before = size
        found.rank.append(rank)
        found.n_sampled.append(1 + len(rivals))
        found.n_items.append(n_items - len(banned))
        found.stage.append(stage)
    for user, asked in stretches.items():
        found.scored[user] += sum(min(end, n_items) - begin for begin, end in asked)
    return found


def assert_rows(table: RankTable, slow: SlowRows, users: np.ndarray) -> None:
    """The table has these very rows; each user's scores are counted once, and spread evenly."""
    assert table.rank.tolist() == slow.rank
    assert table.n_sampled.tolist() == slow.n_sampled
    assert table.n_items.tolist() == slow.n_items
    for user, scored in slow.scored.items():
        assert int(table.n_scored[users == user].sum()) == scored, user
