r"""Resamples of users, at a cost that stops growing with their number.

Users are drawn whole, with all their rows. Up to :data:`MOST_DRAWN` of them each is drawn for
itself; beyond, they are dealt into :data:`GROUPS` groups by an addressed hash, and groups are
drawn, as many as there are. A sum over users is a sum over groups, of
:math:`s_g = \sum_{u \in g} v_u`. With users dealt to groups independently and evenly, as by a hash,

.. math::  E\Bigl[\sum_g (s_g - \bar s)^2\Bigr] = \Bigl(1 - \frac1G\Bigr) \sum_u v_u^2,

where the left is the variance of the resampled sum, and users drawn one by one would give it
:math:`\sum_u (v_u - \bar v)^2`. Up to :math:`1/G` the two are the same **for centred values**,
:math:`\sum_u v_u = 0`, and for no others: groups differ in size, so a resample of groups does not
hold as many users as there are, and a sum that is not centred varies with their number too. So no
sum is used by itself. Every value is a ratio of two sums over the same resample, a weighted mean
:math:`\sum_u w_u x_u / \sum_u w_u` or shares of cells; to first order it varies as the sum of
:math:`v_u = w_u (x_u - \mu)`, which is centred at the sample's own mean :math:`\mu`. Standard
errors then stay what they are; their own relative error is :math:`1 / \sqrt{2G}`, .8 %, a third
of what a thousand resamples leave. So a resample costs at most :data:`GROUPS` draws, and what it
adds up is one number per cell and group, not per row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from truerank.arrays import Float, Int
from truerank.rng import Stream, addresses, checked_seed, stream

MOST_DRAWN = 50_000
"""More users than this are drawn in groups."""

GROUPS = 8_192
"""Groups that more users are dealt into."""

TOGETHER = 32
"""Resamples added up at a time: memory, not the result, depends on it."""


@dataclass(frozen=True, slots=True)
class UserResamples:
    """``n_boot`` resamples of users numbered from 0: the same for the same numbers and seed.

    Memory: 8 bytes per user beyond :data:`MOST_DRAWN`, and :data:`TOGETHER` resamples at a time.
    """

    n_users: int
    n_boot: int
    seed: int

    def __post_init__(self) -> None:
        checked_seed(self.seed)

    @property
    def n_groups(self) -> int:
        """How many there are to draw from, and are drawn."""
        return self.n_users if self.n_users <= MOST_DRAWN else GROUPS

    def group(self, user: Int) -> Int:
        """What each of these users is drawn with: its number, or its group."""
        if self.n_users <= MOST_DRAWN:
            return user
        words = addresses(self.seed, Stream.BOOTSTRAP, 0, np.arange(self.n_users))
        return (words % np.uint64(GROUPS)).astype(np.int64)[user]

    def sums(self, row: Int, user: Int, values: Float, n_rows: int) -> Float:
        """Sums of values by ``row``, in every resample: shape ``(n_rows, n_boot)``.

        Of many users, only ratios of them have the right variance (see the module).
        Values are added in one order, by user and size, so the order they come in changes no bit.
        """
        if np.ptp(values) > 0:
            order = np.lexsort((values, user))
            row, user, values = row[order], user[order], values[order]
        by_group = sparse.coo_array(
            (values, (row, self.group(user))), shape=(n_rows, self.n_groups)
        ).tocsr()
        by_group.sort_indices()
        total = np.empty((n_rows, self.n_boot))
        for first in range(0, self.n_boot, TOGETHER):
            last = min(first + TOGETHER, self.n_boot)
            times = np.stack([self._times(b) for b in range(first, last)], axis=1)
            total[:, first:last] = np.asarray(by_group @ times)
        return total

    def _times(self, b: int) -> Float:
        """How often each is drawn in resample b."""
        n = self.n_groups
        drawn = stream(self.seed, Stream.BOOTSTRAP, 1 + b).integers(0, n, n)
        return np.bincount(drawn, minlength=n).astype(np.float64)
