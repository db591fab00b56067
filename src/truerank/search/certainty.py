r"""What cheaper evaluation cost in certainty: the winner's error beside that of exact ranks.

Both are about future users, of whom the :math:`M` validation users are a sample. Exact ranks of
all of them would have left :math:`\sqrt{\mathrm{Var}(x_u) / M}`, :math:`x_u` being a user's value.

* **Exact ranks of** :math:`m` **users** (``Users(m)``): the variance is that of the ranked users,
  and they leave :math:`\sqrt{\mathrm{Var}(x_u) / m}`.
* **Sampled ranks, one held-out item per user**: the variance is :math:`E[F(R)^2] - E[F(R)]^2`, both
  means estimated from the sampled ranks.
* **Sampled ranks, several items per user**: the variance of a user's value depends on how the ranks
  of one user's items go together, of which the estimate, a distribution of single ranks, says
  nothing. Taking them as independent gave a standard error 43 % too large (nDCG@20 of EASE, 1,500
  x 500 demo data, half held out, ``Sampled(20)``), so nothing is claimed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.estimators import Sample, estimate, prepare
from truerank.metrics import Metric
from truerank.plain_data import plain
from truerank.ranking import RankTable, Users
from truerank.search.examination import N_BOOT, Examination

NOTICEABLE = 0.05
"""Growth of a standard error that its own error, from 200 resamples, does not hide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """Two standard errors of the best value, both for future users.

    Attributes:
        n_ranked: Users that were ranked.
        n_users: Validation users that there are.
        std_error: What the evaluation has left.
        exact_error: What exact ranks of all validation users would have left; nan if not known.
        unknown: For what it is not known, in words.
    """

    n_ranked: int
    n_users: int
    std_error: float = math.nan
    exact_error: float = math.nan
    unknown: str = ""

    @property
    def words(self) -> str:
        """The price in words, as a part of a sentence."""
        if self.unknown:
            return f"what sampling cost in certainty cannot be told for {self.unknown}"
        more = self.std_error / self.exact_error - 1
        price = f"made it {more:.0%} larger" if more >= NOTICEABLE else "cost next to nothing"
        if self.n_ranked == self.n_users:
            return (
                "exact ranks of the same users would have left a standard error of "
                f"{self.exact_error:.4f}, so sampling {price}"
            )
        return (
            f"for future users, exact ranks of all {self.n_users:,} validation users would have "
            f"left a standard error of {self.exact_error:.4f} and these {self.n_ranked:,} leave "
            f"{self.std_error:.4f}, so sampling {price}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not known is None."""
        values: dict[str, Any] = plain(asdict(self))
        return values


def certainty_of(table: RankTable, exam: Examination) -> Certainty | None:
    """What the design cost the trial of this table; None where nothing was sampled.

    Args:
        table: Ranks of the trial under the search's design, of all users that it ranks.
        exam: How it was examined.
    """
    if exam.exact and not isinstance(exam.design, Users):
        return None
    n_ranked, n_users = table.n_users, len(np.unique(exam.validation.held_out.users))
    if table.all_exact:
        variance = float(np.var(table.per_user(exam.metric)[1], ddof=1)) if n_ranked > 1 else 0.0
        std_error = math.sqrt(variance / n_ranked)
    else:
        unknown = _unknown(table, exam)
        if unknown:
            return Certainty(n_ranked=n_ranked, n_users=n_users, unknown=unknown)
        sample = prepare(table)
        found = estimate(
            sample, exam.metric, exam.method, n_boot=N_BOOT, seed=exam.seed, bounds=False,
            paired=True, population="infinite",
        )[0]  # fmt: skip
        std_error, variance = found.std_error, _variance(sample, exam, found.value)
    if not variance > 0:
        unknown = "users whose values do not differ"
        return Certainty(n_ranked=n_ranked, n_users=n_users, unknown=unknown)
    return Certainty(
        n_ranked=n_ranked,
        n_users=n_users,
        std_error=std_error,
        exact_error=math.sqrt(variance / n_users),
    )


def _unknown(table: RankTable, exam: Examination) -> str:
    """What keeps the variance between users from being known; empty if nothing does."""
    if table.n_users < len(table):
        return "several held-out items per user"
    if exam.metric.needs_n_items:
        return f"{exam.metric}, which counts each user's own number of items"
    if exam.method == "naive":
        return "the naive method, which estimates another metric"
    return ""


def _variance(sample: Sample, exam: Examination, value: float) -> float:
    metric = exam.metric
    squares = Metric("square", None, lambda R: metric.row_values(R) ** 2)
    found = estimate(sample, squares, exam.method, n_boot=0, bounds=False)[0]
    return found.value - value**2
