"""Users dealt into blocks by a hash of their ids: the same wherever and with whomever they are."""

from __future__ import annotations

import zlib

import numpy as np

from truerank.arrays import Ids, Int, Words
from truerank.rng import Stream, addresses

BUCKETS = 200
"""Blocks that users of counts are dealt into; standard errors by them are right to 5 %."""

BLOCKS = 100
"""Blocks of users who share their rivals, half as many: products of larger blocks are faster."""


def user_blocks(users: Ids, n_blocks: int = BUCKETS) -> Int:
    """The block of each user id, from 0 to ``n_blocks - 1``."""
    return (_words(users) % np.uint64(n_blocks)).astype(np.int64)


def blocks_for(n_users: int, together: int) -> int:
    """How many blocks hold about ``together`` of so many users each.

    A divisor of :data:`BUCKETS` or a multiple, so that buckets of counts are made of whole blocks,
    or the other way round.

    >>> blocks_for(30_000, 256), blocks_for(1_000, 256), blocks_for(10**6, 256)
    (100, 4, 4000)
    """
    wanted = max(1.0, n_users / together)
    divisors = [d for d in range(1, BUCKETS) if BUCKETS % d == 0]
    multiples = [BUCKETS * m for m in (1, max(1, int(wanted / BUCKETS)), int(wanted / BUCKETS) + 1)]
    return min([*divisors, *multiples], key=lambda n: abs(np.log(n / wanted)))


def _words(users: Ids) -> Words:
    if users.dtype.kind in "iu":
        return addresses(0, Stream.BOOTSTRAP, BUCKETS, users.astype(np.int64).view(np.uint64))
    return np.array([zlib.crc32(str(user).encode()) for user in users], np.uint64)
