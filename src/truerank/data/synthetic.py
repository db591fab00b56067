r"""The demo data: interactions made up with the traits of real logs.

**Popularity.** Item :math:`i` of rank :math:`r_i` (a random permutation of 0, 1, ...) has weight
:math:`(1 + r_i / hn)^{-3/2}`: flat for the first :math:`hn` items, then falling like Zipf's law.

**Taste.** The items stand on a line in random order, and neighbours are alike. A user has an
endless list of favourite spots on it, drawn by popularity. A candidate comes from a window around
spot :math:`k` of the list with probability :math:`p(1-p)^k`, by popularity within the window. The
window is :math:`1/32` of the line, or :math:`1/32` of that, and so on, at random; or, with
probability ``1 - taste``, the whole line. Every 64 candidates the list moves on by one spot, so
busy users have broader taste.

**Drift.** Items appear over time, half of them before the log begins, and fade: at age
:math:`a` the user takes a candidate with probability :math:`q + (1-q) / (1 + a/f)`. A user joins
at a random time and stays for a part of the log.

**Activity.** A lognormal number of interactions on top of a minimum: the first that many distinct
items the user takes. The vocabularies name all users and items asked for; items of the tail may
have no interaction.

Every draw has an address (seed, purpose, user, number), so a user is the same in any block, and
next to any number of other users.

**Measured** (``benchmarks/demo_traits.py`` prints this; users with 5 interactions or more;
Recall@20 of one random held-out item per user, all items ranked but the user's others; gain is
item-kNN over popularity; drift is the cosine of item counts between the earlier and the later
half of the log, over that of random halves, so 1 is no drift)::

                      demo        ml-100k     movietweetings  lastfm-hetrec  pinterest
                                              -100k                          -37501
    users x items     3000 x 2000 943 x 1682  4692 x 9674     1877 x 17617   37501 x 9826
    density           1.94 %      6.30 %      0.18 %          0.28 %         0.26 %
    Gini              0.65        0.63        0.77            0.73           0.47
    top 1 % of items  12 %        8 %         37 %            32 %           6 %
    top 10 % of items 53 %        43 %        71 %            70 %           32 %
    activity: 5 %     9           21          5               50             18
    25 %              15          33          7               50             20
    50 %              25          65          11              50             23
    75 %              46          148         19              50             29
    95 %              111         311         50              50             41
    99 %              205         443         103             50             51
    drift             0.81        0.94        0.44            -              -
    popularity        0.172       0.193       0.251           0.109          0.015
    item-kNN          0.333       0.403       0.264           0.246          0.166
    EASE              0.404       0.485       -               -              -
    gain              1.9         2.1         1.1             2.3            11.0

Matched: concentration, and what models gain over popularity, to ml-100k (and the gain to
lastfm-hetrec); the spread of activity and drift to lie between ml-100k and movietweetings-100k.
Not matched: pinterest-37501, whose popularity is flatter and whose taste is narrower.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from truerank.arrays import Float, Int, Words
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.rng import Stream, addresses, checked_seed, uniforms

START, DURATION = 1_577_836_800, 2 * 365 * 86_400
"""All happens in the two years from 2020-01-01, in seconds."""

USUAL = 40.0
"""Interactions per user, on average, where nothing else is said."""

_BLOCK = 1 << 16  # interactions made at a time: bounds memory, changes nothing else
_NEXT_SPOT = 64
_LOYALTY = 0.65  # p
_SPOTS = 1 - (1 - _LOYALTY) ** np.arange(1, 32)  # probability of one of the first 1, 2, ... spots
_ZOOM = 32
_NARROWEST = 30  # fewest items in a window
_FADE, _LASTING = 0.1, 0.1  # f, as a share of the log, and q


class Draw(IntEnum):
    """What a random number of the demo data is for. Append only, like :class:`Stream`."""

    RANK = 0
    ORDER = 1
    BIRTH = 2
    ACTIVITY = 3
    JOIN = 4
    STAY = 5
    SPOT = 6
    ITEM = 7
    CHOICE = 8


@dataclass(frozen=True, slots=True)
class SyntheticItems:
    """Items on a line, neighbours alike. Memory: 24 bytes per item.

    Attributes:
        item: Item at each position.
        mass: ``mass[p]``, the popularity of all positions before ``p``, in whole numbers, so that
            the last bit of some processor's division cannot change a draw.
        birth: When each item appears; the log runs from 0 to 1, half of the items are older.
    """

    item: Int
    mass: Int
    birth: Float

    @classmethod
    def make(cls, n_items: int, *, seed: int, head: float) -> SyntheticItems:
        number = np.arange(n_items)
        rank = np.empty(n_items, dtype=np.int64)
        rank[np.argsort(addresses(seed, Stream.DEMO, Draw.RANK, number), kind="stable")] = number
        item = np.argsort(addresses(seed, Stream.DEMO, Draw.ORDER, number), kind="stable")
        fall = 1.0 + rank / (head * n_items)
        weight = np.rint(2.0**32 / (fall * np.sqrt(fall))).astype(np.int64)
        return cls(
            item=item,
            mass=np.concatenate([[0], np.cumsum(weight[item])]),
            birth=2.0 * uniforms(addresses(seed, Stream.DEMO, Draw.BIRTH, number)) - 1.0,
        )

    def widths(self) -> Int:
        """How many positions each window holds: ever fewer, and all of them at last."""
        n = len(self.item)
        widths = [max(n // _ZOOM, min(n, _NARROWEST))]
        while widths[-1] // _ZOOM >= _NARROWEST:
            widths.append(widths[-1] // _ZOOM)
        return np.array([*widths, n])

    def position(self, start: Int, stop: Int, u: Float) -> Int:
        """The position in ``[start, stop)`` that ``u`` in [0, 1) falls on, by popularity."""
        low = self.mass[start]
        at = low + (u * (self.mass[stop] - low)).astype(np.int64)
        return np.searchsorted(self.mass, at, side="right") - 1

    def fresh(self, item: Int, time: Float) -> Float:
        """The share of its popularity that an item has at a time: 0, then 1, then fading."""
        age = time - self.birth[item]
        return np.where(age < 0, 0.0, _LASTING + (1 - _LASTING) / (1 + np.maximum(age, 0) / _FADE))


def generate(
    n_users: int = 3000,
    n_items: int = 2000,
    *,
    seed: int = 0,
    interactions_per_user: float | None = None,
    fewest: int = 5,
    taste: float = 0.9,
    head: float = 0.02,
) -> Interactions:
    """Interactions with timestamps, the same bits for the same arguments.

    Cost: half a second at the default size. A million users and items with 15 interactions a
    user take one minute of one core and 310 MB at the most (the result is 200 MB of it).
    Memory: 40 bytes per item, 24 per user, 12 per interaction, and 50 MB for the block in work.

    Args:
        n_users: Users, all of them in the result.
        n_items: Items in the vocabulary, at least ``4 * fewest``.
        seed: Any other gives other data of the same kind.
        interactions_per_user: Their mean, before the largest of a user is cut to ``n_items // 4``;
            if not given, :data:`USUAL`, or as near as ``fewest`` and a quarter of the items allow.
        fewest: The smallest of a user.
        taste: Share of the candidates that come from the user's favourite spots, from 0 (nothing
            but popularity) to 1.
        head: Share of the items that are about equally popular; small is more concentrated.

    >>> generate(100, 50, interactions_per_user=8)
    Interactions(100 users x 50 items, 713 interactions)
    """
    for name, size in (("n_users", n_users), ("fewest", fewest)):
        if size < 1:
            raise InvalidArgumentError(name, size, "at least 1")
    if n_items < 4 * fewest:
        raise InvalidArgumentError(
            "n_items", n_items, f"at least {4 * fewest}, four times fewest={fewest}"
        )
    mean = interactions_per_user
    if mean is None:
        mean = max(fewest, min(USUAL, n_items / 4))
    if not fewest <= mean <= n_items / 4:
        raise InvalidArgumentError(
            "interactions_per_user", mean, f"from {fewest} to {n_items // 4}"
        )
    if not 0 <= taste <= 1:
        raise InvalidArgumentError("taste", taste, "from 0 to 1")
    if not head > 0:
        raise InvalidArgumentError("head", head, "positive")
    seed = checked_seed(seed)
    items = SyntheticItems.make(n_items, seed=seed, head=head)
    wanted = _activity(n_users, seed=seed, mean=mean, fewest=fewest)
    wanted = np.minimum(wanted, n_items // 4)
    indptr = np.concatenate([[0], np.cumsum(wanted)])
    indices = np.empty(indptr[-1], dtype=np.int32)
    timestamps = np.empty(indptr[-1], dtype=np.int64)
    first = 0
    while first < n_users:
        last = max(first + 1, int(np.searchsorted(indptr, indptr[first] + _BLOCK)) - 1)
        users = np.arange(first, min(last, n_users))
        part = slice(indptr[users[0]], indptr[users[-1] + 1])
        indices[part], timestamps[part] = _choose(
            users, wanted[users], items, seed=seed, taste=taste
        )
        first = int(users[-1]) + 1
    return Interactions(
        indptr=indptr,
        indices=indices,
        user_ids=np.arange(n_users),
        item_ids=np.arange(n_items),
        timestamps=timestamps,
    )


def _activity(n_users: int, *, seed: int, mean: float, fewest: int) -> Int:
    """Interactions per user: ``fewest`` and a lognormal part with a standard deviation of 1."""
    u = uniforms(addresses(seed, Stream.DEMO, Draw.ACTIVITY, np.arange(n_users)))
    z = ndtri(np.maximum(u, 2.0**-54))
    more = (mean - fewest) * np.exp(z - 0.5)
    return fewest + np.floor(more + 0.5).astype(np.int64)


def _choose(
    users: Int, wanted: Int, items: SyntheticItems, *, seed: int, taste: float
) -> tuple[NDArray[np.int32], Int]:
    """Items and times of these users: the first ``wanted`` new ones of their candidates.

    A user's candidates are an endless list addressed by (user, number); it is read in pieces
    until everybody has enough, and how long the pieces are does not matter.
    """
    n_items = len(items.item)
    join = uniforms(addresses(seed, Stream.DEMO, Draw.JOIN, users))
    stay = uniforms(addresses(seed, Stream.DEMO, Draw.STAY, users))
    stay = np.minimum(1 - join, 0.02 + 0.3 * stay * stay)
    read = np.zeros(len(users), dtype=np.int64)
    found = np.zeros(len(users), dtype=np.int64)
    pair = number = np.empty(0, dtype=np.int64)
    time = np.empty(0, dtype=np.float64)
    while (missing := np.flatnonzero(found < wanted)).size:
        more = 3 * (wanted - found)[missing] + 16
        who = np.repeat(missing, more)
        begin = np.cumsum(more) - more
        nth = np.arange(len(who)) - np.repeat(begin - read[missing], more)
        read[missing] += more
        word = addresses(seed, Stream.DEMO, Draw.CHOICE, users[who], nth)
        u = uniforms(addresses(seed, Stream.DEMO, Draw.ITEM, users[who], nth))
        item = _items(users[who], nth, word, u, items, seed=seed, taste=taste)
        when = join[who] + stay[who] * _bits(word, 24, 24)
        taken = _bits(word, 48, 16) < items.fresh(item, when)
        tired = nth >= 16 * wanted[who] + 256  # all in reach is taken: from now on anything goes
        item = np.where(tired, (u * n_items).astype(np.int64), item)
        taken |= tired
        pair = np.concatenate([pair, (who * n_items + item)[taken]])
        number = np.concatenate([number, nth[taken]])
        time = np.concatenate([time, when[taken]])
        # Pairs from before come first and a stable sort keeps them, so no choice is taken back.
        pair, at = np.unique(pair, return_index=True)
        number, time = number[at], time[at]
        found = np.bincount(pair // n_items, minlength=len(users))
    who = pair // n_items
    order = np.lexsort((number, who))
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(found) - found, found)
    keep = place < wanted[who]
    seconds = START + (time[keep] * DURATION).astype(np.int64)
    return (pair[keep] % n_items).astype(np.int32), seconds


def _items(
    user: Int, nth: Int, word: Words, u: Float, items: SyntheticItems, *, seed: int, taste: float
) -> Int:
    """The item of the user's ``nth`` candidate: a spot, a window around it, a place therein."""
    spot = nth // _NEXT_SPOT + np.searchsorted(_SPOTS, _bits(word, 12, 12), side="right")
    spot_u = uniforms(addresses(seed, Stream.DEMO, Draw.SPOT, user, spot))
    n = len(items.item)
    centre = items.position(np.zeros_like(user), np.full_like(user, n), spot_u)
    widths = items.widths()
    last = len(widths) - 1
    u_level = _bits(word, 0, 12)  # below `taste` it falls evenly on the windows, above on the line
    level = np.where(u_level < taste, u_level / max(taste, 2.0**-12) * last, last)
    width = widths[level.astype(np.int64)]
    start = np.clip(centre - width // 2, 0, n - width)
    return items.item[items.position(start, start + width, u)]


def _bits(words: Words, shift: int, n: int) -> Float:
    """``n`` bits of each word as a number in [0, 1)."""
    return ((words >> np.uint64(shift)) & np.uint64((1 << n) - 1)).astype(np.float64) * 2.0**-n
