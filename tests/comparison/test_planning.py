"""Plans: what they predict holds on users of the assumed law, what they recommend is cheapest."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import truerank as tr
from truerank.comparison.planning import plan
from truerank.comparison.planning_costs import Rates, measured_rates, scored_pairs
from truerank.comparison.planning_errors import PredictedError, _Trials, predict
from truerank.comparison.planning_laws import typical_laws
from truerank.comparison.planning_pilots import pilot_laws, pilot_value, step_strength
from truerank.comparison.planning_trials import auto_values
from truerank.comparison.telling_apart import users_to_tell_apart_paired
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.grid import RankGrid
from truerank.estimators.simulate import simulate
from truerank.metrics import parse
from truerank.ranking.design_words import parse_design

RECALL = parse("recall@10")
N_ITEMS, N_USERS = 5_000, 3_000
SPEED = (1e7, 1e6)


def some_plan(**changes: object) -> object:
    given: dict[str, object] = {
        "n_items": N_ITEMS, "n_users": N_USERS, "metric": "recall@10", "expected": 0.1,
        "rel_error": 0.1, "pairs_per_second": SPEED, "designs": [], "trials": 4,
    }  # fmt: skip
    return plan(**{**given, **changes})  # type: ignore[arg-type]


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("metric", ["recall@1", "ndcg@10", "ap", "auc"])
@pytest.mark.parametrize("n_items", [300, 10_000_000])
def test_typical_laws_have_the_expected_level_and_differ(metric: str, n_items: int) -> None:
    chosen = parse(metric)
    level = 0.8 if metric == "auc" else 0.15
    laws = typical_laws(n_items, chosen, level)
    for law in laws:
        assert law.mass.sum() == pytest.approx(1)
        assert (law.mass >= 0).all()
        assert law.moments(chosen)[0] == pytest.approx(level, rel=1e-6)
    upto = np.cumsum([law.mass for law in laws], axis=1)
    assert np.ptp(upto, axis=0).max() > 0.03


def test_draws_follow_the_law() -> None:
    """Shares of the top, and of a wide bin, within 4.5 standard errors: P < 1e-5 each."""
    law, n = typical_laws(50_000, RECALL, 0.1)[1], 40_000
    ranks = law.draw(n, np.random.default_rng(1)).rank
    mean, sd = law.moments(RECALL)
    assert sd == pytest.approx(np.sqrt(mean * (1 - mean)), rel=1e-6)
    assert np.mean(ranks <= 10) == pytest.approx(mean, abs=4.5 * sd / np.sqrt(n))
    below = law.mass[law.grid.edges[1:] <= 10_001].sum()
    cut = law.grid.edges[1:][law.grid.edges[1:] <= 10_001][-1]
    assert np.mean(ranks < cut) == pytest.approx(below, abs=4.5 * 0.5 / np.sqrt(n))
    assert ranks.max() <= 50_000


@pytest.mark.parametrize("design", [tr.Full(), tr.Adaptive()], ids=["full", "adaptive"])
def test_laws_of_a_pilot_spread_as_far_as_the_pilot_leaves_open(design: object) -> None:
    """The draws' spread is the error of the pilot's own estimate, in both directions.

    24 pilots; the spread of 16 draws is known to 18 % each time, and the error to 14 %.
    """
    law, m = typical_laws(N_ITEMS, RECALL, 0.1)[2], 1_000
    rng, errors, spreads = np.random.default_rng(2), [], []
    for run in range(24):
        pilot = simulate(law.draw(m, rng), design, seed=run)  # type: ignore[arg-type]
        values = [x.moments(RECALL)[0] for x in pilot_laws(pilot, N_ITEMS, RECALL, seed=run)]
        errors.append(np.mean(values) / 0.1 - 1)
        spreads.append(np.std(values, ddof=1) / 0.1)
    # The error of the draws' mean has its own noise: a sixteenth of their variance.
    ratio = np.sqrt(np.mean(np.square(spreads)) * 17 / 16 / np.mean(np.square(errors)))
    assert np.exp(-4 * 0.15) < ratio < np.exp(4 * 0.15)


def test_laws_of_a_pilot_are_smooth_and_those_of_their_seed() -> None:
    exact = typical_laws(N_ITEMS, RECALL, 0.1)[2].draw(2_000, np.random.default_rng(3))
    first, again, other = (pilot_laws(exact, N_ITEMS, RECALL, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first[3].mass, again[3].mass)
    assert not np.array_equal(first[3].mass, other[3].mass)
    edges, mass = tr.rank_distribution(exact)
    assert np.array_equal(first[0].grid.edges, edges)
    rough = np.abs(np.diff(np.log(mass[:100] + 1e-4))).mean()
    for law in first:
        assert law.mass.sum() == pytest.approx(1)
        assert np.abs(np.diff(np.log(law.mass[:100] + 1e-4))).mean() < rough / 4


def test_the_value_of_a_pilot_is_that_of_its_estimate() -> None:
    exact = typical_laws(N_ITEMS, RECALL, 0.1)[2].draw(2_000, np.random.default_rng(3))
    assert pilot_value(exact, RECALL) == pytest.approx(exact.per_row("recall@10").mean(), rel=1e-9)
    sampled = simulate(exact, tr.Adaptive(), seed=1)
    found = tr.estimate(sampled, "recall@10", n_boot=0)[0].value
    assert pilot_value(sampled, RECALL) == pytest.approx(found, rel=1e-9)


def test_steps_are_found_where_there_are_some_and_not_where_there_are_none() -> None:
    """Poisson counts of 128 ranks seldom, counts with steps of .6 nearly always.

    BIC accepts if twice the gain exceeds log 128 = 4.9: chi-square with one degree of freedom,
    half a chance each way, gives 1.4 %; 9 or more of 200 have P < .003 and 20 P < 1e-9.
    """
    rng, smooth = np.random.default_rng(8), 200.0 / np.arange(2, 130)
    none = [step_strength(rng.poisson(smooth).astype(float), smooth) for _ in range(200)]
    assert sum(found is not None for found in none) < 20
    rough = [rng.poisson(smooth * rng.gamma(2.8, 1 / 2.8, 128)).astype(float) for _ in range(50)]
    found = [step_strength(counts, smooth) for counts in rough]
    assert sum(kappa is not None for kappa in found) > 45
    assert np.median([kappa for kappa in found if kappa]) == pytest.approx(2.8, rel=0.3)


def test_laws_of_a_popularity_list_have_its_steps() -> None:
    """All users of the top are at odd ranks. Laws follow, and their level stays the pilot's.

    A value of about .3 is known to 2.4 % by 4,000 users; 12 % are five standard errors.
    """
    ranks = typical_laws(N_ITEMS, RECALL, 0.3)[2].draw(4_000, np.random.default_rng(9)).rank
    ranks = np.where(ranks <= 128, ranks - (ranks + 1) % 2, ranks)
    pilot = tr.RankTable.from_arrays(ranks, N_ITEMS, N_ITEMS)
    for law in pilot_laws(pilot, N_ITEMS, RECALL):
        assert law.mass.sum() == pytest.approx(1)
        assert law.moments(RECALL)[0] == pytest.approx(pilot_value(pilot, RECALL), rel=0.12)
        assert law.mass[:20:2].sum() > 5 * law.mass[1:20:2].sum()
    sampled = simulate(pilot, tr.Sampled(n=500), seed=1)
    for law in pilot_laws(sampled, N_ITEMS, RECALL):  # samples cannot show it
        assert law.mass[:20:2].sum() < 2 * law.mass[1:20:2].sum()


def test_a_weight_of_two_is_two_users() -> None:
    """Up to the information: equal weights are one each, whatever they are."""
    exact = typical_laws(N_ITEMS, RECALL, 0.1)[2].draw(500, np.random.default_rng(4))
    heavy = replace(exact, weight=np.full(len(exact), 2.0))
    a, b = (pilot_laws(x, N_ITEMS, RECALL)[0].mass for x in (exact, heavy))
    assert np.allclose(a, b, rtol=1e-9)


# ---------------------------------------------------------------- predictions


def test_full_ranking_of_some_users_has_the_error_of_a_mean() -> None:
    laws = typical_laws(N_ITEMS, RECALL, 0.1)
    found = predict(tr.Full(), laws, RECALL, n_users=N_USERS)
    bias, items, users = found.parts(750, 0.25)
    assert (bias, items) == (0, 0)
    assert users == pytest.approx(0.9 / 0.1 / 750 * 0.75)
    assert sum(found.parts(N_USERS, 1.0)) == 0


@pytest.mark.parametrize("words", ["sampled n=50", "adaptive", "users m=1500 sampled n=50"])
def test_predictions_come_true_on_users_of_the_law(words: str) -> None:
    """Both sides are simulated: 60 trials and 60 tables make the ratio certain to 13 %."""
    law = typical_laws(N_ITEMS, RECALL, 0.1)[2]
    design = parse_design(words)
    inner = design.inner if isinstance(design, tr.Users) else design
    found = predict(inner, [law], RECALL, n_users=N_USERS, trials=60)
    m = design.m if isinstance(design, tr.Users) else N_USERS
    predicted = np.sqrt(sum(found.parts(m, m / N_USERS)))
    rng, off = np.random.default_rng(3), []
    for run in range(60):
        exact = law.draw(N_USERS, rng)
        truth = exact.per_row("recall@10").mean()
        table = simulate(exact, design, seed=run)
        off.append(tr.estimate(table, "recall@10", n_boot=0, bounds=False)[0].value / truth - 1)
    ratio = predicted / np.sqrt(np.mean(np.square(off)))
    assert np.exp(-4 * 0.13) < ratio < np.exp(4 * 0.13)
    assert found.per_row == pytest.approx(table.n_scored.mean(), rel=0.15)


def test_a_blind_design_is_seen_as_such() -> None:
    """n = 50 of a million items says nothing about the top ten: mostly bias, and a large one."""
    laws = typical_laws(1_000_000, RECALL, 0.1)
    blind = predict(tr.Sampled(n=50), laws, RECALL, n_users=10**6, trials=4)
    bias, items, users = blind.parts(10**6, 1.0)
    assert np.sqrt(bias) > 0.15
    assert bias > 4 * (items + users)  # more users would not help
    assert sum(blind.parts(10**7, 0.0)) > 0.5 * sum(blind.parts(10**5, 0.0))


def test_the_squared_bias_is_without_the_noise_of_the_trials() -> None:
    """4,000 laws of 2 trials: means of products are certain to 4.5 standard errors, P < 1e-5."""
    rng = np.random.default_rng(6)
    bias, noise = 0.3, rng.normal(size=(4_000, 2))
    found = _Trials(error=bias + noise, truth=np.ones((4_000, 2)), per_row=1.0).bias_square()
    # The estimate is the mean of products of the two trials of a law.
    spread = np.sqrt((bias**2 + 1) ** 2 - bias**4)
    assert found == pytest.approx(bias**2, abs=4.5 * spread / np.sqrt(4_000))
    assert found == pytest.approx(np.mean((bias + noise[:, 0]) * (bias + noise[:, 1])))
    opposed = np.array([[1.0, -1.0], [2.0, -2.0]])
    assert _Trials(error=opposed, truth=opposed, per_row=1.0).bias_square() == 0


def test_the_correlation_of_error_and_users_is_not_shrunk_by_few_trials() -> None:
    """Laws of 2 trials with a correlation of -.6 and a bias of their own."""
    rng = np.random.default_rng(7)
    users, other = rng.normal(size=(2, 4_000, 2))
    error = rng.normal(size=(4_000, 1)) - 0.6 * users + 0.8 * other
    found = _Trials(error=error, truth=1 + users, per_row=1.0).correlation()
    assert found == pytest.approx(-0.6, abs=4.5 * 1.5 / np.sqrt(4_000))


def test_tables_together_give_what_each_gives_alone() -> None:
    law = typical_laws(N_ITEMS, RECALL, 0.1)[1]
    tables = [
        simulate(law.draw(1_000, np.random.default_rng(run)), tr.Adaptive(), seed=run)
        for run in range(3)
    ]
    alone = [tr.estimate(table, "recall@10", n_boot=0)[0].value for table in tables]
    assert auto_values(tables, RECALL) == pytest.approx(alone, rel=1e-6)
    assert auto_values(tables, RECALL, columns=320) == pytest.approx(alone, rel=1e-3)


def test_errors_between_and_beyond_what_was_tried() -> None:
    found = PredictedError(
        design=tr.Sampled(100), users=(1_000, 4_000), mean_square=(0.04, 0.01),
        bias_square=(0.0064, 0.0064), user_spread=3.0, per_row=100.0,
    )  # fmt: skip
    assert found.own(1_000)[0] == pytest.approx(0.04)
    assert found.own(2_000)[0] == pytest.approx(0.02)  # a straight line of logarithms
    assert found.own(500)[0] == pytest.approx(0.08)
    assert found.own(40_000) == pytest.approx((0.0064 + 0.0036 / 10, 0.0064))
    bias, items, users = found.parts(4_000, 0.25)
    assert bias + items == pytest.approx(0.01)
    assert users == pytest.approx(0.75 * 9 / 4_000)
    less = replace(found, correlation=-0.25).parts(4_000, 0.25)[2]
    assert less == pytest.approx(0.75 * (9 / 4_000 - 0.5 * np.sqrt(9 / 4_000 * 0.0036)))
    assert replace(found, correlation=-1.0).parts(4_000, 0.25)[2] == 0


# ---------------------------------------------------------------- plans


def test_the_example_of_the_design() -> None:
    found = plan(
        n_items=10_000_000, n_users=1_000_000, metric="recall@10", expected=0.1, rel_error=0.02,
        pairs_per_second=1e8, designs=[tr.Sampled(100)], trials=4,
    )  # fmt: skip
    assert found.target == pytest.approx(0.002)
    assert found.recommended.design == tr.Users(25_000)  # 9 / m = 0.02 ** 2, rounded up
    assert found.recommended.error == pytest.approx(0.1 * np.sqrt(9 / 25_000 * 0.975))
    assert found.command == 'truerank rank ... --design "users m=25000 full"'
    text = str(found)
    assert "<- recommended" in text
    assert "10,000 billion" in text
    blind = next(option for option in found.options if option.words == "sampled n=100")
    assert not blind.meets
    assert blind.error > 10 * found.target
    assert len({line.index("recommended") for line in text.splitlines() if "<-" in line}) == 1


def test_options_are_ordered_marked_and_cheapest_is_recommended() -> None:
    found = some_plan(designs=[tr.Sampled(100), tr.Adaptive()], pairs_per_second=(1e5, 1e6))
    seconds = [option.seconds for option in found.options]
    assert seconds == sorted(seconds)
    for option in found.options:
        assert option.error**2 == pytest.approx(option.bias**2 + option.std_error**2)
        assert option.meets == (option.error <= found.target)
        beaten = any(o.seconds <= option.seconds and o.error < option.error for o in found.options)
        assert option.pareto == (not beaten)
        assert parse_design(option.words) == option.design
        m = option.design.m if isinstance(option.design, tr.Users) else N_USERS
        assert option.n_users == m
    assert found.recommended == next(option for option in found.options if option.meets)
    assert set(found.pareto) == {option for option in found.options if option.pareto}


def test_everything_is_ranked_where_that_is_quick() -> None:
    found = some_plan(pairs_per_second=1e9)
    assert found.recommended.design == tr.Full()
    assert "every rank is exact" in found.sentence


def test_a_small_catalogue_is_ranked_in_full() -> None:
    found = plan(60, 40, "recall@10", expected=0.3, rel_error=0.1, pairs_per_second=100)
    assert [option.words for option in found.options] == ["full"]
    assert "Ranking everything" not in found.sentence
    larger = plan(
        400, 300, "recall@10", expected=0.3, rel_error=0.3, pairs_per_second=100, trials=2
    )
    assert "Ranking everything: 120 thousand pairs, 20 min." in larger.sentence
    assert "adaptive" in [option.words for option in larger.options]


def test_plans_are_those_of_their_seed() -> None:
    same = [some_plan(designs=[tr.Sampled(100)], seed=s).to_dict() for s in (1, 1, 2)]
    assert same[0] == same[1]
    assert same[0] != same[2]


def test_a_pilot_in_place_of_a_guess() -> None:
    exact = typical_laws(N_ITEMS, RECALL, 0.1)[1].draw(1_500, np.random.default_rng(4))
    found = some_plan(expected=None, pilot=exact)
    assert found.value == pytest.approx(exact.per_row("recall@10").mean())
    assert "pilot of 1,500 users" in found.source


def test_a_difference_to_be_found_takes_the_users_of_the_formula() -> None:
    found = some_plan(
        rel_error=None, detect=0.02, correlation=0.7, n_users=100_000, pairs_per_second=1e5
    )
    needed = users_to_tell_apart_paired(0.02, p=0.1, correlation=0.7)
    m = found.recommended.n_users
    assert needed <= m <= 1.25 * needed + 1
    error = next(option.error for option in found.options if option.design == tr.Full())
    assert error == pytest.approx(np.sqrt(2 * 0.3 * 0.09 / 100_000))


def test_absolute_and_relative_wishes_agree() -> None:
    a, b = some_plan(rel_error=0.1), some_plan(rel_error=None, abs_error=0.01)
    assert a.recommended == b.recommended
    assert a.wish != b.wish


def test_as_a_frame_and_as_json() -> None:
    pytest.importorskip("pandas")
    found = some_plan()
    frame = found.to_frame()
    assert len(frame) == len(found.options)
    assert frame["words"].tolist() == [option.words for option in found.options]
    again = json.loads(json.dumps(found.to_dict()))
    assert again["recommended"]["words"] == found.recommended.words
    assert again["sentence"] == found.sentence


# ---------------------------------------------------------------- costs


def test_costs_count_the_pilot_of_a_budget() -> None:
    count = {"n_users": 10_000, "n_items": 10**6, "per_row": 300.0}
    assert scored_pairs(tr.Full(), **count) == 10**10
    assert scored_pairs(tr.Sampled(300), **count) == 3e6
    assert scored_pairs(tr.Adaptive(n0=100, n_max=3200), **count) == 3e6
    assert scored_pairs(tr.Adaptive(), **count) == 300 * (10_000 + 2 * 4_096)


def test_the_pilot_is_scored_as_often_as_counted() -> None:
    """Pairs really scored for an adaptive table with a budget, by counting the calls."""
    rng = np.random.default_rng(5)
    score = rng.normal(size=(400, 3_000))
    scored = 0

    def pairs(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        nonlocal scored
        scored += items.size
        return score[users[:, None], items]

    scorer = tr.FunctionScorer(None, 3_000, pairs)
    users = np.arange(400)
    items = np.argsort(-score, axis=1)[users, rng.geometric(0.02, 400)]
    table = tr.rank_pairs(scorer, users, items, tr.Adaptive())
    expected = scored_pairs(
        tr.Adaptive(), n_users=400, n_items=3_000, per_row=float(table.n_scored.mean())
    )
    assert scored == pytest.approx(expected, rel=0.35)


def test_speed_is_measured() -> None:
    rates = measured_rates(2_000)
    assert rates.measured
    assert rates.full > 1e4
    assert rates.sampled > 1e4
    assert Rates(full=10.0, sampled=2.0).seconds(tr.Sampled(5), 20) == 10
    assert Rates(full=10.0, sampled=2.0).seconds(tr.Full(), 20) == 2


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rel_error": None}, "exactly one of rel_error, abs_error and detect"),
        ({"abs_error": 0.01}, "exactly one of rel_error, abs_error and detect"),
        ({"rel_error": 0.0}, "rel_error must be positive"),
        ({"expected": None}, "expected must be given, or a pilot in its place"),
        ({"expected": 1.0}, "expected must be between 0.002, .* and 1, of perfect order"),
        ({"expected": 0.0}, "expected must be between"),
        ({"expected": 0.001}, "recall@10 of random order"),
        ({"metric": "recall@5001"}, "K at most the 5,000 items"),
        ({"metric": "recal@10"}, "recall"),
        ({"n_users": 0}, "n_users must be a whole number, at least 1"),
        ({"n_items": 1}, "n_items must be a whole number, at least 2"),
        ({"pairs_per_second": 0}, "pairs_per_second must be a positive number"),
        ({"pairs_per_second": (1.0, 2.0, 3.0)}, r"two: \(full, sampled\)"),
        ({"rel_error": None, "detect": 0.01, "correlation": 1.0}, "from -1 to below 1"),
        ({"rel_error": None, "detect": 0.01, "power": 0.1}, "power must be from 0.5"),
        ({"level": 95}, "level must be between 0 and 1"),
        ({"trials": 0}, "trials must be a whole number, at least 1"),
    ],
)
def test_mistakes_have_a_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        some_plan(**changes)


def test_a_wish_that_no_user_can_fulfil_says_what_can_be_had() -> None:
    """3,000 users, sd 0.3, correlation 1/2: 0.3 / sqrt(3000) * (1.96 + 0.84) = 0.0153."""
    with pytest.raises(InvalidArgumentError, match=r"at least 0\.015, the smallest difference"):
        some_plan(rel_error=None, detect=0.001)


def test_pilots_that_cannot_tell() -> None:
    several = tr.RankTable.from_arrays([1, 2], N_ITEMS, N_ITEMS, user=[0, 0], item=[1, 2])
    other = tr.RankTable.from_arrays([1, 2], 100, 100)
    never = tr.RankTable.from_arrays([4_000, 3_000], N_ITEMS, N_ITEMS)
    with pytest.raises(InvalidDataError, match="several held-out items"):
        some_plan(expected=None, pilot=several)
    with pytest.raises(InvalidArgumentError, match="the pilot, which has 100 candidates"):
        some_plan(expected=None, pilot=other)
    with pytest.raises(InvalidDataError, match="recall@10 is 0, so it says nothing"):
        some_plan(expected=None, pilot=never)
    with pytest.raises(InvalidArgumentError, match="not both"):
        some_plan(pilot=never)


def test_the_grid_of_a_law_is_that_of_the_catalogue() -> None:
    law = typical_laws(10_000_000, RECALL, 0.1)[0]
    assert np.array_equal(law.grid.edges, RankGrid.of(10_000_000).edges)
