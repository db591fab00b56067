"""The items of :mod:`truerank.data.synthetic`: how popular, beside which others, since when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from truerank.arrays import Float, Int
from truerank.rng import Stream, addresses, uniforms

_ZOOM = 32
_NARROWEST = 30  # fewest items in a window
_FADE, _LASTING = 0.1, 0.1  # f, as a share of the log, and q


class Draw(IntEnum):
    """What a random number of the demo data is for. Append only, like :class:`Stream`."""

    RANK = 0
    SHELF = 1
    BIRTH = 2
    ACTIVITY = 3
    JOIN = 4
    STAY = 5
    SPOT = 6
    ITEM = 7
    CHOICE = 8


@dataclass(frozen=True, slots=True)
class Shelf:
    """Items on a shelf, neighbours alike. Memory: 24 bytes per item.

    Attributes:
        item: Item at each place.
        mass: ``mass[p]``, the popularity of all places before ``p``, in whole numbers, so that
            the last bit of some processor's division cannot change a draw.
        birth: When each item appears; the log runs from 0 to 1, half of the items are older.
    """

    item: Int
    mass: Int
    birth: Float

    @classmethod
    def make(cls, n_items: int, *, seed: int, head: float) -> Shelf:
        number = np.arange(n_items)
        rank = np.empty(n_items, dtype=np.int64)
        rank[np.argsort(addresses(seed, Stream.DEMO, Draw.RANK, number), kind="stable")] = number
        item = np.argsort(addresses(seed, Stream.DEMO, Draw.SHELF, number), kind="stable")
        fall = 1.0 + rank / (head * n_items)
        weight = np.rint(2.0**32 / (fall * np.sqrt(fall))).astype(np.int64)
        return cls(
            item=item,
            mass=np.concatenate([[0], np.cumsum(weight[item])]),
            birth=2.0 * uniforms(addresses(seed, Stream.DEMO, Draw.BIRTH, number)) - 1.0,
        )

    def widths(self) -> Int:
        """How many places each window holds: ever fewer, and all of them at last."""
        n = len(self.item)
        widths = [max(n // _ZOOM, min(n, _NARROWEST))]
        while widths[-1] // _ZOOM >= _NARROWEST:
            widths.append(widths[-1] // _ZOOM)
        return np.array([*widths, n])

    def place(self, start: Int, stop: Int, u: Float) -> Int:
        """The place in ``[start, stop)`` that ``u`` in [0, 1) falls on, by popularity."""
        low = self.mass[start]
        at = low + (u * (self.mass[stop] - low)).astype(np.int64)
        return np.searchsorted(self.mass, at, side="right") - 1

    def fresh(self, item: Int, time: Float) -> Float:
        """The share of its popularity that an item has at a time: 0, then 1, then fading."""
        age = time - self.birth[item]
        return np.where(age < 0, 0.0, _LASTING + (1 - _LASTING) / (1 + np.maximum(age, 0) / _FADE))
