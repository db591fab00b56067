"""Estimates in words: what is known first, whose metric it is, and within the metric's limits."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.estimators import Estimate
from truerank.estimators.methods.table import METHODS
from truerank.estimators.simulate import simulate
from truerank.metrics import as_metric, parse
from truerank.metrics.definitions import DEFINITIONS

N_ITEMS = 20_000


def exact_table(n_users: int = 3_000) -> tr.RankTable:
    rng = np.random.default_rng(1)
    ranks = np.ceil(np.exp(rng.beta(1.4, 1.0, n_users) * np.log(N_ITEMS)))
    return tr.RankTable.from_arrays(ranks.astype(int), N_ITEMS, N_ITEMS)


@pytest.fixture(scope="module")
def blind() -> tr.RankTable:
    return simulate(exact_table(), tr.Sampled(50), seed=2)


def test_what_is_seen_has_its_interval_and_its_users() -> None:
    e = tr.estimate(exact_table(), "recall@50", n_boot=200)[0]
    low, high = e.interval()
    assert str(e) == (
        f"recall@50 {e.value:.4f} ± {e.std_error:.4f} [{low:.4f}, {high:.4f}] for future users "
        "(exact, from 3,000 users)"
    )
    assert "nan" not in str(tr.estimate(exact_table(), "recall@50", n_boot=0)[0])


def test_what_is_blind_leads_with_its_bounds(blind: tr.RankTable) -> None:
    e = tr.estimate(blind, "recall@1", n_boot=200)[0]
    assert e.diagnostics.blind
    assert e.diagnostics.bounds is not None
    low, high = e.diagnostics.bounds
    assert low == 0
    assert str(e) == (
        f"recall@1 between 0 and {high:#.2g} from the samples alone; extrapolated {e.value:.4f} ± "
        f"{e.std_error:.4f} for future users (auto, from 3,000 users)"
    )
    plain = e.to_dict()
    assert plain["blind"] is True
    assert plain["bounds"] == (low, high)
    assert list(plain).index("bounds") < list(plain).index("value")


def test_the_naive_number_is_no_extrapolation(blind: tr.RankTable) -> None:
    e = tr.estimate(blind, "recall@1", "naive", n_boot=20)[0]
    assert "from the samples alone; naive " in str(e)


def test_what_was_not_looked_at_is_said_where_ranks_are_sampled(blind: tr.RankTable) -> None:
    unseen = tr.estimate(blind, "recall@1", n_boot=20, bounds=False)[0]
    assert str(unseen).endswith("(auto, from 3,000 users; blind spot not examined)")
    assert not unseen.to_dict()["examined"]
    assert "not examined (bounds=False)" in str(unseen.diagnostics)
    for method in ("auto", "mle"):  # exact ranks have no blind spot, whatever the method
        seen = tr.estimate(exact_table(200), "recall@1", method, n_boot=20, bounds=False)[0]
        assert seen.diagnostics.examined
        assert "not examined" not in str(seen) + str(seen.diagnostics)


# ---------------------------------------------------------------- advice that fits the design


@pytest.mark.parametrize(
    ("design", "said"),
    [
        (tr.Sampled(50), "n >= "),
        (tr.Adaptive(n0=25, n_max=50), "n_max >= "),
        (tr.Adaptive(n0=25, budget=26), "a larger budget"),
    ],
    ids=["sampled", "ceiling", "budget"],
)
def test_nobody_is_told_to_do_what_was_done(design: tr.Sampled | tr.Adaptive, said: str) -> None:
    table = simulate(exact_table(), design, seed=3)
    e = tr.estimate(table, "recall@1", n_boot=0)[0]
    assert e.diagnostics.blind
    notes = str(e.diagnostics)
    assert f"extrapolates by smoothness; {said}" in notes
    both = tr.compare({"a": table, "b": table}, "recall@1", n_boot=100)
    advice = both.comparisons[0].caveats
    adaptive = isinstance(design, tr.Adaptive)
    assert ("an adaptive design" in advice) != adaptive
    if adaptive:
        wanted = "a larger n_max" if design.n_max else "a larger budget"
        assert f"{wanted}, or some users ranked in full" in advice
        assert "Adaptive()" not in notes + both.sentence


# ---------------------------------------------------------------- limits


def test_every_named_metric_has_limits_that_its_values_keep() -> None:
    ranks = np.array([1.0, 2.0, 10.0, 11.0, 500.0])
    for name, definition in DEFINITIONS.items():
        metric = parse(name if definition.cutoff == "none" else f"{name}@10")
        low, high = metric.limits
        values = metric.row_values(ranks, 500)
        assert (low, high) == (0.0, 1.0)
        assert low <= values.min() <= values.max() <= high
    assert as_metric(np.log).limits == (-np.inf, np.inf)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"exact"}))
@pytest.mark.parametrize("n_boot", [20, 120])
def test_intervals_of_every_method_stay_in_the_unit_interval(method: str, n_boot: int) -> None:
    """Few users, few hits: a normal interval of 20 resamples and linear methods would leave it."""
    rng = np.random.default_rng(4)
    rank = rng.integers(1, 51, 40)
    table = tr.RankTable.from_arrays(rank, 50, 1_000)
    for e in tr.estimate(table, ["recall@1", "ndcg@10"], method, n_boot=n_boot, bounds=False):
        for level in (0.5, 0.95, 0.999):
            low, high = e.interval(level)
            assert 0.0 <= low <= high <= 1.0


def test_only_the_limits_of_a_metric_cut() -> None:
    def around(value: float, **limits: tuple[float, float]) -> Estimate:
        return Estimate(metric="m", value=value, std_error=0.1, n_users=50, method="auto", **limits)

    free, cut = around(0.05), around(0.05, limits=(0.0, 1.0))
    assert free.interval()[0] < 0
    assert cut.interval() == (0.0, free.interval()[1])
    assert around(0.97, limits=(0.0, 1.0)).interval()[1] == 1.0
    mean_rank = tr.estimate(exact_table(60), lambda r: r, n_boot=20)[0]
    assert mean_rank.interval()[1] > 1


def test_bounds_stay_within_the_limits_with_several_targets() -> None:
    """The weights of recall-capped@1 sum to more than one a user, bounds of the mean do not."""
    user = np.repeat(np.arange(100), 4)
    table = tr.RankTable.from_arrays(np.ones(400, int), 5, 1_000, user=user, item=np.arange(400))
    e = tr.estimate(table, "recall-capped@1", "mle", n_boot=0)[0]
    assert e.diagnostics.bounds is not None
    assert 0.0 <= e.diagnostics.bounds[0] <= e.diagnostics.bounds[1] <= 1.0
