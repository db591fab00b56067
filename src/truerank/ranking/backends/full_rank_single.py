"""Ranks of one target per user among listed items: counted in registers, near ones decided.

The list is the whole catalogue, or a part of it in some order (:class:`ListedItems`). Scores are
counted by :mod:`truerank.numerics.simd_counting`. The items come in tiles, small enough
to stay in the cache while all panels of users pass. In a tile every target has two bounds, its
score less and plus the error bound of float32: above the upper one a rival surely wins, below the
lower one it surely loses. Where others than the target itself are between, the strip of the tile
that holds them is decided anew for that target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.numerics.simd_counting import (
    ABOVE,
    HIGH,
    LOW,
    PANEL,
    REACHED,
    STEP,
    count_scores,
    panels_of,
)
from truerank.numerics.ties import Ties
from truerank.ranking.backends.rank_kernels import ROUND_UP
from truerank.ranking.backends.rounding import (
    FactorArrays,
    ListedItems,
    decide_near,
    exact_dot,
    fast_dot,
    rounding_guard,
)

TILE_FLOATS = 96 * 1024
"""Numbers in a tile of item factors; 48 and 144 thousand were no faster."""

STRIP = 16 * STEP
"""Items after which the counts are noted, so that near ones need not be looked for far."""

SURE = 4.0
"""So many error bounds away from the target, every way of rounding says the same of an item."""

NONE = np.int64(-1)
"""No strip. Of a kind that is compiled together with the numbers of strips."""


class SingleTargetBlock(NamedTuple):
    """One row per user, with room for what is found.

    Attributes:
        users: Each of them once.
        targets: Of each user.
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
    targets: Int
    places: Int
    excluded_places: NDArray[np.int32]
    passed: Int
    ends: Int
    own: NDArray[np.float64]
    better: Int
    tied: Int
    heads: Int
    ties: Ties


class ItemTile(NamedTuple):
    """Places ``first`` to ``last - 1`` of the list, counted with so many zeros after them."""

    first: int
    last: int
    zeros: int


class Room(NamedTuple):
    """Bounds of all panels; counts of one at the end of each strip of a tile; and scratch."""

    bounds: NDArray[np.float32]
    counts: NDArray[np.int32]
    rivals: Int
    scores: NDArray[np.float32]


@njit(nogil=True, cache=True)
def count_one_target(scorer: FactorArrays, items: ListedItems, block: SingleTargetBlock) -> None:
    """Count the items of a list for a block, and fill its ``own``.

    Memory: copies of the vectors of its users and of STEP items, and less than a megabyte.
    """
    n_items, d = items.vectors.shape
    width = max(1, TILE_FLOATS // (STRIP * d)) * STRIP
    whole = n_items - n_items % STEP
    tail = np.zeros((STEP, d), np.float32)  # the items after these, filled up with zeros
    for place in range(whole, n_items):  # a loop: assigning a part would take seconds to compile
        for c in range(d):
            tail[place - whole, c] = items.vectors[place, c]
    panels = panels_of(scorer.user32, block.users)
    room = Room(
        np.zeros((len(panels), 2, PANEL), np.float32),
        np.empty((width // STRIP, 2, PANEL), np.int32),
        np.empty(STRIP, np.int64),
        np.empty(width, np.float32),
    )
    for k in range(len(block.users)):
        block.own[k] = exact_dot(scorer.user, block.users[k], scorer.item, block.targets[k])
    for first in range(0, n_items, width):
        last = min(first + width, n_items)
        tile = ItemTile(first, last, STEP - (last - whole) if last > whole else 0)
        _set_bounds(scorer, items, block, tile, room)
        for panel in range(len(panels)):
            _count(items, tail, panels, panel, tile, room)
            _add(scorer, items, block, panel, tile, room)


@njit(nogil=True, cache=True)
def _set_bounds(
    scorer: FactorArrays,
    items: ListedItems,
    block: SingleTargetBlock,
    tile: ItemTile,
    room: Room,
) -> None:
    """One error bound for the tile, that of its longest item, hence two bounds of its scores."""
    longest = np.float32(0.0)
    for place in range(tile.first, tile.last):
        longest = max(longest, items.norms[place])
    for k in range(len(block.users)):
        widest = scorer.error_coefficient[block.users[k]] * np.float64(longest)
        error_bound = ROUND_UP * (widest + rounding_guard(block.own[k]))
        room.bounds[k // PANEL, HIGH, k % PANEL] = np.float32(block.own[k] + error_bound)
        room.bounds[k // PANEL, LOW, k % PANEL] = np.float32(block.own[k] - error_bound)


@njit(nogil=True, cache=True)
def _count(
    items: ListedItems,
    tail: NDArray[np.float32],
    panels: NDArray[np.float32],
    panel: int,
    tile: ItemTile,
    room: Room,
) -> None:
    """Counts of a panel from the beginning of a tile to the end of each strip."""
    whole = tile.last - (STEP - tile.zeros if tile.zeros else 0)
    for strip in range(-(-(tile.last - tile.first) // STRIP)):
        first = tile.first + strip * STRIP
        last = min(first + STRIP, tile.last)
        for which in range(2):
            for lane in range(PANEL):
                before = room.counts[strip - 1, which, lane] if strip else np.int32(0)
                room.counts[strip, which, lane] = before
        count_scores(
            items.vectors, first, min(last, whole), panels, panel, room.bounds, room.counts, strip
        )
        if last > whole:
            count_scores(tail, 0, STEP, panels, panel, room.bounds, room.counts, strip)


@njit(nogil=True, cache=True)
def _add(
    scorer: FactorArrays,
    items: ListedItems,
    block: SingleTargetBlock,
    panel: int,
    tile: ItemTile,
    room: Room,
) -> None:
    """Add the counts of a tile to the users of a panel."""
    final = -(-(tile.last - tile.first) // STRIP) - 1
    for k in range(panel * PANEL, min((panel + 1) * PANEL, len(block.users))):
        user, begin, end = block.users[k], block.passed[k], block.passed[k]
        while end < block.ends[k] and block.excluded_places[end] < tile.last:
            place = block.excluded_places[end]
            room.scores[end - begin] = fast_dot(scorer.user32, user, items.vectors, place)
            end += 1
        block.passed[k] = end
        if not _settled(block, k, tile, room, NONE, final, (begin, end), begin):
            _look_closer(scorer, items, block, k, tile, room, begin)


@njit(nogil=True, cache=True)
def _settled(
    block: SingleTargetBlock,
    k: int,
    tile: ItemTile,
    room: Room,
    since: int | np.int64,
    strip: int,
    excluded: tuple[int, int],
    scored: int,
) -> bool:
    """Add the counts after strip ``since`` up to ``strip`` to user k, if they leave nothing open.

    Of the excluded ones ``room.scores`` holds scores, from number ``scored`` on, rounded in
    another way than they were counted: one near the target may have been counted or not.
    """
    panel, lane = k // PANEL, k % PANEL
    own, place = block.own[k], block.places[k]
    high, low = room.bounds[panel, HIGH, lane], room.bounds[panel, LOW, lane]
    above, reached = room.counts[strip, ABOVE, lane], room.counts[strip, REACHED, lane]
    if since >= 0:
        above -= room.counts[since, ABOVE, lane]
        reached -= room.counts[since, REACHED, lane]
    first = tile.first + (since + 1) * STRIP
    last = min(tile.first + (strip + 1) * STRIP, tile.last)
    if last == tile.last:
        above -= tile.zeros * (high < 0)
        reached -= tile.zeros * (low <= 0)
    if reached - above != np.int64(first <= place < last):
        return False
    near = SURE * (np.float64(high) - own)
    for e in range(excluded[0], excluded[1]):
        away = np.float64(room.scores[e - scored]) - own
        if abs(away) <= near:
            return False
        above -= away > 0
    block.better[k] += above
    return True


@njit(nogil=True, cache=True)
def _look_closer(
    scorer: FactorArrays,
    items: ListedItems,
    block: SingleTargetBlock,
    k: int,
    tile: ItemTile,
    room: Room,
    begin: int,
) -> None:
    """Add a tile to user k strip by strip; where something is open, from the scores themselves."""
    user, target, e = block.users[k], block.targets[k], begin
    high, low = room.bounds[k // PANEL, HIGH, k % PANEL], room.bounds[k // PANEL, LOW, k % PANEL]
    for strip in range(-(-(tile.last - tile.first) // STRIP)):
        first = tile.first + strip * STRIP
        last = min(first + STRIP, tile.last)
        start = e
        while e < block.passed[k] and block.excluded_places[e] < last:
            e += 1
        if _settled(block, k, tile, room, strip - 1, strip, (start, e), begin):
            continue
        n = 0
        for place in range(first, last):
            if start < e and block.excluded_places[start] == place:
                start += 1
            elif place != block.places[k]:
                room.rivals[n] = items.names[place]
                n += 1
        more = decide_near(scorer, user, target, room.rivals[:n], low, high, block.ties)
        block.better[k] += more[0]
        block.tied[k] += more[1]
        block.heads[k] += more[2]
