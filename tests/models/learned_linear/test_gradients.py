"""Loss and gradients against the printed objective, written with loops and differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from truerank.models.learned_linear.draws import PairRule, UserRows, draw_input, draw_targets
from truerank.models.learned_linear.forms import Dense, LowRank, PairBatch, Sparse
from truerank.models.learned_linear.parameters import Parameters, Shrinkage
from truerank.numerics.threads import on_all_cores

N_USERS, N_ITEMS, RANK = 12, 9, 4
KEY = np.uint64(12345)


def data(seed: int = 0, *, weighted: bool = True) -> UserRows:
    rng = np.random.default_rng(seed)
    X = rng.random((N_USERS, N_ITEMS)) < 0.45
    X[0] = [True] * (N_ITEMS - 1) + [False]  # a user with a single negative
    rows = sparse.csr_array(X.astype(np.float64))
    values = rng.uniform(0.5, 2.0, rows.nnz) if weighted else np.ones(rows.nnz)
    users = np.repeat(np.arange(N_USERS, dtype=np.int32), np.diff(rows.indptr))
    return UserRows(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), values, users, N_ITEMS
    )


def rule(**changes: Any) -> PairRule:
    usual = PairRule(
        scale=3.0, dropout=0.4, n_negatives=3, remove_positive=True, zero_diagonal=False
    )
    return usual._replace(**changes)


def drawn(rows: UserRows, how: PairRule, pair: int) -> tuple[dict[int, float], list[int]]:
    items, x = np.empty(N_ITEMS, np.int64), np.empty(N_ITEMS)
    n = draw_input(rows, how, KEY, pair, items, x)
    targets = np.empty(how.n_negatives + 1, np.int64)
    draw_targets(rows, KEY, pair, targets)
    return dict(zip(items[:n].tolist(), x[:n].tolist(), strict=True)), targets.tolist()


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def weights_by_the_formula(form: Any, theta: Parameters, how: PairRule) -> np.ndarray:
    """The W of the docstring, entry by entry."""
    W = np.zeros((N_ITEMS, N_ITEMS))
    for i in range(N_ITEMS):
        for j in range(N_ITEMS):
            if isinstance(form, LowRank):
                for c in range(RANK):
                    gain = 1.0
                    if form.shrinkage is not None:
                        s2 = form.shrinkage.sigma[c] ** 2
                        alpha = theta["alpha"][c] if "alpha" in theta else 0.0
                        gain = s2 / (s2 + form.shrinkage.l2 + form.shrinkage.c * math.tanh(alpha))
                    W[i, j] += form.A[i, c] * gain * form.B[j, c]
            else:
                W[i, j] = form.W[i, j]
            if "head" in theta:
                W[i, j] *= sigmoid(theta["head"][i]) * sigmoid(theta["tail"][j])
            if how.zero_diagonal and i == j:
                W[i, j] = 0.0
    if "entry" in theta:
        at = 0
        for j in range(N_ITEMS):
            for p in range(form.W.indptr[j], form.W.indptr[j + 1]):
                W[form.W.indices[p], j] *= sigmoid(theta["entry"][at])
                at += 1
    return W


def loss_by_the_formula(
    form: Any, theta: Parameters, rows: UserRows, how: PairRule, pairs: Any
) -> float:
    """-log sigmoid(t x (W_i - W_j)), averaged over negatives and pairs."""
    W = weights_by_the_formula(form, theta, how)
    total = 0.0
    for pair in pairs:
        x, (positive, *negatives) = drawn(rows, how, int(pair))
        for negative in negatives:
            margin = sum(v * (W[item, positive] - W[item, negative]) for item, v in x.items())
            total += math.log1p(math.exp(-how.scale * margin)) / len(negatives)
    return total / len(pairs)


def forms(rng: np.random.Generator) -> dict[str, Any]:
    W = rng.normal(size=(N_ITEMS, N_ITEMS)) * 0.3
    A, B = rng.normal(size=(2, N_ITEMS, RANK)) * 0.5
    thin = sparse.csc_array(np.where(W > 0, W, 0.0))
    shrinkage = Shrinkage(sigma=np.array([5.0, 3.0, 2.0, 0.7]), l2=4.0, c=3.0)
    return {
        "dense": Dense(W),
        "sparse": Sparse(thin, rescaled=False),
        "rescaled": Sparse(thin, rescaled=True),
        "factors": LowRank(A, B),
        "spectrum": LowRank(A, B, shrinkage),
    }


@pytest.mark.parametrize("kept", [False, True], ids=["positive-removed", "positive-kept"])
@pytest.mark.parametrize("zero", [False, True], ids=["diagonal", "no-diagonal"])
@pytest.mark.parametrize("head_tail", [False, True], ids=["", "HT"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "rescaled", "factors", "spectrum"])
def test_gradient_is_that_of_the_printed_objective(
    kind: str, head_tail: bool, zero: bool, kept: bool
) -> None:
    rng = np.random.default_rng(4)
    form, rows = forms(rng)[kind], data()
    how = rule(zero_diagonal=zero, remove_positive=not kept)
    if zero and isinstance(form, Sparse):  # its diagonal is dropped before it is learned
        form = Sparse(
            sparse.csc_array(form.W - sparse.diags_array(form.W.diagonal())), form.rescaled
        )
        form.W.eliminate_zeros()
    theta = {name: rng.normal(size=a.shape) for name, a in form.start(head_tail=head_tail).items()}
    pairs = rng.permutation(len(rows.items))[:25]
    with on_all_cores(2) as each:
        loss, gradient = form.gradient(PairBatch(rows, how, KEY, pairs), theta, each)
    assert loss == pytest.approx(loss_by_the_formula(form, theta, rows, how, pairs), rel=1e-12)
    assert set(gradient) == set(theta)
    step = 1e-5
    for name, free in theta.items():
        for i in range(len(free)):
            sides = []
            for sign in (1, -1):
                moved = {n: a.copy() for n, a in theta.items()}
                moved[name][i] += sign * step
                sides.append(loss_by_the_formula(form, moved, rows, how, pairs))
            expected = (sides[0] - sides[1]) / (2 * step)
            assert gradient[name][i] == pytest.approx(expected, rel=1e-5, abs=1e-9), (name, i)


def test_scores_are_rows_times_the_formula() -> None:
    rng = np.random.default_rng(5)
    history = sparse.random_array((6, N_ITEMS), density=0.4, rng=rng, format="csr")
    for form in forms(rng).values():
        start = form.start(head_tail=True)
        theta = {name: rng.normal(size=array.shape) for name, array in start.items()}
        W = weights_by_the_formula(form, theta, rule())
        np.testing.assert_allclose(form.scores(history, theta), history @ W, rtol=1e-12, atol=1e-14)


def test_single_precision_gradients_are_near_those_in_double() -> None:
    rng = np.random.default_rng(6)
    double, rows = forms(rng)["spectrum"], data()
    A, B = double.A.astype(np.float32), double.B.astype(np.float32)
    single = LowRank(A, B, double.shrinkage)
    theta = {n: rng.normal(size=a.shape) for n, a in double.start(head_tail=True).items()}
    batch = PairBatch(rows, rule(), KEY, np.arange(len(rows.items)))
    with on_all_cores(1) as each:
        loss, gradient = single.gradient(batch, theta, each)
        exact_loss, exact = double.gradient(batch, theta, each)
    assert loss == pytest.approx(exact_loss, rel=1e-5)
    for name in theta:
        np.testing.assert_allclose(gradient[name], exact[name], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "rescaled", "spectrum"])
def test_threads_change_no_bit(kind: str) -> None:
    rng = np.random.default_rng(7)
    form, rows = forms(rng)[kind], data()
    theta = form.start(head_tail=True)
    batch = PairBatch(rows, rule(), KEY, np.arange(len(rows.items)))
    results = []
    for workers in (1, 5):
        with on_all_cores(workers) as each:
            results.append(form.gradient(batch, theta, each))
    (loss, gradient), (other_loss, other) = results
    assert loss == other_loss
    for name in theta:
        np.testing.assert_array_equal(gradient[name], other[name])


def test_input_loses_the_positive_and_half_of_the_rest() -> None:
    rows = data(weighted=False)
    how = rule(dropout=0.25)
    kept, possible = 0, 0
    for key in range(200):
        for pair in range(0, len(rows.items), 7):
            items, x = np.empty(N_ITEMS, np.int64), np.empty(N_ITEMS)
            n = draw_input(rows, how, np.uint64(key), pair, items, x)
            user = rows.user[pair]
            row = rows.items[rows.indptr[user] : rows.indptr[user + 1]]
            assert rows.items[pair] not in items[:n]
            assert set(items[:n]) <= set(row.tolist())
            assert (np.diff(items[:n]) > 0).all()
            assert (x[:n] == 1.0 / 0.75).all()
            kept, possible = kept + n, possible + len(row) - 1
    error = math.sqrt(0.75 * 0.25 / possible)
    assert abs(kept / possible - 0.75) < 4 * error  # P(|Z| > 4) = 6e-5


def test_negatives_are_uniform_over_what_the_user_has_not() -> None:
    rows = data()
    pair = int(rows.indptr[3])
    has = set(rows.items[rows.indptr[3] : rows.indptr[4]].tolist())
    absent = sorted(set(range(N_ITEMS)) - has)
    targets, n = np.empty(9, np.int64), 2_000
    counts = np.zeros(N_ITEMS)
    for key in range(n):
        draw_targets(rows, np.uint64(key), pair, targets)
        assert targets[0] == rows.items[pair]
        np.add.at(counts, targets[1:], 1)
    assert counts[sorted(has)].sum() == 0
    share = 1 / len(absent)
    error = np.sqrt(8 * n * share * (1 - share))
    assert (np.abs(counts[absent] - 8 * n * share) < 4.5 * error).all()  # 7e-6 for each item
    draw_targets(rows, KEY, 0, targets)  # user 0 lacks one item only
    assert (targets[1:] == N_ITEMS - 1).all()
