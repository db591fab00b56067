"""Tests of two models on the same users, by resampling. Both are two-sided.

Every 32 resamples draw from an address of their own, (seed, purpose, group of 32). So the p-value
has the same bits whatever runs beside it and in which order, and a longer run continues a shorter
one. Resamples are drawn in blocks of up to 2^18 numbers, one resample at least; the size of a
block changes memory and time, not the result. Memory: about 20 MB and 50 bytes per user, whatever
the number of resamples.

Where many users share a difference, as with any metric of one held-out item, a resample only
draws how many users of each difference there are. Its cost then does not grow with the users.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from truerank.arrays import Float
from truerank.checks import whole_number
from truerank.comparison.outcome import Outcome, joined
from truerank.comparison.paired_tests import constant_difference, few_differ, outcome_of, undecided
from truerank.comparison.values import Pairs
from truerank.rng import Stream, checked_seed, stream

Draw = Callable[[np.random.Generator, int], Float]
"""Draws this many resamples: one column of numbers for each. Two calls give what one would."""

N_RESAMPLES = 9_999
"""With the sample itself ten thousand, so that p is a multiple of 0.0001."""

FEWEST = 19
"""With fewer resamples than this, p could not reach 0.05."""

ENUMERATE_TO = 20
"""With at most this many users that differ, all sign patterns are gone through: 2^20, 8 MB."""

SHARED = 8
"""Differences are counted rather than listed where this many users share one, on average."""

TOGETHER = 32
"""Resamples that share an address. Changing it changes published results."""

BLOCK = 2**18
"""Numbers drawn at a time, if one resample does not need more."""

SIGNS = 1
"""Last part of the address of sign flips; the bootstrap's addresses end before it."""

NEARLY = 1e-12
"""A resample this close to the sample, relatively, is as extreme as the sample: rounding."""


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    weight: ArrayLike | None = None,
) -> Outcome:
    r"""The studentised bootstrap test of the mean difference.

    Users are drawn with replacement, with both models' values (and weight). Each resample r of
    them has a mean :math:`m_r` and a standard error :math:`\mathrm{SE}_r`, and

    .. math::
        t = \frac{m}{\mathrm{SE}}, \quad t_r = \frac{m_r - m}{\mathrm{SE}_r}, \qquad
        p = \frac{1 + \#\{r : |t_r| \ge |t|\}}{1 + \#\{r\}}

    [efron1993]_, with the 1 of [phipson2010]_: the sample is one of its own resamples, so p is
    never 0. A resample without spread counts as extreme. Valid where users are independent;
    dividing by the standard error makes it better than comparing means where users are few or
    differences skewed. See :class:`~truerank.comparison.values.Pairs` for m and SE.

    Time: 9,999 resamples of a million users take 0.1 s where users share differences, as with
    one held-out item; where all differ in their own way, 16 ms a resample.

    Args:
        a: Value of each user under the first model.
        b: Value of the same users, in the same order, under the second.
        n_resamples: Resamples, at least 19.
        seed: Seed of the resamples.
        weight: Weight of each user; it travels with the user.

    Returns:
        The statistic is t; the standard error is the standard deviation of :math:`m_r`; the
        effect size is Cohen's d_z.
    """
    pairs = Pairs.of(a, b, weight)
    n_resamples = _checked_resamples(n_resamples)
    checked_seed(seed)
    if pairs.why_undecided:
        return undecided("bootstrap", pairs)
    m = pairs.mean
    if pairs.constant:
        p, note = constant_difference(pairs.n)
        p = max(p, 1 / (1 + n_resamples))
        t, error = math.copysign(math.inf, m), 0.0
    else:
        t = m / pairs.std_error
        means, errors = _drawn(*_resampler(pairs, m), n_resamples, seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            less = np.abs(means) / errors < abs(t) * (1 - NEARLY)
        hits = n_resamples - int(less.sum())  # so that one without spread is a hit
        p, error = (1 + hits) / (1 + n_resamples), float(means.std(ddof=1))
        note = joined(_at_the_floor(hits, n_resamples), few_differ(pairs))
    return replace(outcome_of("bootstrap", pairs, t, p, pairs.d_z, note), std_error=error)


def permutation(
    a: ArrayLike, b: ArrayLike, *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> Outcome:
    r"""Fisher's randomisation test: were the two models' names drawn by a coin for each user?

    If the models are interchangeable, each difference is as likely to have the opposite sign.
    With the mean :math:`m_r` under random signs r,

    .. math::  p = \frac{1 + \#\{r : |m_r| \ge |m|\}}{1 + \#\{r\}}

    which is never 0 [phipson2010]_. Where at most 20 users differ, p is exact instead: the share
    of all sign patterns that are as extreme. Valid for any number of users and any values; its
    null is that models are interchangeable user by user, a little more than equal means.

    Time: 9,999 resamples of a million users take 0.1 s where users share differences, as with
    one held-out item; where all differ in their own way, 3 ms a resample.

    Args:
        a: Value of each user under the first model.
        b: Value of the same users, in the same order, under the second.
        n_resamples: Random sign patterns, at least 19; not used where p is exact.
        seed: Seed of the patterns.

    Returns:
        The statistic is the mean difference; the effect size is Cohen's d_z.

    >>> permutation([3, 5, 4, 9, 7], [1, 2, 0, 8, 7]).p_value
    0.125
    """
    pairs = Pairs.of(a, b)
    n_resamples = _checked_resamples(n_resamples)
    checked_seed(seed)
    if pairs.why_undecided:
        return undecided("permutation", pairs)
    d = pairs.differing
    size = np.abs(d)
    enough = abs(float(d.sum())) - NEARLY * float(size.sum())
    if len(d) <= ENUMERATE_TO:
        sums = np.zeros(1)
        for one in size:
            sums = np.concatenate((sums + one, sums - one))
        p = float((np.abs(sums) >= enough).mean())
        note = f"exact: only {len(d)} users differ"
    else:
        (sums,) = _drawn(*_signed_sum(size), n_resamples, seed, SIGNS)
        hits = int((np.abs(sums) >= enough).sum())
        p, note = (1 + hits) / (1 + n_resamples), _at_the_floor(hits, n_resamples)
    return outcome_of("permutation", pairs, pairs.mean, p, pairs.d_z, note)


def _drawn(draw: Draw, width: int, n_resamples: int, seed: int, *key: int) -> Float:
    """What ``draw`` gives for each resample, in columns; each needs ``width`` numbers."""
    most = max(1, BLOCK // width)
    parts = []
    for first in range(0, n_resamples, TOGETHER):
        generator = stream(seed, Stream.BOOTSTRAP, 1 + first // TOGETHER, *key)
        last = min(first + TOGETHER, n_resamples)
        parts += [draw(generator, min(most, last - r)) for r in range(first, last, most)]
    return np.concatenate(parts, axis=1)


def _resampler(pairs: Pairs, m: float) -> tuple[Draw, int]:
    """How to draw users with replacement: their mean less m, and its standard error."""
    e, w, n = pairs.difference - m, pairs.weight, pairs.n
    values, counts = np.unique(e, return_counts=True)
    equal = bool(np.ptp(w) == 0)
    if equal and len(values) * SHARED <= n:

        def by_counts(generator: np.random.Generator, k: int) -> Float:
            times = generator.multinomial(n, counts / n, size=k)
            mean = (times * values).sum(axis=1) / n
            squares = (times * (values - mean[:, None]) ** 2).sum(axis=1)
            return np.stack([mean, np.sqrt(squares / (n - 1) / n)])

        return by_counts, len(values)

    def by_users(generator: np.random.Generator, k: int) -> Float:
        who = generator.integers(0, n, (k, n))
        x, v = e.take(who), w[None] if equal else w.take(who)
        total = v.sum(axis=1)
        mean = (v * x).sum(axis=1) / total
        squares = ((v * (x - mean[:, None])) ** 2).sum(axis=1)
        return np.stack([mean, np.sqrt(squares * n / (n - 1)) / total])

    return by_users, n


def _signed_sum(size: Float) -> tuple[Draw, int]:
    """How to draw the sum of all sizes with random signs: 2 * (sum of the positive) - sum."""
    values, counts = np.unique(size, return_counts=True)
    n, total = len(size), float(size.sum())
    if len(values) * SHARED <= n:

        def by_counts(generator: np.random.Generator, k: int) -> Float:
            positive = generator.binomial(counts, 0.5, size=(k, len(counts)))
            return np.asarray(2 * (positive * values).sum(axis=1, keepdims=True).T - total)

        return by_counts, len(values)

    def by_coins(generator: np.random.Generator, k: int) -> Float:
        words = generator.integers(0, 2**64, (k, (n + 63) // 64), dtype=np.uint64)
        coins = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=n)
        # Not a BLAS product: its rounding depends on the number of threads.
        return np.asarray(2 * (coins * size).sum(axis=1, keepdims=True).T - total)

    return by_coins, n


def _at_the_floor(hits: int, n_resamples: int) -> str:
    if hits:
        return ""
    return f"none of {n_resamples:,} resamples is as extreme: p is at most this"


def _checked_resamples(n_resamples: int) -> int:
    why = "with fewer, p could not reach 0.05"
    return whole_number("n_resamples", n_resamples, FEWEST, hint=why)
