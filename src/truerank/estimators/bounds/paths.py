r"""How an adaptive sample comes to stop where it does: P(the row ends here | it is here).

A row grows its sample through levels of sizes :math:`n_0 < n_1 < \dots`; from level :math:`l` it
goes on with probability :math:`g_l(r)`: 1 if its rank is below ``go_on[l]``, ``keep[l]`` if it is
``go_on[l]``, else 0. Samples are nested, and the order of the draws is exchangeable, with and
without replacement. So given that :math:`x'` of the first :math:`n_{l+1} - 1` rivals are better,
the number :math:`x` among the first :math:`n_l - 1` of them is hypergeometric, whatever the
global rank :math:`R`, and

.. math::
    q_0(x) = 1, \qquad
    q_{l+1}(x') = \sum_x q_l(x)\, g_l(x + 1)\,
    \mathrm{Hyp}(x \mid n_{l+1} - 1, x', n_l - 1)

is the probability to have reached level :math:`l`. A row ends in cell :math:`(r, n_l)` with

.. math::  P(r, n_l \mid R) = \mathrm{path}_l(r)\, P(r \mid R, n_l), \qquad
           \mathrm{path}_l(r) = q_l(r - 1)\,(1 - g_l(r));

the last level, and a sample that holds every candidate, always stops. Over the cells these sum
to one for each :math:`R`. The factor does not depend on :math:`R`, which is why estimators by
likelihood may ignore it; an identification bound, which needs P(cell) itself, may not.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from truerank.arrays import Float, Int
from truerank.errors import InvalidDataError
from truerank.ranking.counts import RankCounts
from truerank.ranking.designs import Levels


def capped(levels: Levels, n_items: int, *, replacement: bool) -> Levels:
    """The levels that a row with ``n_items`` candidates can reach; the last one stops."""
    most = max(n_items - 1, 2) if replacement else n_items  # repeated draws are never exact
    enough = np.flatnonzero(levels.sizes >= most)
    last = int(enough[0]) if len(enough) else len(levels.sizes) - 1
    go_on = levels.go_on[: last + 1].copy()
    go_on[-1] = 0
    return Levels(np.minimum(levels.sizes[: last + 1], most), go_on, levels.keep[: last + 1])


def stopping(levels: Levels, level: int, ranks: Int) -> Float:
    """path(r) at one level, for the given sampled ranks; ``levels`` as :func:`capped` them.

    >>> two = Levels(np.array([3, 5]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> stopping(two, 0, np.array([1, 2, 3])).tolist()  # the first goes on, the others end here
    [0.0, 1.0, 1.0]
    >>> stopping(two, 1, np.array([1, 2, 3])).round(4).tolist()  # 1, C(3,2)/C(4,2), C(2,2)/C(4,2)
    [1.0, 0.5, 0.1667]
    """
    return reached(levels, level, ranks - 1) * (1.0 - goes_on(levels, level, ranks))


def goes_on(levels: Levels, level: int, ranks: Int) -> Float:
    """g(r): the probability to go on from a level with a sampled rank."""
    last = levels.go_on[level]
    return np.where(ranks < last, 1.0, np.where(ranks == last, levels.keep[level], 0.0))


def paths_for(levels: Levels, cells: RankCounts, *, replacement: bool) -> Float:
    """path(cell) for each cell. ``levels`` are those of the largest number of candidates."""
    paths = np.empty(len(cells))
    # A path depends on the levels up to its end only: rows with other candidates share it.
    alike: dict[tuple[bytes, bool], tuple[Levels, int, list[Int]]] = {}
    for n, n_items, run in cells.sizes():
        own = capped(levels, n_items, replacement=replacement)
        at = np.flatnonzero(own.sizes == n)
        if len(at) == 0:
            raise InvalidDataError(
                f"a row has sample size {n}, where the design cannot end (its sizes: "
                f"{', '.join(map(str, own.sizes))}); pass the design of this table"
            )
        level = int(at[0])
        key = own.sizes[: level + 1].tobytes(), level == len(own.sizes) - 1
        alike.setdefault(key, (own, level, []))[2].append(np.arange(run.start, run.stop))
    for own, level, runs in alike.values():
        rows = np.concatenate(runs)
        paths[rows] = stopping(own, level, cells.rank[rows])
    return paths


def reached(levels: Levels, level: int, better: Int) -> Float:
    """P(a row gets to this level) for these numbers of better rivals; falls with them."""
    if level == 0:
        return np.ones(len(better))
    x = np.arange(min(levels.go_on[level - 1], levels.sizes[level - 1]))
    if len(x) == 0:
        return np.zeros(len(better))
    before = reached(levels, level - 1, x) * goes_on(levels, level - 1, x + 1)
    total, drawn = levels.sizes[level] - 1, levels.sizes[level - 1] - 1
    return np.asarray(_hypergeometric(x[None, :], total, better[:, None], drawn) @ before)


def _hypergeometric(x: Int, total: int, good: Int, drawn: int) -> Float:
    """P(x of the good ones are among the first ``drawn`` of ``total``)."""
    possible = (x <= good) & (drawn - x <= total - good)
    log = _log_choose(good, x) + _log_choose(total - good, drawn - x)
    log -= _log_choose(np.asarray(total), np.asarray(drawn))
    return np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)


def _log_choose(a: Int, b: Int) -> Float:
    a, b = np.maximum(a, 0), np.clip(b, 0, np.maximum(a, 0))
    return np.asarray(
        special.gammaln(a + 1.0) - special.gammaln(b + 1.0) - special.gammaln(a - b + 1.0)
    )
