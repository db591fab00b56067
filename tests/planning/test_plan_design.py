"""Plans: what is recommended is the cheapest that is precise enough."""

from __future__ import annotations

import json

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError, for_cli
from truerank.estimators.grid import RankGrid
from truerank.metrics import parse
from truerank.planning.costs import Rates, measured_rates, rates_of, scored_pairs
from truerank.planning.distributions import typical_distributions
from truerank.planning.plan_design import _default_designs, plan
from truerank.planning.predicted_error import predict
from truerank.planning.sample_size import users_to_detect_paired
from truerank.ranking.design_spec import format_design, parse_design

RECALL = parse("recall@10")
N_ITEMS, N_USERS = 5_000, 3_000
SPEED = (1e7, 1e6)


def some_plan(**changes: object) -> object:
    given: dict[str, object] = {
        "n_items": N_ITEMS, "n_users": N_USERS, "metric": "recall@10", "expected": 0.1,
        "rel_error": 0.1, "pairs_per_second": SPEED, "designs": [], "trials": 4,
    }  # fmt: skip
    return plan(**{**given, **changes})  # type: ignore[arg-type]


def test_the_example_of_the_design() -> None:
    found = plan(
        n_items=10_000_000, n_users=1_000_000, metric="recall@10", expected=0.1, rel_error=0.02,
        pairs_per_second=1e8, designs=[tr.Sampled(100)], trials=4,
    )  # fmt: skip
    assert found.target == pytest.approx(0.002)
    assert found.recommended.design == tr.Users(25_000)  # 9 / m = 0.02 ** 2, rounded up
    assert found.recommended.error == pytest.approx(0.1 * np.sqrt(9 / 25_000))
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
    assert found.recommended.error == pytest.approx(0.1 * np.sqrt(9 / N_USERS))
    assert "% of the value) for future users" in found.sentence


def test_a_plan_says_whose_metric_it_is_for() -> None:
    """Ranking some of the users: (1 - m / M) of the variance about these users, all for others."""
    future, there_are = (
        some_plan(population=p, pairs_per_second=1e5) for p in ("infinite", "finite")
    )
    assert future.wanted == "an error of 0.1 of the value, for future users"
    assert there_are.wanted == "an error of 0.1 of the value, for the users there are"
    for found, population in ((future, "infinite"), (there_are, "finite")):
        assert found.population == found.to_dict()["population"] == population
        some = next(option for option in found.options if isinstance(option.design, tr.Users))
        left = 1 - some.n_users / N_USERS if population == "finite" else 1
        assert some.error == pytest.approx(0.1 * np.sqrt(9 / some.n_users * left))
    assert "for future users" in future.sentence
    assert "for these 3,000 users" in there_are.sentence
    exact = some_plan(population="finite", pairs_per_second=1e9).sentence
    assert "no error for these 3,000 users, since every rank is exact" in exact


def test_what_the_users_there_are_cannot_give_is_refused() -> None:
    for error in ({"rel_error": 0.01}, {"rel_error": None, "abs_error": 0.001}):
        with pytest.raises(InvalidArgumentError, match=r"3,000 users leave.*population='finite'"):
            some_plan(**error)
        assert some_plan(**error, population="finite").recommended.meets
    with pytest.raises(InvalidArgumentError, match="a test is about future users"):
        some_plan(rel_error=None, detect=0.02, population="finite")


def test_a_small_catalogue_is_ranked_in_full() -> None:
    found = plan(60, 40, "recall@10", expected=0.3, rel_error=0.3, pairs_per_second=100)
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
    exact = typical_distributions(N_ITEMS, RECALL, 0.1)[1].draw(1_500, np.random.default_rng(4))
    found = some_plan(expected=None, pilot=exact)
    assert found.value == pytest.approx(exact.per_row("recall@10").mean())
    assert "pilot of 1,500 users" in found.source


def test_a_difference_to_be_found_takes_the_users_of_the_formula() -> None:
    found = some_plan(
        rel_error=None, detect=0.02, correlation=0.7, n_users=100_000, pairs_per_second=1e5
    )
    needed = users_to_detect_paired(0.02, p=0.1, correlation=0.7)
    m = found.recommended.n_users
    assert needed <= m <= 1.25 * needed + 1
    error = next(option.error for option in found.options if option.design == tr.Full())
    assert error == pytest.approx(np.sqrt(2 * 0.3 * 0.09 / 100_000))


def test_absolute_and_relative_errors_agree() -> None:
    a, b = some_plan(rel_error=0.1), some_plan(rel_error=None, abs_error=0.01)
    assert a.recommended == b.recommended
    assert a.wanted != b.wanted


def test_the_old_name_of_what_is_wanted_warns() -> None:
    found = some_plan()
    with pytest.warns(DeprecationWarning, match="'wish' of Plan is called 'wanted' now"):
        assert found.wish == found.wanted
    assert found.to_dict()["wish"] == found.to_dict()["wanted"]


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


def test_costs_are_those_of_the_rows() -> None:
    count = {"n_users": 10_000, "n_items": 10**6, "per_row": 300.0}
    assert scored_pairs(tr.Full(), **count) == 10**10
    assert scored_pairs(tr.Sampled(300), **count) == 3e6
    assert scored_pairs(tr.Adaptive(n0=100, n_max=3200), **count) == 3e6
    assert scored_pairs(tr.Adaptive(), **count) == 3e6  # its pilot is part of the table


def test_nothing_is_scored_that_is_not_counted() -> None:
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
    assert scored == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("design", [tr.Screened(k=10), tr.Screened(k=10, budget=400)], ids=str)
def test_a_screen_costs_what_is_scored(design: tr.Screened) -> None:
    """The cost of a plan, from simulated ranks, beside that of really ranked ones."""
    distribution = typical_distributions(2_000, RECALL, 0.1)[2]
    rng = np.random.default_rng(8)
    scorer = tr.FactorScorer(rng.normal(size=(2_500, 8)), rng.normal(size=(2_000, 8)))
    exact = distribution.draw(2_500, rng)
    users = np.arange(2_500)
    order = np.argsort(-scorer.score_all(users), axis=1)
    table = tr.rank_pairs(scorer, users, order[users, exact.rank - 1], design)
    found = predict(design, [distribution], RECALL, n_users=2_500, trials=2)
    assert found.per_row == pytest.approx(table.n_scored.mean(), rel=0.1)
    anew = table.n_items.sum() * table.is_exact.mean() / len(table)
    assert found.in_full == pytest.approx(anew, rel=0.15)
    pairs = scored_pairs(design, n_users=2_500, n_items=2_000, per_row=found.per_row)
    assert pairs == pytest.approx(table.n_scored.sum(), rel=0.1)


RATES = Rates(full=10.0, sampled=2.0, shared=6.0)


def test_speed_is_measured() -> None:
    rates = measured_rates(2_000)
    assert rates.measured
    assert min(rates.full, rates.sampled, rates.shared) > 1e4
    size = {"n_users": 200 * 256, "n_items": 8}
    assert RATES.seconds(tr.Sampled(5), 20, **size) == 10
    assert RATES.seconds(tr.Full(), 20, **size) == 2
    # 256 users a block, as in the measurement; 8 items brought into order by look-ups.
    assert RATES.seconds(tr.Screened(), 120, **size) == pytest.approx(20 + 4)
    assert RATES.seconds(tr.Sampled(5, shared=256), 120, **size) == pytest.approx(20 + 4)
    assert RATES.seconds(tr.Screened(), 120, **size, in_full=60) == pytest.approx(6 + 10 + 4)
    few = RATES.seconds(tr.Screened(), 120, n_users=200, n_items=8)  # blocks of one
    assert few == pytest.approx(20 * 51 / (1 + 50 / 256) + 4)


def test_rates_that_are_given() -> None:
    assert rates_of(50, 9) == Rates(full=50, sampled=50, shared=50)
    assert rates_of((100.0, 5.0), 9) == Rates(full=100, sampled=5, shared=60)
    assert rates_of((5.0, 100.0), 9).shared == 5
    assert rates_of((100.0, 90.0), 9).shared == 90
    assert rates_of((9.0, 2.0, 7.0), 9).shared == 7


def test_a_scorer_that_is_called_gains_nothing_by_blocks() -> None:
    """One rate: seconds are pairs, whatever the design and the number of users."""
    found = some_plan(
        designs=[tr.Screened(k=10), tr.Screened(k=10, budget=500), tr.Adaptive()],
        pairs_per_second=1e4,
    )
    assert len(found.options) > 4
    for option in found.options:
        assert option.seconds == pytest.approx(option.pairs / 1e4)


# ---------------------------------------------------------------- screens


def test_screens_are_recommended_where_products_are_quick() -> None:
    """Of 10^6 items a screen scores a sixth; single look-ups are twenty times as slow."""
    crowd = {"n_items": 10**6, "n_users": 40_000, "rel_error": 0.018}
    ways = [tr.Sampled(1_000), tr.Screened(k=10)]
    found = some_plan(**crowd, designs=ways, pairs_per_second=(2e8, 1e7, 1e8))
    assert found.recommended.words.endswith("screened k=10")
    screened = next(option for option in found.options if option.words == "screened k=10")
    assert screened.error / found.value == pytest.approx(0.015, rel=0.02)  # that of its users
    assert screened.bias < 1e-3 * found.value
    assert "100 million in a screen" in str(found)
    assert parse_design(found.recommended.words) == found.recommended.design


def test_default_designs_have_screens_for_the_metric() -> None:
    words = [format_design(way) for way in _default_designs(41_000, RECALL)]
    assert [w for w in words if "screened" in w] == [
        "screened k=10", "screened k=10 budget=2000", "screened k=10 budget=5000",
    ]  # fmt: skip
    assert "screened budget=20000" in map(format_design, _default_designs(10**6, parse("mrr")))
    assert "screened" not in map(format_design, _default_designs(10**6, parse("mrr")))
    assert "screened" in map(format_design, _default_designs(10**6, parse("ndcg@20")))
    assert "screened" not in " ".join(map(format_design, _default_designs(400, RECALL)))
    assert "screened" not in " ".join(
        map(format_design, _default_designs(10**6, parse("recall@5000")))
    )


def test_seconds_of_a_screen_become_a_budget() -> None:
    found = some_plan(designs=[tr.Screened(k=10, seconds=0.3)], pairs_per_second=(1e7, 1e6))
    assert "screened k=10 budget=1000" in [option.words for option in found.options]


def test_where_full_ranking_is_quick_nothing_else_is_tried() -> None:
    quick = some_plan(designs=None, pairs_per_second=1e8)
    assert quick.only_full
    assert quick.to_dict()["only_full"]
    assert all("full" in option.words for option in quick.options)
    assert quick.recommended.design == tr.Full()
    assert "were not tried" in str(quick)
    assert "--try" in for_cli(str(quick))
    asked = some_plan(designs=[tr.Sampled(100)], pairs_per_second=1e8)
    assert not asked.only_full
    assert "were not tried" not in str(asked)
    assert asked.recommended == quick.recommended
    slow = some_plan(designs=None, pairs_per_second=1e6, trials=2)
    assert not slow.only_full
    assert "screened k=10" in [option.words for option in slow.options]


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
        ({"pairs_per_second": (1.0, 2.0, 3.0, 4.0)}, r"or \(full, sampled, shared\)"),
        ({"rel_error": None, "detect": 0.01, "correlation": 1.0}, "from -1 to below 1"),
        ({"rel_error": None, "detect": 0.01, "power": 0.1}, "power must be from 0.5"),
        ({"confidence": 95}, "confidence must be between 0 and 1"),
        ({"trials": 0}, "trials must be a whole number, at least 1"),
    ],
)
def test_mistakes_have_a_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        some_plan(**changes)


@pytest.mark.parametrize(
    "value",
    [np.nan, np.inf, -np.inf, "100", None, True, 1e20, 10**400, 2.5, np.array([5, 6]), 1j],
    ids=lambda value: str(value)[:9],
)
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("n_items", "at least 2 and at most 1,000,000,000, got .*hypergeometric"),
        ("n_users", "at least 1 and at most 9,007,199,254,740,992, got"),
        ("trials", "at least 1 and at most 1,000,000, got"),
    ],
)
def test_sizes_that_are_none_have_one_sentence(name: str, limits: str, value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{name} must be a whole number, {limits}"):
        some_plan(**{name: value})


@pytest.mark.parametrize(
    "value", ["x", np.nan, 10**400, 1j, np.array([1, 2])], ids=lambda value: str(value)[:9]
)
@pytest.mark.parametrize(
    ("name", "sentence", "more"),
    [
        ("expected", "expected must be a number, roughly the recall@10", {}),
        ("rel_error", "rel_error must be positive", {}),
        ("correlation", "correlation must be from -1", {"rel_error": None, "detect": 0.05}),
        ("power", "power must be from 0.5", {"rel_error": None, "detect": 0.05}),
        ("confidence", "confidence must be between 0 and 1", {}),
        ("pairs_per_second", "pairs_per_second must be a positive number", {}),
        ("seed", "seed must be an integer", {}),
        ("designs", r"designs must be a list of Full\(\), Sampled\(n\), Adaptive", {}),
        ("pilot", "pilot must be a RankTable", {"expected": None}),
    ],
)
def test_what_is_no_number_has_one_sentence(
    name: str, sentence: str, more: dict[str, object], value: object
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{sentence}"):
        some_plan(**more | {name: value})


def test_the_largest_catalogue_and_crowd_can_be_planned_for() -> None:
    found = some_plan(
        n_items=1e9, n_users=2**53, designs=[tr.Sampled(100)], trials=2, rel_error=0.5,
        metric="auc", expected=0.9,
    )  # fmt: skip
    assert (found.n_items, found.n_users) == (10**9, 2**53)
    assert type(found.n_items) is int
    for name, beyond in (("n_items", 10**9 + 1), ("n_users", 2**53 + 1)):
        with pytest.raises(InvalidArgumentError, match=f"{name} must be a whole number"):
            some_plan(**{name: beyond})


def test_a_precision_that_no_user_can_give_says_what_can_be_had() -> None:
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
    distribution = typical_distributions(10_000_000, RECALL, 0.1)[0]
    assert np.array_equal(distribution.grid.edges, RankGrid.of(10_000_000).edges)


def test_a_pilot_without_rows_is_refused() -> None:
    pilot = tr.RankTable.from_arrays(rank=np.zeros(0, np.int64), n_sampled=10, n_items=1_000)
    assert pilot.user_weight.shape == (0,)
    with pytest.raises(InvalidDataError, match=r"the pilot has no rows.* or give expected="):
        plan(1_000, 100, pilot=pilot, rel_error=0.1)
