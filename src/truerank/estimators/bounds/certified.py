r"""What a screen certifies: bounds on metrics of the users at hand that rest on no smoothness.

Targets that a screen let pass have exact ranks; of one with h rivals above it, among those it met,
nobody knows more than R > h. So a metric that falls with the rank and ends at K lies, for the users
at hand, between the part of it that is known and that plus what the dropped may add, for certain:

.. math::  L = \sum_{\text{exact}} w_i f(R_i), \qquad U = L + \sum_{\text{dropped},\,h_i < K}
           w_i f(1 + h_i).

Chance says more. A target of rank R is dropped with probability at most :math:`p(R)`
(:mod:`truerank.ranking.screening.certificate`), so the dropped part S has, whatever the targets
have to do with each other,

.. math::  E[S] \le \sum_{\text{all}} w_i f(R_i) p(R_i) \le A + p(K)\, S, \qquad
           A = \sum_{\text{exact}} w_i f(R_i) p(R_i),

and by Markov's inequality :math:`S < E[S] / \alpha` with probability at least :math:`1 - \alpha`:
then :math:`S < A / (\alpha - p(K))`. That blocks of users share their rivals makes no difference.

The estimate is the sum of :math:`w_i f(R_i) / (1 - p(R_i))` over exact ranks
[horvitz1952]_, which lies between the bounds.
"""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float, Int, Mask
from truerank.estimators.samples import Sample
from truerank.metrics import Metric
from truerank.ranking.screening.certificate import drop_probability

SURE = 0.05
"""With more of a chance to be dropped than this, the likelihood of all ranks says more."""


def is_certified(sample: Sample, metric: Metric) -> bool:
    """Whether targets that matter to the metric are hardly ever dropped."""
    stages = sample.ranks.header.stages
    if metric.k is None or metric.function is not None:  # one's own need not fall with the rank
        return False
    if stages is None or stages.n_blocks is None or sample.exact:
        return False
    n_items = int(sample.ranks.n_items.max())
    if stages.sizes[-1] < max(n_items, 2) or metric.k >= n_items:
        return False
    return float(_dropped(sample, np.array([metric.k]))[0]) <= SURE


def certified_values(sample: Sample, metric: Metric) -> Float:
    """What each entry adds to the estimate, per weight; 0 for those that were dropped."""
    exact, gain = _gains(sample, metric)
    kept = 1.0 - _dropped(sample, sample.ranks.rank)
    return np.where(exact & (gain > 0), gain / np.where(gain > 0, kept, 1.0), 0.0)


def certified_bounds(sample: Sample, metric: Metric, confidence: float) -> tuple[float, float]:
    """Between which values the metric of these users lies."""
    exact, gain = _gains(sample, metric)
    weight = sample.row_weights(metric) / sample.total
    known = float((weight * gain)[exact].sum())
    possible = float((weight * gain)[~exact].sum())
    chance = _dropped(sample, sample.ranks.rank)
    alpha = 1.0 - confidence
    worst = float(_dropped(sample, np.array([metric.k or 1]))[0])
    if worst < alpha:
        likely = float((weight * gain * chance)[exact].sum()) / (alpha - worst)
        possible = min(possible, likely)
    low, high = np.clip([known, known + possible], *metric.limits)
    return float(low), float(high)


def _gains(sample: Sample, metric: Metric) -> tuple[Mask, Float]:
    """Which entries are exact, and what each rank is worth: of dropped ones, at the very best."""
    ranks = sample.ranks
    exact = ranks.n_sampled >= ranks.n_items
    return exact, np.asarray(metric.row_values(ranks.rank, ranks.n_items), dtype=np.float64)


def _dropped(sample: Sample, ranks: Int) -> Float:
    """The chance of each rank to be dropped, beyond the last that matters that of the last."""
    stages = sample.ranks.header.stages
    if stages is None:
        return np.zeros(len(ranks))
    n_items, most = int(stages.sizes[-1]), int(stages.max_rank.max(initial=1)) + 1
    highest = max(int(ranks.min()), min(int(ranks.max()), 4 * most))
    table = drop_probability(np.arange(1, highest + 1), n_items, stages)
    return np.asarray(table[np.minimum(ranks, highest) - 1])


def design_variance(sample: Sample, metric: Metric) -> float:
    """Variance of the estimate about the metric of these users: what the screen leaves to chance.

    That of targets dropped one by one; those of a block go together, but hardly any is dropped.
    """
    exact, gain = _gains(sample, metric)
    chance = _dropped(sample, sample.ranks.rank)
    weight = sample.row_weights(metric) / sample.total
    some = exact & (gain > 0)
    return float(((weight * gain) ** 2 * chance)[some] @ (1.0 - chance[some]) ** -2.0)
