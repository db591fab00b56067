"""The correction by how often negatives are drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import truerank as tr

from .formulas import scores


def catalogue(n_items: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(4)
    return torch.tensor([0.3], dtype=torch.float64), torch.as_tensor(rng.normal(size=(1, n_items)))


def test_all_other_items_and_uniform_draws_give_the_softmax() -> None:
    pos, others = catalogue()
    n = others.shape[1]
    full = tr.losses.LOSSES["softmax"](pos, others)
    expected_draws = math.log(n * (1 / n))
    corrected = tr.losses.LOSSES["sampled_softmax"](pos, others, log_q=expected_draws)
    assert torch.equal(corrected, full)
    # As printed, with p(j) = 1/n, every negative counts n times: log n on its score.
    printed = tr.losses.LOSSES["sampled_softmax"](pos, others, log_q=-math.log(n))
    assert torch.allclose(printed, tr.losses.LOSSES["softmax"](pos, others + math.log(n)))
    assert float(printed - full) > 1.0


def test_a_number_a_row_and_a_matrix_of_log_q_agree() -> None:
    pos, neg = scores(batch=3, n=5).values()
    loss = tr.losses.LOSSES["sampled_softmax"]
    values = loss(pos, neg, log_q=-1.5)
    assert torch.equal(loss(pos, neg, log_q=torch.full((5,), -1.5)), values)
    assert torch.equal(loss(pos, neg, log_q=torch.full((3, 5), -1.5)), values)
    assert torch.equal(loss(pos, neg), tr.losses.LOSSES["softmax"](pos, neg))


def test_the_denominator_is_unbiased_with_expected_draws() -> None:
    """e^loss - 1 is the estimated sum over e^{s+}: its mean is that of the whole catalogue."""
    pos, others = catalogue()
    rng = np.random.default_rng(11)
    p = rng.dirichlet(np.full(others.shape[1], 2.0))
    p = (p + 0.01) / (p + 0.01).sum()  # no item so rare that one draw decides everything
    runs, n = 20_000, 10
    drawn = rng.choice(len(p), size=(runs, n), p=p)
    neg = others[0][torch.as_tensor(drawn)]
    log_q = torch.log(torch.as_tensor(n * p[drawn]))
    values = tr.losses.LOSSES["sampled_softmax"](pos.expand(runs), neg, log_q=log_q)
    full = float(tr.losses.LOSSES["softmax"](pos, others))
    ratios = np.expm1(values.numpy())
    z = (ratios.mean() - math.expm1(full)) / (ratios.std(ddof=1) / math.sqrt(runs))
    assert abs(z) < 4  # P(|Z| > 4) = 6e-5
    assert values.mean() < full  # the logarithm of an unbiased estimate is too small
    uncorrected = tr.losses.LOSSES["softmax"](pos.expand(runs), neg).mean()
    assert abs(float(values.mean()) - full) < 0.2 * abs(float(uncorrected) - full)


def test_uniform_negatives_without_correction_are_not_the_softmax() -> None:
    pos, others = catalogue()
    few = tr.losses.LOSSES["softmax"](pos, others[:, :10])
    corrected = tr.losses.LOSSES["sampled_softmax"](pos, others[:, :10], log_q=math.log(10 / 40))
    assert float(corrected - few) == pytest.approx(math.log(4), abs=0.3)
