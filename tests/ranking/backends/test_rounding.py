"""Near-ties: float32 does the work, float64 decides, and nothing else has a say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import ItemItem, full_ranks, item_item_scores, place, scores_of

from truerank.ranking import FactorScorer, FixedNegatives, Sampled, rank_pairs
from truerank.ranking.backends.factors import FactorBackend


def float64_ranks(X: np.ndarray, Y: np.ndarray, users: np.ndarray, items: np.ndarray) -> list[int]:
    scores = np.array([scores_of(X, Y, user) for user in range(len(X))])
    return full_ranks(scores, users, items)[0]


def test_where_naive_float32_is_wrong_ours_is_right() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 64)).astype(np.float32)
    Y = rng.normal(size=(1500, 64)).astype(np.float32)
    Y[700:1400] = Y[:700]  # exact ties, where rounding shows at once
    users, items = np.arange(400), rng.integers(0, 1500, 400)
    target = np.einsum("ud,ud->u", X, Y[items])
    product = X @ Y.T
    better = (product > target[:, None]).sum(axis=1)
    tied = (product == target[:, None]).sum(axis=1)
    naive = 1 + better + np.maximum(tied, 0) // 2
    truth = float64_ranks(X, Y, users, items)
    assert (naive != truth).mean() > 0.03  # the trap is there ...
    table = rank_pairs(FactorScorer(X, Y), users, items)
    assert table.rank.tolist() == truth  # ... and we do not fall into it


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("design", ["full", "sampled"])
def test_rivals_that_differ_in_the_last_bit(dtype: Any, design: str) -> None:
    rng = np.random.default_rng(1)
    d, n = 24, 300
    X = rng.normal(size=(50, d)).astype(dtype)
    Y = np.repeat(rng.normal(size=(1, d)).astype(dtype), n, axis=0)
    for i in range(1, n):  # one coordinate moves by a few units in the last place
        k = rng.integers(d)
        for _ in range(int(rng.integers(0, 4))):
            Y[i, k] = np.nextafter(Y[i, k], dtype(rng.choice([-9, 9])))
    users, items = np.arange(50), rng.integers(0, n, 50)
    chosen = None if design == "full" else Sampled(n)  # all of them, drawn one by one
    table = rank_pairs(FactorScorer(X, Y), users, items, chosen)
    assert table.rank.tolist() == float64_ranks(X, Y, users, items)


@pytest.mark.parametrize("design", ["full", "sampled"])
def test_scores_that_cancel(design: str) -> None:
    """Large terms of both signs, sums near zero: float32 keeps nothing of the difference."""
    rng = np.random.default_rng(2)
    n = 200
    X = np.tile(np.array([[1e4, 1e4, 1.0]], np.float32), (20, 1))
    big = rng.normal(scale=1e3, size=n).astype(np.float32)
    Y = np.stack([big, -big, rng.normal(size=n).astype(np.float32)], axis=1)
    users, items = np.arange(20), rng.integers(0, n, 20)
    chosen = None if design == "full" else Sampled(n)
    table = rank_pairs(FactorScorer(X, Y), users, items, chosen)
    assert table.rank.tolist() == float64_ranks(X, Y, users, items)


@pytest.mark.parametrize("scale", [1e-25, 1e-19, 1e15])
@pytest.mark.parametrize("design", ["full", "sampled"])
def test_users_whose_squares_leave_float32(design: str, scale: float) -> None:
    """Their scores are ordinary numbers, so lengths that are 0 or inf would be of our making."""
    rng = np.random.default_rng(6)
    n = 200
    X = (rng.normal(size=(30, 16)) * scale).astype(np.float32)
    Y = np.repeat(rng.normal(size=(1, 16)).astype(np.float32), n, axis=0)
    for i, k in zip(range(n), rng.integers(0, 16, n), strict=True):
        Y[i, k] = np.nextafter(Y[i, k], np.float32(rng.choice([-9, 9])))
    users, items = np.arange(30), rng.integers(0, n, 30)
    chosen = None if design == "full" else Sampled(n)
    table = rank_pairs(FactorScorer(X, Y), users, items, chosen)
    assert table.rank.tolist() == float64_ranks(X, Y, users, items)


def test_float64_factors_that_are_equal_in_float32() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 8))
    Y = rng.normal(size=(1, 8)) * (1 + 1e-12 * rng.normal(size=(100, 8)))
    assert len(np.unique(Y.astype(np.float32), axis=0)) < 20
    users, items = np.arange(30), rng.integers(0, 100, 30)
    table = rank_pairs(FactorScorer(X, Y), users, items)
    assert table.rank.tolist() == float64_ranks(X, Y, users, items)
    assert len(set(table.rank.tolist())) > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-20, 1.0, 1e12])
def test_the_margin_bounds_every_float32_score(dtype: Any, scale: float) -> None:
    rng = np.random.default_rng(4)
    X = (rng.normal(size=(40, 33)) * 10.0 ** rng.integers(-6, 7, (40, 33))).astype(dtype)
    Y = (rng.normal(size=(70, 33)) * 10.0 ** rng.integers(-6, 3, (70, 33)) * scale).astype(dtype)
    backend = FactorBackend.of(X, Y)
    assert backend is not None
    factors = backend.factors
    exact = np.array([scores_of(X, Y, user) for user in range(40)])
    with np.errstate(under="ignore"):
        product = (factors.user32 @ factors.item32.T).astype(np.float64)
    assert (np.abs(product - exact) <= factors.error_bound[:, None]).all()


def test_the_scores_are_not_all_decided_in_float64() -> None:
    """The margin is narrow: of random rivals about one in a hundred thousand lies inside."""
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(50, 64)), rng.normal(size=(2000, 64))
    backend = FactorBackend.of(X, Y)
    assert backend is not None
    scores = X @ Y.T
    inside = np.abs(scores - scores[:, :1])[:, 1:] <= backend.factors.error_bound[:, None]
    assert inside.mean() < 1e-3


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n", [None, 20, 400], ids=["full", "few", "many"])
def test_item_item_sums_run_in_the_order_of_the_history(n: int | None, kind: str) -> None:
    """The same numbers in another order for every item: only rounding tells the scores apart."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=24)
    base -= base.mean()  # sums near 0, where every rounding shows
    columns = [rng.permutation(base) for _ in range(400)]
    W = np.zeros((400, 400), np.float64)
    W[:24] = np.stack(columns, axis=1)
    history = sparse.csr_array((np.ones(60 * 24), np.tile(np.arange(24), 60), np.arange(61) * 24))
    history = sparse.csr_array(history, shape=(60, 400))
    scores = item_item_scores(history, W)
    assert len(np.unique(scores[0])) > 20
    users, items = np.arange(60), rng.integers(0, 400, 60)
    scorer = ItemItem(history, W if kind == "dense" else sparse.csr_array(W))
    if n == 20:  # few enough to be scored one by one
        lists = rng.integers(0, 400, (60, n))
        table = rank_pairs(scorer, users, items, FixedNegatives(lists))
        rows = zip(users, items, lists, strict=True)
        rank = [place(scores[u], t, list(row), "random", 0, u, {t}) for u, t, row in rows]
    else:
        table = rank_pairs(scorer, users, items, None if n is None else Sampled(n))
        rank = full_ranks(scores, users, items)[0]
    assert table.rank.tolist() == rank
