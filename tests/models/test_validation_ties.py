"""Validation during training ranks tied items as ``tr.rank(..., ties="half")`` does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import truerank as tr
from truerank.metrics import parse
from truerank.numerics.threads import on_all_cores
from truerank.training.validation import ValidationUsers

DATA = tr.load_dataset("demo", n_users=60, n_items=50)
COARSE = np.random.default_rng(5).integers(-1, 2, (50, 3)).astype(np.float64)


@pytest.mark.parametrize("factor", [0.0, 1.0], ids=["constant", "coarse"])
def test_learned_linear_models(factor: float) -> None:
    split = tr.split.strong_generalization(DATA, n_users=25, seed=0)
    assert split.fold_in is not None
    W = factor * COARSE @ COARSE.T
    X = split.fold_in.matrix(dtype=np.float64).toarray()
    model = SimpleNamespace(fold_in=lambda _: tr.FactorScorer(X @ W, np.eye(50)))
    table = tr.rank(model, split, tr.Full(), ties="half")
    users = ValidationUsers.of_histories(split.fold_in, split.held_out, metric=parse("ndcg@20"))
    with on_all_cores() as each:
        found = users.evaluate(lambda who: X[who] @ W, each)
    assert found == pytest.approx(float(table.per_user("ndcg@20")[1].mean()), rel=1e-12)


@pytest.mark.parametrize("factor", [0.0, 1.0], ids=["constant", "coarse"])
def test_matrix_factorisation(factor: float) -> None:
    split = tr.split.ratio(DATA, 0.3)
    users = np.random.default_rng(6).integers(-1, 2, (60, 3)).astype(np.float32)
    items = (factor * COARSE).astype(np.float32)
    table = tr.rank(tr.FactorScorer(users, items), split, tr.Full(), ties="half")
    chosen = ValidationUsers.of(
        split.train, split.held_out, metric=parse("ndcg@20"), n_sampled=None, seed=0
    )
    with on_all_cores() as each:
        found = chosen.evaluate_factors(users, items, each)
    assert found == pytest.approx(float(table.per_user("ndcg@20")[1].mean()), rel=1e-12)
