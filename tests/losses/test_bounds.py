r"""The chapter's chain of bounds, row by row, with d_j = (s-_j - s+) / t and n negatives.

    max(0, max d) + log(n + 1) >= InfoNCE >= MINE >= max d >= mean d
                                           MINE >= mean d + log n
    n InfoNCE >= BPR >= InfoNCE;   BPR / n >= mean max(0, d) >= mean d

They hold for MINE and BPR as sums over negatives. Averages shift MINE by log n (then it no longer
bounds max d, only max d - log n) and divide BPR by n (then it is below InfoNCE, not above).
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import truerank as tr

from .formulas import scores

SCORE = st.floats(-60, 60, allow_subnormal=False)
TEMPERATURE = st.sampled_from([0.05, 0.2, 1.0, 3.0])
SLACK = 1e-12  # a few roundings of values up to 2,400, relative


@st.composite
def rows(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    n = draw(st.integers(1, 8))
    pos = torch.tensor([draw(SCORE)], dtype=torch.float64)
    neg = torch.tensor([draw(st.lists(SCORE, min_size=n, max_size=n))], dtype=torch.float64)
    return pos, neg


def at_least(high: float, low: float) -> bool:
    return high >= low - SLACK * max(1.0, abs(high), abs(low))


def value(name: str, pos: Tensor, neg: Tensor, **parameters: float) -> float:
    return float(tr.losses.LOSSES[name](pos, neg, **parameters).item())


@given(rows(), TEMPERATURE)
@settings(max_examples=300, deadline=None)
def test_infonce_and_mine(row: tuple[Tensor, Tensor], t: float) -> None:
    pos, neg = row
    n = neg.shape[1]
    d = [(s - pos.item()) / t for s in neg[0].tolist()]
    info = value("infonce", pos, neg, temperature=t)
    mine = value("mine", pos, neg, temperature=t)
    chain = [max(0.0, *d) + math.log(n + 1), info, mine, max(d), sum(d) / n]
    for high, low in itertools.pairwise(chain):
        assert at_least(high, low)
    assert at_least(mine, sum(d) / n + math.log(n))  # Jensen
    assert at_least(sum(d) / n + math.log(n), sum(d) / n)


@given(rows())
@settings(max_examples=300, deadline=None)
def test_bpr(row: tuple[Tensor, Tensor]) -> None:
    pos, neg = row
    n = neg.shape[1]
    d = [s - pos.item() for s in neg[0].tolist()]
    bpr, info = value("bpr", pos, neg), value("infonce", pos, neg)
    assert at_least(n * info, bpr)
    assert at_least(bpr, info)  # prod(1 + e^d) >= 1 + sum e^d
    assert at_least(bpr, sum(max(0.0, x) for x in d))
    assert at_least(bpr / n, sum(d) / n)
    # eq:bound1, whose middle is BPR with a factor n inside the logarithm
    middle = sum(math.log1p(n * math.exp(x)) for x in d) / n
    assert at_least(info, middle)
    assert at_least(middle, bpr / n)
    assert at_least(middle, sum(d) / n + math.log(n))


@given(rows(), TEMPERATURE)
@settings(max_examples=100, deadline=None)
def test_what_infonce_adds_to_mine_is_the_positive(row: tuple[Tensor, Tensor], t: float) -> None:
    """InfoNCE = log(1 + e^MINE): they differ by at most log 2 where MINE is not negative."""
    pos, neg = row
    info = value("infonce", pos, neg, temperature=t)
    mine = value("mine", pos, neg, temperature=t)
    assert info == pytest.approx(max(0.0, mine) + math.log1p(math.exp(-abs(mine))), rel=1e-12)


def test_one_negative_makes_bpr_and_infonce_the_same() -> None:
    given = scores(batch=50, n=1)
    bpr, info = (tr.losses.LOSSES[name](**given) for name in ("bpr", "infonce"))
    assert torch.allclose(bpr, info, rtol=1e-14)


def test_the_text_calls_the_maximum_the_tighter_bound_which_it_need_not_be() -> None:
    """With equal negatives mean d + log n is above max d; with one far ahead it is below."""
    pos = torch.zeros(1, dtype=torch.float64)
    equal = torch.zeros(1, 8, dtype=torch.float64)
    assert value("mine", pos, equal) == pytest.approx(0.0 + math.log(8))
    one_ahead = torch.tensor([[10.0, *[-10.0] * 7]], dtype=torch.float64)
    mean = float(one_ahead.mean())
    assert value("mine", pos, one_ahead) >= 10.0 > mean + math.log(8)


def test_the_bounds_are_attained() -> None:
    """Equal negatives make Jensen exact; one far ahead makes the maximum exact."""
    pos = torch.zeros(1, dtype=torch.float64)
    far = torch.tensor([[700.0, 0.0, 0.0]], dtype=torch.float64)
    assert value("mine", pos, far) == value("infonce", pos, far) == value("bpr", pos, far[:, :1])
    tied = torch.zeros(1, 3, dtype=torch.float64)
    assert value("infonce", pos, tied) == pytest.approx(math.log(3 + 1), rel=1e-15)
