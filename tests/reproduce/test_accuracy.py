from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError, MissingExtraError
from truerank.estimators.simulate import simulate
from truerank.metrics import Metric
from truerank.ranking.design_spec import format_design, parse_design
from truerank.reproduce import exact_ranks as exact_ranks_module
from truerank.reproduce import fitted
from truerank.reproduce.accuracy import (
    MEASURES,
    OURS,
    REFERENCE,
    Accuracy,
    exact_values,
    make_plan,
    mean_relative_error,
    means,
    measure,
    ratio,
    ratios,
)
from truerank.reproduce.cost_curve import cost_curve
from truerank.reproduce.coverage import measure_coverage
from truerank.reproduce.exact_ranks import ExactRanks, exact_ranks, one_of_each_user
from truerank.reproduce.fits import Fits
from truerank.reproduce.printed_accuracy import all_figures, published_figure


def a_table(n_users: int = 3_000, n_items: int = 2_000, seed: int = 1) -> tr.RankTable:
    """A plausible model: log-ranks spread evenly, with a little more at the end."""
    rng = np.random.default_rng(seed)
    rank = np.ceil(n_items ** rng.beta(2.0, 1.0, n_users)).astype(np.int64)
    return tr.RankTable.from_arrays(rank=np.minimum(rank, n_items), n_sampled=n_items,
                                    n_items=n_items)  # fmt: skip


def a_pair(table: tr.RankTable | None = None) -> ExactRanks:
    return ExactRanks(data="made up", model="popularity", table=table or a_table(), path=Path())


# ------------------------------------------------------------------ the errors


def test_exact_values_by_the_formulas() -> None:
    table = a_table(n_users=200)
    values = exact_values(table, 50)
    for row, gain in enumerate((lambda R: 1.0, lambda R: 1 / math.log2(1 + R), lambda R: 1 / R)):
        for k in (1, 7, 50):
            by_hand = sum(gain(R) for R in table.rank.tolist() if k >= R) / 200
            assert values[row, k - 1] == pytest.approx(by_hand, rel=1e-12)


def test_cutoffs_nobody_reaches_are_left_out() -> None:
    truth = np.array([[0.0, 0.5, 1.0]])
    assert mean_relative_error(np.array([[0.3, 0.25, 1.1]]), truth) == pytest.approx(
        [(0.5 + 0.1) / 2]
    )
    with pytest.raises(InvalidDataError, match="top 50"):
        mean_relative_error(truth, np.zeros((1, 3)))


def slow_reference(exact: list[int], n_items: int, seed: int) -> tuple[list[float], float]:
    """alg:adp and 50 EM steps with dense matrices and loops: Recall@1..50 and the mean size."""
    rng = np.random.default_rng(seed)
    observed: dict[tuple[int, int], int] = {}
    scored = 0
    for R in exact:
        n, better = 100, int(rng.binomial(99, (R - 1) / (n_items - 1)))
        while better == 0 and n < 3200:
            more = min(2 * n, 3200) - n
            better += int(rng.binomial(more, (R - 1) / (n_items - 1)))
            n += more
        scored += n
        observed[better + 1, n] = observed.get((better + 1, n), 0) + 1
    theta = np.arange(n_items) / (n_items - 1)
    rows = []
    for r, n in observed:
        log_choose = math.lgamma(n) - math.lgamma(r) - math.lgamma(n - r + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = log_choose + np.where(r > 1, (r - 1) * np.log(theta), 0.0)
            log_p = log_p + np.where(n > r, (n - r) * np.log1p(-theta), 0.0)
        rows.append(np.exp(log_p))
    A, share = np.array(rows), np.array(list(observed.values())) / len(exact)
    pi = np.full(n_items, 1 / n_items)
    for _ in range(50):
        pi = pi * (A.T @ (share / (A @ pi)))
    return np.cumsum(pi)[:50].tolist(), scored / len(exact)


def test_the_reference_is_an_independent_slow_loop() -> None:
    """Means over repeats agree; 5 standard errors: a false alarm in 6e-7 of seeds."""
    table = a_table(n_users=1_000, n_items=4_000)
    truth = exact_values(table, 50)
    repeats = 15
    slow = [slow_reference(table.rank.tolist(), 4_000, seed) for seed in range(repeats)]
    error = [mean_relative_error(np.array([recall]), truth[:1])[0] for recall, _ in slow]
    (ours,), refusals = measure(a_pair(table), [(REFERENCE[0], ["mle"])], repeats=repeats)
    assert refusals == []
    spread = np.hypot(100 * np.std(error, ddof=1), ours.spread["recall"]) / np.sqrt(repeats)
    assert abs(100 * np.mean(error) - ours.error["recall"]) < 5 * spread
    sizes = [size for _, size in slow]
    spread = np.hypot(np.std(sizes, ddof=1), ours.scored_spread) / np.sqrt(repeats)
    assert abs(np.mean(sizes) - ours.scored) < 5 * spread


def test_error_decreases_with_n_and_ours_beats_the_reference() -> None:
    plan = [(f"sampled n={n}", ["auto"]) for n in (50, 200, 1000)]
    lines, _ = measure(
        a_pair(), [*plan, (REFERENCE[0], ["mle"]), ("adaptive", ["auto"])], repeats=6
    )
    error = [line.error["recall"] for line in lines]
    assert error[0] > error[1] > error[2]
    against = ratio(lines)
    assert against is not None
    assert against.error["recall"] < 1


def test_fits_are_those_of_estimate() -> None:
    table = simulate(a_table(), parse_design("adaptive"), seed=3)
    names = ["recall@1", "ndcg@10", "ap@50"]
    metrics = [Metric(name.split("@")[0], int(name.split("@")[1])) for name in names]
    for method in ("naive", "mle", "auto"):
        values = Fits.of(table).values(metrics, method, n_boot=120, seed=4)
        for k, known in enumerate(tr.estimate(table, names, method, n_boot=120, seed=4)):
            assert values[k, 0] == pytest.approx(known.value, rel=1e-12)
            low, high = np.quantile(values[k, 1:], [0.025, 0.975])
            assert (low, high) == pytest.approx(known.interval(), rel=1e-12)
    with pytest.raises(InvalidDataError, match="one held-out item"):
        Fits.of(tr.RankTable.from_arrays(rank=[1, 2], n_sampled=5, n_items=5, user=[7, 7]))


def test_a_method_that_needs_one_n_refuses_the_adaptive_design_in_words() -> None:
    lines, refusals = measure(a_pair(), [("adaptive", ["mes", "auto"])], repeats=1)
    assert [line.method for line in lines] == ["auto"]
    assert len(refusals) == 1
    assert "needs one sample size" in refusals[0]


def line(data: str, key: tuple[str, str], error: float, scored: float) -> Accuracy:
    errors = dict.fromkeys(MEASURES, error)
    return Accuracy(
        data=data, model="ease-500", design=key[0], method=key[1], n_users=1, n_items=1,
        error=errors, spread=errors, scored=scored, scored_spread=0.0, seconds=0.0,
    )  # fmt: skip


def test_means_and_ratio_by_hand() -> None:
    lines = [
        line("a", REFERENCE, 4.0, 400), line("a", OURS, 1.0, 300),
        line("b", REFERENCE, 2.0, 200), line("b", OURS, 2.0, 300),
    ]  # fmt: skip
    first, second = means(lines)
    assert (first.error["ap"], first.scored, second.error["ap"]) == (3.0, 300.0, 1.5)
    found = ratio(lines)
    assert found is not None
    assert found.error["ndcg"] == 3 / 6
    assert found.per_pair["ndcg"] == (1 / 4 + 2 / 2) / 2
    assert (found.scored, found.worst_scored) == (1.0, 1.5)
    assert ratio(lines[1:2]) is None
    assert ratios(lines) == [found]


# ------------------------------------------------------------------ words and figures


@pytest.mark.parametrize(
    "words",
    ["full", "sampled n=100", "sampled n=500 replacement", "adaptive", REFERENCE[0],
     "adaptive growth=1.5 budget=300 top=20", "users m=50 full", f"users m=7 {REFERENCE[0]}"],
)  # fmt: skip
def test_words_and_designs_go_both_ways(words: str) -> None:
    assert format_design(parse_design(words)) == words


@pytest.mark.parametrize(
    ("words", "says"),
    [("", "full, sampled"), ("samples", "full, sampled"), ("sampled m=3", "n=..."),
     ("sampled n=many", "a whole number"), ("sampled n", "n=..."), ("sampled n=1", "at least 2"),
     ("adaptive replacement=yes", "replacement"), ("users", "m=..."), ("users full", "m=..."),
     ("users m=few full", "a whole number"), ("users m=0", "at least 1"),
     ("users m=5 users m=3", "users once")],
)  # fmt: skip
def test_words_that_make_no_design(words: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        parse_design(words)


def test_plans() -> None:
    assert dict(make_plan([], []))["adaptive"] == ("mle", "auto")
    assert make_plan(["reference"], []) == [(REFERENCE[0], ("mle", "auto"))]
    ((_, methods),) = make_plan(["sampled n=100"], ["dissertation", "mle"])
    assert len(methods) == 7
    with pytest.raises(InvalidArgumentError, match="did you mean 'mle'"):
        make_plan([], ["mel"])


def test_the_dissertation_is_data() -> None:
    figures = list(all_figures())
    assert len(figures) == 15 * 7 + 15 * 4 + 15
    found = published_figure(
        "pinterest-37501", "ease", "sampled n=100 replacement", "mn-mes", candidates="all"
    )
    assert found is not None
    assert (found.value, found.spread) == (5.00, 1.39)  # line 1 of its table, quoted in its text
    assert "37,501 of 55,187" in found.note
    adaptive = published_figure("ml-20m", "als", REFERENCE[0], "mle", candidates="all")
    assert adaptive is not None
    assert (adaptive.value, adaptive.size, adaptive.note) == (4.29, 705.76, "")
    other = published_figure(
        "pinterest-20", "ease", "sampled n=100 replacement", "mle", candidates="unseen"
    )
    assert other is None
    for figure in figures:
        parse_design(figure.design)


# ------------------------------------------------------------------ exact ranks


def test_exact_ranks_are_made_once_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = exact_ranks("demo", ["item-knn-20"], cache=tmp_path)
    assert first.table.is_exact.all()
    assert first.table.header.candidates == "all"
    assert first.table.header.model == "item-knn-20"

    def refuse(*_: object) -> None:
        raise AssertionError("fitted twice")

    with monkeypatch.context() as patch:
        patch.setattr(exact_ranks_module, "fit_model", refuse)
        (again,) = exact_ranks("demo", ["item-knn-20"], cache=tmp_path)
    assert again.table.rank.tolist() == first.table.rank.tolist()
    first.path.write_bytes(b"PAR1 half a file")
    (third,) = exact_ranks("demo", ["item-knn-20"], cache=tmp_path)
    assert third.table.rank.tolist() == first.table.rank.tolist()
    (unseen,) = exact_ranks("demo", ["item-knn-20"], cache=tmp_path, candidates="unseen")
    assert unseen.path != first.path
    assert (unseen.table.rank <= unseen.table.n_items).all()


def test_one_item_of_each_user_is_a_fair_choice() -> None:
    users = np.repeat(np.arange(3_000), 4)
    several = tr.Interactions.from_arrays(users, np.tile(np.arange(4), 3_000))
    one = one_of_each_user(several)
    assert (one.user_counts == 1).all()
    counts = np.bincount(one.indices, minlength=4)
    assert ((counts - 750) ** 2 / 750).sum() < 21.1  # chi-square, 3 degrees: P = 1e-4


def test_a_missing_extra_and_wrong_names_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'item-knn'"):
        exact_ranks("demo", ["item-kn"], cache=tmp_path)
    with pytest.raises(InvalidArgumentError, match="popularity"):
        fitted.ModelName.parse("popularity-3")
    monkeypatch.setattr(fitted, "find_spec", lambda _: None)
    assert fitted.available_models(500) == ["popularity", "item-knn", "ease"]
    assert "ease" not in fitted.available_models(10**6)
    with pytest.raises(MissingExtraError, match=r"truerank\[bench\]"):
        exact_ranks("demo", ["als-8"], cache=tmp_path)


# ------------------------------------------------------------------ cost curve, coverage


def test_the_cost_curve_is_eq_ave_cost() -> None:
    design = tr.Adaptive(n0=50, n_max=1600, top=1)
    drawn = simulate(a_table(n_users=20_000), design, seed=1)
    counted = cost_curve(drawn)
    left, previous = len(drawn), 0
    for j, n in enumerate((50, 100, 200, 400, 800, 1600)):
        m = int(((drawn.n_sampled == n) & (drawn.rank > 1)).sum())
        assert counted.sizes[j] == n
        assert counted.cost[j] == pytest.approx(left * (n - previous) / m)
        left, previous = left - m, n
    # From exact ranks the same to expect: within 5 standard errors of each m (P < 4e-6).
    expected = cost_curve(a_table(n_users=20_000), n0=50)
    for j in range(6):
        m = 20_000 * expected.leave[j]
        assert abs(20_000 * counted.leave[j] - m) < 5 * np.sqrt(m)
    assert expected.n_max == expected.sizes[expected.cost <= 2_000][-1]
    assert any("Adaptive()" in sentence for sentence in expected.advice)
    # And from a budgeted sample, through the estimated distribution.
    sampled = cost_curve(simulate(a_table(n_users=20_000), tr.Adaptive(), seed=2), n0=50)
    np.testing.assert_allclose(sampled.leave[:4], expected.leave[:4], rtol=0.1)


def test_cost_curve_refuses_a_start_beyond_the_catalogue() -> None:
    with pytest.raises(InvalidArgumentError, match="n0"):
        cost_curve(a_table(n_items=80), n0=80)


def test_coverage_of_exact_ranks_is_as_stated_and_naive_never_covers() -> None:
    plan = [("full", ["auto"]), ("sampled n=50", ["naive"])]
    lines, _ = measure_coverage(a_pair(a_table(n_users=800)), plan, repeats=60, n_boot=100)
    by_key = {(line.method, line.target): line for line in lines}
    # 60 repeats of 95 %: at least 49 in all but 1e-4 of seeds (binomial), 45 leaves room for
    # percentiles of 100 resamples.
    assert min(by_key["auto", "fresh users"].covered.values()) >= 45 / 60
    assert by_key["auto", "same users"].mean == 1.0  # there is nothing left to vary
    assert by_key["naive", "fresh users"].mean == 0.0
    assert by_key["naive", "same users"].bias["recall@10"] > 1
