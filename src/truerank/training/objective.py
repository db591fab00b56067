r"""What is minimised: a loss of the scores, how its negatives are drawn, and what corrects for it.

.. math::
    \frac1{|P|} \sum_{(u,i) \in P} \ell\bigl(s_{ui}, (s_{uj})_{j \sim q}\bigr)

over the positive pairs :math:`P`. Sharing negatives between pairs changes nothing in expectation:
each pair still meets n independent draws from q; only the draws of the pairs that share a set are
now the same, which makes a step noisier and its products one large matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.losses import inputs_of, positive_rate, temperature_of
from truerank.losses.gradients import fused_loss
from truerank.losses.loss import FusedLoss
from truerank.training.batches import Batch, BatchPlan
from truerank.training.negative_sampling import Ints, NegativeSampler, Pairs

NEGATIVES = ("uniform", "popularity", "in-batch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """A loss on data, ready to be sampled.

    Attributes:
        fused: The loss, if it has a fused gradient, or None.
        loss: Otherwise a torch function of (pos, neg) and of ``inputs``.
        inputs: Further tensors that it takes.
        pairs: The positive pairs.
        user_of_pair: Their users.
        sampler: Distribution of the negatives.
        plan: What a batch draws.
        cosine: Whether scores are cosines.
        shift: Taken off the scores of negatives, by item; empty for none.
        tau: Assumed share of positives of each user; zeros for losses that know none.
        left_out: For :attr:`levels`, the share of q that no negative of a user comes from.
    """

    fused: FusedLoss | None
    loss: Callable[..., Any] | None
    inputs: tuple[str, ...]
    pairs: Pairs
    user_of_pair: Ints
    sampler: NegativeSampler
    plan: BatchPlan
    cosine: bool
    shift: Float32
    tau: Float32
    left_out: NDArray[np.float64]

    @property
    def takes_log_q(self) -> bool:
        return "log_q" in self.inputs

    def log_lift(self) -> Float32:
        """log(q |I|) by item."""
        return self.sampler.log_lift(self.pairs.n_items)

    def levels(self, batch: Batch, n_negatives: int) -> Float32:
        r"""By pair, what :math:`\log(n q_j)` is more than :math:`\log(q_j |I|)`.

        :math:`\log(n/|I|)`, less the log of the part of q that can be drawn for the user.
        """
        if not self.takes_log_q:
            return np.zeros(len(batch.users), np.float32)
        out = self.left_out[batch.users]
        if self.plan.in_batch and not self.plan.exclude:
            out = self.sampler.share[batch.own[:, 0]]
        level = np.log(n_negatives / self.pairs.n_items) - np.log1p(-out)
        return np.asarray(level, dtype=np.float32)

    def further_inputs(self, batch: Batch, level: Float32) -> dict[str, Float32]:
        """What a torch loss is called with besides scores: tau_pos and log_q, if it takes them.

        Args:
            batch: The batch.
            level: By pair, from :meth:`levels`.
        """
        inputs = {}
        if "tau_pos" in self.inputs:
            inputs["tau_pos"] = self.tau[batch.users]
        if self.takes_log_q:
            of_pair = np.arange(len(batch.users)) // self.plan.sharing
            own = batch.own[:, 1 + self.plan.n_extra :]
            met = batch.shared[of_pair] if batch.shared.shape[1] > 0 else own
            inputs["log_q"] = self.log_lift()[met] + level[:, None]
        return inputs


def _share_of_positives(
    pairs: Pairs, user_of_pair: Ints, sampler: NegativeSampler
) -> NDArray[np.float64]:
    """By user, the share of q on the user's own items; below 1."""
    share = sampler.share if len(sampler.share) else np.full(pairs.n_items, 1.0 / pairs.n_items)
    n_users = len(pairs.indptr) - 1
    total = np.bincount(user_of_pair, weights=share[pairs.items], minlength=n_users)
    return np.asarray(np.minimum(total, 1.0 - 1e-12), dtype=np.float64)


def objective_of(
    *,
    loss: str | Callable[..., Any],
    parameters: dict[str, Any],
    pairs: Pairs,
    user_of_pair: Ints,
    sampler: NegativeSampler,
    plan: BatchPlan,
    cosine: bool,
    correct: bool,
    hidden: float,
    alpha: float,
    autograd: bool = False,
) -> Objective:
    """The objective of these settings, which have been checked.

    Args:
        loss: A name of :data:`truerank.losses.LOSSES`, or a function of the same shape.
        parameters: Of the loss.
        pairs: The positive pairs.
        user_of_pair: Their users.
        sampler: Distribution of the negatives.
        plan: What a batch draws.
        cosine: Whether scores are cosines.
        correct: Take t log(q |I|) off the scores of negatives, t the temperature.
        hidden: Of :func:`truerank.losses.positive_rate`.
        alpha: Of the same.
        autograd: Let torch find the gradient even of losses that have a fused one.
    """
    inputs = tuple(name for name in inputs_of(loss) if name not in parameters)
    counts = np.diff(pairs.indptr)
    tau = np.zeros(len(counts))
    if "tau_pos" in inputs:
        tau = positive_rate(counts, pairs.n_items, n_hidden_positives=hidden, alpha=alpha)
    fused = fused_loss(loss, parameters) if isinstance(loss, str) and not autograd else None
    function = None
    if fused is None:
        from truerank.training.torch_loss import torch_loss

        function = torch_loss(loss, parameters)
    shift = np.empty(0, np.float32)
    if fused is not None and "log_q" in inputs:
        shift = sampler.log_lift(pairs.n_items)
    elif correct and "log_q" not in inputs:
        shift = np.float32(temperature_of(loss, parameters)) * sampler.log_lift(pairs.n_items)
    return Objective(
        fused=fused,
        loss=function,
        inputs=inputs,
        pairs=pairs,
        user_of_pair=user_of_pair,
        sampler=sampler,
        plan=plan,
        cosine=cosine,
        shift=shift,
        tau=tau.astype(np.float32),
        left_out=_share_of_positives(pairs, user_of_pair, sampler) * plan.exclude,
    )
