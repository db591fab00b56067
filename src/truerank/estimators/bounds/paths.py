r"""How an adaptive sample comes to stop where it does: P(the row ends here | it is here).

A row grows its sample through stages of sizes :math:`n_0 < n_1 < \dots`; from stage :math:`l` it
goes on with probability :math:`g_l(r)`: 1 if its rank is below ``max_rank[l]``,
``continue_prob[l]`` if it is that, else 0 (:meth:`.Stages.probability`). Samples are nested, and
the order of the draws is exchangeable, with and
without replacement. So given that :math:`x'` of the first :math:`n_{l+1} - 1` rivals are better,
the number :math:`x` among the first :math:`n_l - 1` of them is hypergeometric, whatever the
global rank :math:`R`, and

.. math::
    q_0(x) = 1, \qquad
    q_{l+1}(x') = \sum_x q_l(x)\, g_l(x + 1)\,
    \mathrm{Hyp}(x \mid n_{l+1} - 1, x', n_l - 1)

is the probability to have reached stage :math:`l`. A row ends in cell :math:`(r, n_l)` with

.. math::  P(r, n_l \mid R) = \mathrm{path}_l(r)\, P(r \mid R, n_l), \qquad
           \mathrm{path}_l(r) = q_l(r - 1)\,(1 - g_l(r));

the last stage, and a sample that holds every candidate, always stops. Over the cells these sum
to one for each :math:`R`. The factor does not depend on :math:`R`, which is why estimators by
likelihood may ignore it; an identification bound, which needs P(cell) itself, may not.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from truerank.arrays import Float, Int
from truerank.ranking.stages import Stages


def stopping(stages: Stages, stage: int, ranks: Int) -> Float:
    """path(r) at one stage, for the given sampled ranks; ``stages`` are :meth:`.Stages.capped`.

    >>> two = Stages(np.array([3, 5]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> stopping(two, 0, np.array([1, 2, 3])).tolist()  # the first goes on, the others end here
    [0.0, 1.0, 1.0]
    >>> stopping(two, 1, np.array([1, 2, 3])).round(4).tolist()  # 1, C(3,2)/C(4,2), C(2,2)/C(4,2)
    [1.0, 0.5, 0.1667]
    """
    return reached(stages, stage, ranks - 1) * (1.0 - stages.probability(stage, ranks))


def reached(stages: Stages, stage: int, better: Int) -> Float:
    """P(a row gets to this stage) for these numbers of better rivals; falls with them."""
    if stage == 0:
        return np.ones(len(better))
    x = np.arange(min(stages.max_rank[stage - 1], stages.sizes[stage - 1]))
    if len(x) == 0:
        return np.zeros(len(better))
    before = reached(stages, stage - 1, x) * stages.probability(stage - 1, x + 1)
    total, drawn = stages.sizes[stage] - 1, stages.sizes[stage - 1] - 1
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
