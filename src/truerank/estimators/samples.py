"""``prepare``: the one sample that estimates, comparisons, curves, diagnostics and studies share.

Rows are grouped into cells once, the likelihood of the cells is built once, and every weighting of
the rows is fitted once by a method; whoever asks again gets what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float, Int
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.bounds.ceiling import suspicions_about
from truerank.estimators.bounds.identification import CompatibleSet, compatible_set
from truerank.estimators.cells import cells_of
from truerank.estimators.problem import DistributionEstimator, Estimator, Problem
from truerank.estimators.resampling import UserResamples
from truerank.metrics import Metric
from truerank.ranking.counts import RankCounts
from truerank.ranking.table import RankTable
from truerank.ranking.user_blocks import user_blocks
from truerank.rng import Stream, checked_seed, stream

NO_BUCKETS = (
    "these counts have users with several held-out items and no buckets of users, or one for "
    "all, so no standard error can be given; count them with a bucket, as docs/counts.md shows"
)


@dataclass(frozen=True, eq=False)
class Sample:
    """Ranks prepared for any estimator: who contributed what to which cell. See :func:`prepare`.

    An entry is a row of a table, or one of counts, which stands for several.

    Attributes:
        ranks: The table or the counts, without what weighs nothing.
        user: Number of each entry's user, from 0, or of its bucket; None if not known.
        n_users: Users.
        n_targets: Held-out items of each entry's user.
        weight: Weight of each entry.
        worth: Rows of equal weight that each entry's weight is worth: 1 for a row.
        block: Number of the block of users that shares its rivals; None where nobody does.
        common: Whether all tables of a comparison are resampled by these blocks, so that resamples
            belong together whatever depends on shared rivals.
    """

    ranks: RankTable | RankCounts
    user: Int | None
    n_users: int
    n_targets: Int
    weight: Float
    worth: Float
    block: Int | None = None
    common: bool = False
    _weightings: list[Weighting] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, ranks: RankTable | RankCounts) -> Sample:
        """Number the users. Memory: about 30 bytes per row."""
        what = "table has" if isinstance(ranks, RankTable) else "counts have"
        if len(ranks) == 0:
            raise InvalidDataError(f"the {what} no rows: there is nothing to estimate from")
        if not ranks.weight.sum() > 0:
            raise InvalidDataError("all weights are zero: there is nothing to estimate from")
        if isinstance(ranks, RankCounts):
            some = ranks.weight > 0
            worth = ranks.n_rows.astype(np.float64)
            worth[some] = ranks.weight[some] ** 2 / ranks.squared_weight[some]
            bucket = _occupied(ranks)
            block = bucket if blocks_sharing(ranks) else None
            return cls(ranks, bucket, ranks.n_users, ranks.n_targets, ranks.weight, worth, block)
        user = _numbered(ranks.user)
        n_users = int(user.max()) + 1
        one = np.broadcast_to(np.int64(1), len(user))  # takes no memory
        n_targets = one if n_users == len(user) else np.bincount(user)[user]
        worth = np.broadcast_to(np.float64(1), len(user))
        return cls(ranks, user, n_users, n_targets, ranks.weight, worth, _blocks(ranks))

    # ---------------------------------------------------------------- what is made once

    @cached_property
    def _grouped(self) -> tuple[RankCounts, Int]:
        ranks = self.ranks
        n_rows = ranks.n_rows if isinstance(ranks, RankCounts) else None
        return cells_of(
            ranks.rank, ranks.n_sampled, ranks.n_items, ranks.weight,
            replacement=ranks.header.replacement, n_rows=n_rows,
        )  # fmt: skip

    @property
    def cells(self) -> RankCounts:
        """Distinct observations."""
        return self._grouped[0]

    @property
    def cell(self) -> Int:
        """Cell of each entry."""
        return self._grouped[1]

    @cached_property
    def problem(self) -> Problem:
        """Cells, grid and likelihood; how many rows there are depends on the weighting."""
        return Problem.of(self.cells, n_rows=float(self.n_users))

    @cached_property
    def exact(self) -> bool:
        """Whether every rank is the one among all candidates."""
        return self.ranks.all_exact

    @cached_property
    def suspicions(self) -> tuple[str, ...]:
        """Why ranks made elsewhere can hardly be what they are said to be; mostly nothing."""
        return suspicions_about(self.ranks)

    def weighting(self, row_weights: Float) -> Weighting:
        """What is fitted to rows of these weights; the same object for the same weights."""
        for known in self._weightings:
            if np.array_equal(known.row_weights, row_weights):
                return known
        self._weightings.append(Weighting(self, row_weights))
        return self._weightings[-1]

    @property
    def by_user(self) -> Weighting:
        """Every user counts alike, or by weight, and each of a user's rows the same."""
        return self.weighting(np.asarray(self.weight / self.n_targets))

    # ---------------------------------------------------------------- weights

    def row_weights(self, metric: Metric) -> Float:
        """Weight of each entry in this metric: its own times the metric's."""
        if self.one_row_each:
            own = metric.row_weight(self.n_targets[:1])[0]
            if np.ptp(self.weight) == 0:
                return np.broadcast_to(self.weight[0] * own, len(self.weight))
            return np.asarray(self.weight * own)
        return np.asarray(self.weight * metric.row_weight(self.n_targets))

    @cached_property
    def one_row_each(self) -> bool:
        """Whether every user has one row."""
        return int(self.n_targets.max()) == 1

    @property
    def total(self) -> float:
        """What a sum over rows is divided by: users, or their weight."""
        return _sum(np.asarray(self.weight / self.n_targets))

    @property
    def n_scored(self) -> float:
        """Items scored per row, rows by their weight."""
        weight = np.maximum(self.weight, 1e-300)
        scored: NDArray[Any] = self.ranks.n_scored
        if isinstance(self.ranks, RankCounts):
            scored = scored / self.ranks.n_rows
        return float(np.average(scored, weights=weight))

    def effective_rows(self, row_weights: Float) -> float:
        """Rows that equal weights would need for the same information."""
        return _sum(row_weights) ** 2 / _sum(np.asarray(row_weights**2 / self.worth))

    @cached_property
    def design_effect(self) -> float:
        r"""How many times the variance of shares of ranks grows because blocks share their rivals.

        Of the shares of rows of rank 1, 2, 4, ... 32 or better, the largest ratio of
        :math:`\sum_b (\sum_{i \in b} (z_i - \bar z))^2` to :math:`\sum_i (z_i - \bar z)^2`;
        at least 1, which it is where nothing is shared.
        """
        if self.block is None:
            return 1.0
        weight, ratios = self.weight / self.n_targets, [1.0]
        for most in (1, 2, 4, 8, 16, 32):
            above = (self.ranks.rank <= most).astype(np.float64)
            off = weight * (above - np.average(above, weights=weight))
            alone = float(off @ off)
            if alone > 0:
                together = np.bincount(self.block, off)
                ratios.append(float(together @ together) / alone)
        return max(ratios)

    # ---------------------------------------------------------------- shares

    def shares(
        self, row_weights: Float, *, n_boot: int, seed: int, paired: bool = False
    ) -> tuple[Float, Float]:
        """Shares of the cells, column 0 the sample and the others resamples of its users.

        Also the factor of each column from shares to values: total row weight over
        :attr:`total`. Users are resampled whole, with all their rows; ``paired`` draws them by
        their number, so that tables of the same users get the same resamples.
        """
        checked_seed(seed)
        columns = np.empty((len(self.cells), n_boot + 1))
        columns[:, 0] = self._by_cell(row_weights)
        factors = np.full(n_boot + 1, columns[:, 0].sum() / self.total)
        alone = self.block is None and not paired
        if n_boot and alone and self.one_row_each and self._equal(row_weights):
            # Only the counts of the cells matter.
            p = columns[:, 0] / columns[:, 0].sum()
            for b in range(1, n_boot + 1):
                columns[:, b] = stream(seed, Stream.BOOTSTRAP, b).multinomial(self.n_users, p)
        elif n_boot and self.user is None:
            for b in range(1, n_boot + 1):
                weights = self._drawn_weights(b, seed)
                columns[:, b] = np.bincount(self.cell, weights, len(self.cells))
        elif n_boot:
            user = self._resampled(paired=paired) if self.block is None else self.block
            drawn = UserResamples(self.n_units, n_boot, seed)
            columns[:, 1:] = drawn.sums(self.cell, user, row_weights, len(self.cells))
            if not (self.one_row_each and np.ptp(self.weight) == 0):
                everything = np.zeros(len(user), np.int64)
                each = np.asarray(self.weight / self.n_targets)
                factors[1:] = columns[:, 1:].sum(axis=0) / drawn.sums(everything, user, each, 1)[0]
        return columns / columns.sum(axis=0), factors

    def resampled_means(
        self, values: Float, row_weights: Float, *, n_boot: int, seed: int
    ) -> Float:
        """Of a value of each entry: the mean over users, then that of each resample.

        Nothing is kept per cell and resample, so exact ranks may be as many as they like.
        """
        checked_seed(seed)
        found = np.empty(n_boot + 1)
        found[0] = _sum(row_weights * values) / self.total
        user = self.block if self.common else self.user
        if n_boot and user is not None:
            one = np.zeros(len(user), np.int64)
            drawn = UserResamples(self.n_units if self.common else self.n_known, n_boot, seed)
            each = np.asarray(self.weight / self.n_targets)
            sums = drawn.sums(one, user, row_weights * values, 1)[0]
            found[1:] = sums / drawn.sums(one, user, each, 1)[0]
        elif n_boot:
            own = row_weights[0] / self.weight[0]  # one row a user: the same for all
            for b in range(1, n_boot + 1):
                drawn_weight = self._drawn_weights(b, seed)
                found[b] = own * float(drawn_weight @ values) / float(drawn_weight.sum())
        return found

    @property
    def resamples(self) -> bool:
        """Whether there is anything to resample: all but counts of shared users without buckets."""
        return self.user is not None or self.one_row_each

    @property
    def n_units(self) -> int:
        """Of what is resampled whole: users, or the blocks or buckets that hold them."""
        return self.n_known if self.block is None else int(self.block.max()) + 1

    @property
    def n_known(self) -> int:
        """Users, or the buckets that hold them."""
        if isinstance(self.ranks, RankCounts) and self.user is not None:
            return int(self.user.max()) + 1
        return self.n_users

    def _resampled(self, *, paired: bool) -> Int:
        if paired and isinstance(self.ranks, RankCounts):
            raise InvalidArgumentError(
                "paired", True, "False for counts, which do not know their users",
                "compare tables of ranks instead",
            )  # fmt: skip
        if self.user is None:
            raise InvalidDataError(NO_BUCKETS)
        return self.user

    def _drawn_weights(self, b: int, seed: int) -> Float:
        r"""Weights of the entries of counts in resample b, one row a user.

        Rows are multinomial. Of k rows that are :math:`\bar w` heavy on average, with a spread of
        :math:`s`, the weight is drawn from the gamma distribution of mean :math:`k \bar w` and
        variance :math:`k s^2`.
        """
        counts = self.ranks
        if not isinstance(counts, RankCounts) or not self.one_row_each:
            raise InvalidDataError(NO_BUCKETS)
        own = stream(seed, Stream.BOOTSTRAP, b)
        rows = own.multinomial(self.n_users, counts.n_rows / counts.n_rows.sum())
        mean = self.weight / counts.n_rows
        spread = np.maximum(counts.squared_weight / counts.n_rows - mean**2, 0.0)
        drawn = rows * mean
        varied = (spread > 1e-9 * mean**2) & (rows > 0)
        ratio = spread[varied] / mean[varied]
        drawn[varied] = own.gamma(rows[varied] * mean[varied] / ratio, ratio)
        return np.asarray(drawn, dtype=np.float64)

    def _equal(self, row_weights: Float) -> bool:
        """Whether all rows weigh the same, as far as sums and squares can tell."""
        if not isinstance(self.ranks, RankCounts):
            return bool(np.ptp(row_weights) == 0)
        each = row_weights / self.ranks.n_rows
        worth = np.abs(self.worth - self.ranks.n_rows)
        same = np.ptp(each) <= 1e-12 * each.max()
        return bool(same) and bool((worth <= 1e-9 * self.ranks.n_rows).all())

    def _by_cell(self, row_weights: Float) -> Float:
        """Total of the weights in each cell, whatever the order of the rows."""
        cell = self.cell
        if np.ptp(row_weights) > 0:
            order = np.lexsort((row_weights, cell))
            cell, row_weights = cell[order], row_weights[order]
        return np.bincount(cell, row_weights, len(self.cells)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Weighting:
    """One weighting of a sample's rows, and all that was fitted to it.

    Metrics that weigh the rows alike share it; with one held-out item a user, all do. Memory: 8
    bytes per bin and resample, for each method.
    """

    sample: Sample = field(repr=False)
    row_weights: Float
    _masses: dict[Any, Float] = field(default_factory=dict, init=False, repr=False)
    _sets: dict[Any, CompatibleSet] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def problem(self) -> Problem:
        """Cells, grid and likelihood, with the number of rows that these weights are worth."""
        n_rows = self.sample.effective_rows(self.row_weights)
        return replace(self.sample.problem, n_rows=n_rows, fits={})

    @cached_property
    def own_shares(self) -> Float:
        """Shares of the cells."""
        return self.sample.shares(self.row_weights, n_boot=0, seed=0)[0][:, 0]

    def values(
        self, estimator: Estimator, metrics: Sequence[Metric], shares: Float, drawn: Any
    ) -> Float:
        """Sums of each metric over the distribution, for every column of shares.

        Args:
            estimator: The method.
            metrics: The metrics.
            shares: As :meth:`Sample.shares` gives them.
            drawn: What they were drawn by: (n_boot, seed, paired).
        """
        if not isinstance(estimator, DistributionEstimator):
            return estimator.values(self.problem, list(metrics), shares)
        key = (estimator, drawn)
        if key not in self._masses:
            self._masses[key] = estimator.distribution(self.problem, shares)
        F = np.stack([self.problem.grid.metric_values(metric) for metric in metrics])
        return np.asarray(F @ self._masses[key])

    def mass(self, estimator: Estimator) -> Float:
        """Masses of the grid's bins, fitted unless they are known."""
        for (method, _), masses in self._masses.items():
            if method == estimator:
                return masses[:, 0]
        key = (estimator, None)
        self._masses[key] = estimator.distribution(self.problem, self.own_shares)[:, None]
        return self._masses[key][:, 0]

    def value(self, estimator: Estimator, metric: Metric) -> float:
        """The sum of one metric over the distribution of the sample itself."""
        if isinstance(estimator, DistributionEstimator):
            return float(self.problem.grid.metric_values(metric) @ self.mass(estimator))
        return float(estimator.values(self.problem, [metric], self.own_shares)[0])

    def compatible(self, confidence: float, shares: Float | None = None) -> CompatibleSet:
        """All distributions that the sample allows; its shares, if they are at hand."""
        if confidence not in self._sets:
            own = self.own_shares if shares is None else shares
            stages = self.sample.ranks.header.stages
            worth = self.problem.n_rows / self.sample.design_effect
            self._sets[confidence] = compatible_set(
                self.problem, own, confidence=confidence, stages=stages, n_effective=worth
            )
        return self._sets[confidence]


def prepare(ranks: RankTable | RankCounts | Sample) -> Sample:
    """Ranks made ready once, for any number of estimates; what is ready is given back as it is.

    ``tr.estimate``, ``tr.rank_distribution`` and ``tr.compare`` take a table or do this themselves;
    who asks several questions about one table saves the fits in between.

    >>> sample = prepare(RankTable.from_arrays(rank=[1, 3, 12, 40], n_sampled=100, n_items=1000))
    >>> len(sample.cells), sample.n_users, prepare(sample) is sample
    (4, 4, True)
    """
    if isinstance(ranks, Sample):
        return ranks
    if isinstance(ranks, RankCounts):
        return Sample.of(ranks.with_weight())
    if isinstance(ranks, RankTable):
        return Sample.of(ranks.without_weightless_users())
    raise InvalidArgumentError(
        "table", type(ranks).__name__, "a RankTable or RankCounts",
        "make one with tr.rank or tr.RankTable.from_arrays",
    )  # fmt: skip


def blocks_sharing(ranks: RankTable | RankCounts) -> int | None:
    """How many blocks of users met the same rivals, so that errors go together; None for none."""
    stages = ranks.header.stages
    return None if stages is None else stages.n_blocks


FEW_BLOCKS = 20
"""Fewer blocks than this tell nothing of how much they differ: users are resampled, with a note."""


def _blocks(table: RankTable) -> Int | None:
    """Number of each row's block, from 0; None where no rivals are shared, or by too few blocks."""
    n_blocks = blocks_sharing(table)
    if n_blocks is None:
        return None
    _, number = np.unique(user_blocks(table.user, n_blocks), return_inverse=True)
    return number if number.max() + 1 >= FEW_BLOCKS else None


def _sum(values: Float) -> float:
    """The sum, with the same bits whatever the order of the rows."""
    return float((np.sort(values) if np.ptp(values) > 0 else values).sum())


def _occupied(counts: RankCounts) -> Int | None:
    """Buckets that hold users, numbered from 0: empty ones are not drawn.

    None where several users share one bucket, of which all resamples would be the same.
    """
    if counts.bucket is None:
        return None
    buckets, number = np.unique(counts.bucket, return_inverse=True)
    return None if len(buckets) == 1 and counts.n_users > 1 else number


def _numbered(user: NDArray[Any]) -> Int:
    """Users numbered from 0; ascending ids, as ranking gives them, need no sorting."""
    if user.dtype.kind == "i" and bool((user[1:] > user[:-1]).all()):
        return np.arange(len(user))
    return distinct_ids(user)[1]
