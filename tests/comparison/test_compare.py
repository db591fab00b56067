"""compare(): against per-user values, against simulation, and its sentences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError

N_ITEMS = 400


def log_ranks(rng: np.random.Generator, n: int, pull: float = 0.0) -> np.ndarray:
    """Ranks spread evenly in their logarithm, as those of real models roughly are."""
    return np.clip(np.exp(rng.uniform(0, np.log(N_ITEMS), n) - pull), 1, N_ITEMS).astype(np.int64)


def exact(rank: np.ndarray) -> tr.RankTable:
    return tr.RankTable.from_arrays(rank=rank, n_sampled=N_ITEMS, n_items=N_ITEMS)


def sampled(rng: np.random.Generator, rank: np.ndarray, n: int = 40) -> tr.RankTable:
    better = rng.hypergeometric(rank - 1, N_ITEMS - rank, n - 1)
    return tr.RankTable.from_arrays(rank=1 + better, n_sampled=n, n_items=N_ITEMS)


@pytest.fixture(scope="module")
def pair() -> dict[str, tr.RankTable]:
    rng = np.random.default_rng(1)
    common = rng.uniform(0, np.log(N_ITEMS), 2000)
    ranks = {
        "ahead": np.exp(np.clip(common - rng.normal(0.25, 0.5, 2000), 0, np.log(N_ITEMS))),
        "behind": np.exp(np.clip(common + rng.normal(0.0, 0.5, 2000), 0, np.log(N_ITEMS))),
    }
    return {name: exact(values.astype(np.int64)) for name, values in ranks.items()}


def test_exact_ranks_get_the_paired_t_of_their_users(pair: dict[str, tr.RankTable]) -> None:
    row = tr.compare(pair, "ndcg@10").comparisons[0]
    a, b = (pair[name].per_row("ndcg@10") for name in (row.a, row.b))
    known = stats.ttest_rel(a, b)
    interval = known.confidence_interval(0.95)
    assert row.test == "paired-t"
    assert row.difference == pytest.approx(a.mean() - b.mean(), abs=1e-12)
    assert row.std_error == pytest.approx(stats.sem(a - b), rel=1e-12)
    assert row.p_value == pytest.approx(known.pvalue, rel=1e-9)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert row.caveats == ""
    assert row.value_a - row.value_b == pytest.approx(row.difference, abs=1e-12)


def test_binary_values_get_mcnemar(pair: dict[str, tr.RankTable]) -> None:
    assert tr.compare(pair, "recall@10").comparisons[0].test == "mcnemar"


def test_the_best_model_comes_first_whatever_the_order(pair: dict[str, tr.RankTable]) -> None:
    turned = dict(reversed(pair.items()))
    one, other = tr.compare(pair, "ndcg@10"), tr.compare(turned, "ndcg@10")
    assert one.models == other.models == ("ahead", "behind")
    assert one.comparisons == other.comparisons
    assert one.best["ndcg@10"]["ahead"] > 0.95
    assert one.groups["ndcg@10"] == (("ahead",), ("behind",))


def test_row_order_of_a_table_changes_nothing(pair: dict[str, tr.RankTable]) -> None:
    shuffled = pair["behind"][np.random.default_rng(0).permutation(len(pair["behind"]))]
    one = tr.compare(pair, ["recall@10", "ndcg@10"])
    other = tr.compare({**pair, "behind": shuffled}, ["recall@10", "ndcg@10"])
    assert one.to_dict() == other.to_dict()


def test_joint_resampling_sees_what_the_models_share() -> None:
    """SE of the difference, against its spread over simulated tables; and less than unpaired."""
    rng = np.random.default_rng(2)
    first = log_ranks(rng, 1500)
    second = np.clip(first + rng.integers(-2, 3, len(first)), 1, N_ITEMS)
    seen, errors, unpaired = [], [], []
    for repeat in range(30):
        rows = rng.integers(0, len(first), len(first))
        both = {"a": sampled(rng, first[rows]), "b": sampled(rng, second[rows])}
        verdict = tr.compare(both, "recall@20", method="bv", n_boot=100, seed=repeat, bounds=False)
        row = verdict.pair("recall@20", "a", "b")
        seen.append(row.difference if row.a == "a" else -row.difference)
        errors.append(row.std_error)
        alone = [verdict.estimates[name]["recall@20"].std_error for name in ("a", "b")]
        unpaired.append(np.hypot(*alone))
    ratio = np.mean(errors) / np.std(seen, ddof=1)
    # A standard deviation from 30 values has a relative standard error of 1 / sqrt(58).
    assert abs(ratio - 1) < 3.5 / np.sqrt(58)
    assert np.mean(errors) < 0.8 * np.mean(unpaired)


def test_size_under_the_null_and_power_under_an_alternative() -> None:
    """Two models alike are told apart in 5 % of the cases, and not in 5 % if they differ."""
    rng = np.random.default_rng(3)
    alike, different, repeats = 0, 0, 60
    for repeat in range(repeats):
        tables = {
            "a": sampled(rng, log_ranks(rng, 300)),
            "b": sampled(rng, log_ranks(rng, 300)),
            "c": sampled(rng, log_ranks(rng, 300, pull=1.0)),
        }
        verdict = tr.compare(
            tables, "recall@40", method="bv", correction="none", n_boot=100, seed=repeat,
            bounds=False,
        )  # fmt: skip
        alike += verdict.pair("recall@40", "a", "b").p_value < 0.05
        different += verdict.pair("recall@40", "a", "c").p_value < 0.05
    # False-alarm rate of the first 1e-4; the second would need a power below .6.
    assert alike <= stats.binom.ppf(1 - 1e-4, repeats, 0.06)
    assert different >= 0.6 * repeats


def test_exact_and_sampled_tables_mix_with_a_warning(pair: dict[str, tr.RankTable]) -> None:
    rng = np.random.default_rng(4)
    mixed = {"exact": pair["ahead"], "sampled": sampled(rng, pair["behind"].rank)}
    verdict = tr.compare(mixed, "recall@40", n_boot=100)
    row = verdict.comparisons[0]
    assert verdict.estimates["exact"]["recall@40"].method == "exact"
    assert row.test == "z"
    assert "only sampled is estimated" in row.caveats


def test_naive_is_never_trusted(pair: dict[str, tr.RankTable]) -> None:
    rng = np.random.default_rng(5)
    tables = {name: sampled(rng, table.rank) for name, table in pair.items()}
    row = tr.compare(tables, "recall@10", method="naive", n_boot=100).comparisons[0]
    assert "belongs to the sample" in row.caveats


def test_sampled_metrics_in_the_blind_spot_are_flagged() -> None:
    rng = np.random.default_rng(6)
    ranks = np.exp(rng.uniform(0, np.log(50_000), 3000)).astype(np.int64)
    tables = {
        name: tr.RankTable.from_arrays(
            rank=1 + rng.hypergeometric(r - 1, 50_000 - r, 49), n_sampled=50, n_items=50_000
        )
        for name, r in (("a", ranks), ("b", np.minimum(ranks + 3, 50_000)))
    }
    verdict = tr.compare(tables, "recall@5", n_boot=100)
    row = verdict.comparisons[0]
    assert "rests on smoothness; larger samples, or some users ranked in full," in row.caveats
    assert row.extrapolated
    assert row.bounds is not None
    (low_a, high_a), (low_b, high_b) = (
        verdict.estimates[name]["recall@5"].diagnostics.bounds or (0, 0) for name in (row.a, row.b)
    )
    assert row.bounds == (low_a - high_b, high_a - low_b)
    assert row.bounds[0] <= row.low <= row.high <= row.bounds[1]
    said = verdict.sentence
    head, numbers = said.split(": ", 1)
    assert head.endswith("by extrapolation")
    assert numbers.startswith("the samples alone allow a difference of -")
    assert f"; extrapolated {row.value_a:.4f} against {row.value_b:.4f}" in numbers
    assert "would be needed" not in said  # more users would see no more of the top
    assert "Care:" in said
    plain = json.loads(verdict.to_json())
    assert plain["comparisons"][0]["extrapolated"] is True
    assert plain["comparisons"][0]["bounds"] == list(row.bounds)
    keys = list(plain["comparisons"][0])
    assert keys.index("bounds") < keys.index("difference")
    assert verdict.to_frame()["extrapolated"].tolist() == [True]
    number = f"{row.value_a:.4f}† ± "
    for text in (verdict.to_markdown(), verdict.to_latex().replace(r"\dag{}", "†")):
        assert number in text.replace(r"$\pm$", "±")
        assert "† extrapolated: " in text
    assert f"0 to {high_a:#.2g}; {number}" in verdict.to_markdown()


def test_a_winner_by_extrapolation_is_called_that() -> None:
    rng = np.random.default_rng(11)
    tables = {}
    for name, pull in (("a", 2.5), ("b", 0.0)):
        r = np.clip(np.exp(rng.uniform(0, np.log(50_000), 3000) - pull), 1, None).astype(np.int64)
        drawn = 1 + rng.hypergeometric(r - 1, 50_000 - r, 49)
        tables[name] = tr.RankTable.from_arrays(rank=drawn, n_sampled=50, n_items=50_000)
    verdict = tr.compare(tables, "recall@5", n_boot=100)
    assert verdict.comparisons[0].significant
    words = "a is better than b on recall@5 for future users, but only by extrapolation: "
    assert verdict.sentence.startswith(words)
    against = tr.compare(tables, "recall@5", n_boot=100, baseline="b").sentence
    assert "by extrapolation, a is better than b" in against
    # Nobody looked: not blind as far as anybody knows, and the estimates say so.
    unseen = tr.compare(tables, "recall@5", n_boot=100, bounds=False)
    assert "blind spot not examined" in str(unseen.estimates["a"]["recall@5"])
    assert (unseen.comparisons[0].extrapolated, unseen.comparisons[0].bounds) == (False, None)


def test_every_way_out_says_whose_metric_it_is(
    pair: dict[str, tr.RankTable], tmp_path: Path
) -> None:
    half = {name: as_users(table, 4000) for name, table in pair.items()}
    for population, words in (("infinite", "future users"), ("finite", "these 4,000 users")):
        verdict = tr.compare(half, "ndcg@10", n_boot=100, population=population)
        page = verdict.to_html(tmp_path / f"{population}.html").read_text()
        sections = page.split("<section")
        for text in (
            verdict.sentence, verdict.to_markdown(), verdict.to_latex(), *sections[1:4],
            str(verdict.estimates["ahead"]["ndcg@10"]),
        ):  # fmt: skip
            assert words in text
        frame = verdict.to_frame()
        assert frame["population"].tolist() == [population]
        read = json.loads(verdict.to_json())
        for plain in (read, read["comparisons"][0], read["estimates"]["ahead"]["ndcg@10"]):
            assert plain["population"] == population
            assert plain["n_population"] == (4000 if population == "finite" else None)
        few = {name: table[:60] for name, table in half.items()}
        said = tr.compare(few, "ndcg@10", n_boot=100, population=population).sentence
        with_whom = "a sample of 60 users" if population == "infinite" else "60 of them ranked"
        assert f"for {words} with {with_whom}: " in said
        assert words in tr.compare(half, "ndcg@10", n_boot=100, population=population,
                                   baseline="behind").sentence  # fmt: skip


def test_differences_stay_where_differences_can_be() -> None:
    """Two users, one hit by either model: a t interval with one degree of freedom is ±12.7."""
    tables = {"a": exact(np.array([1, 400])), "b": exact(np.array([400, 399]))}
    row = tr.compare(tables, "ndcg@10", n_boot=100).comparisons[0]
    assert (row.low, row.high) == (-1.0, 1.0)


def test_corrections_run_over_models_and_metrics(pair: dict[str, tr.RankTable]) -> None:
    verdict = tr.compare(pair, ["recall@1", "recall@10", "ndcg@10"], correction="bonferroni")
    for row in verdict.comparisons:
        assert row.p_adjusted == pytest.approx(min(1.0, 3 * row.p_value))


def test_a_baseline_is_compared_with_the_others_only(pair: dict[str, tr.RankTable]) -> None:
    three = {**pair, "same": pair["behind"]}
    verdict = tr.compare(three, "ndcg@10", baseline="behind", n_boot=100)
    assert {(row.a, row.b) for row in verdict.comparisons} == {
        ("ahead", "behind"), ("same", "behind"),
    }  # fmt: skip
    assert "ahead is better than behind" in verdict.sentence
    assert "same cannot be told apart from behind" in verdict.sentence
    assert verdict.pair("ndcg@10", "same", "behind").p_value == 1.0


def test_sentences_name_a_winner_only_if_there_is_one(pair: dict[str, tr.RankTable]) -> None:
    assert tr.compare(pair, "ndcg@10").sentence.startswith("ahead is better than behind on ndcg@10")
    few = {name: table[:60] for name, table in pair.items()}
    said = tr.compare(few, "ndcg@10").sentence
    assert "cannot be told apart" in said
    assert "60 users" in said


def as_users(table: tr.RankTable, n_population: int) -> tr.RankTable:
    """The table as Users(m) of so many users would have made it."""
    design = {"kind": "users", "m": len(table), "inner": {"kind": "full"}}
    return replace(table, header=replace(table.header, design=design, n_population=n_population))


def test_half_of_the_users_there_are_halve_the_variance(pair: dict[str, tr.RankTable]) -> None:
    half = {name: as_users(table, 2 * len(table)) for name, table in pair.items()}
    future = tr.compare(half, "ndcg@10", test="z")
    there_are = tr.compare(half, "ndcg@10", population="finite")
    one, other = future.comparisons[0], there_are.comparisons[0]
    assert other.std_error == pytest.approx(one.std_error * np.sqrt(0.5), rel=1e-9)
    assert other.high - other.low == pytest.approx((one.high - one.low) * np.sqrt(0.5), rel=1e-9)
    z = other.difference / other.std_error
    assert other.p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    # One population for all of it.
    everything = [there_are, *there_are.comparisons]
    everything += [e for row in there_are.estimates.values() for e in row.values()]
    assert {(x.population, x.n_population) for x in everything} == {("finite", 4000)}
    everything = [future, *future.comparisons]
    everything += [e for row in future.estimates.values() for e in row.values()]
    assert {(x.population, x.n_population) for x in everything} == {("infinite", None)}


def test_the_same_exact_ranks_give_the_same_verdict_by_any_design(
    pair: dict[str, tr.RankTable],
) -> None:
    metrics = ["recall@10", "ndcg@10"]
    full = {
        name: replace(t, header=replace(t.header, design={"kind": "full"}, n_population=len(t)))
        for name, t in pair.items()
    }
    users = {name: as_users(table, len(table)) for name, table in pair.items()}
    for population in ("infinite", "finite"):
        one, other = (
            tr.compare(tables, metrics, n_boot=200, population=population)
            for tables in (full, users)
        )
        assert one.to_json() == other.to_json()
    for table, other_table in zip(full.values(), users.values(), strict=True):
        one, other = (tr.estimate(t, metrics, n_boot=200) for t in (table, other_table))
        assert [str(e) for e in one] == [str(e) for e in other]
        for a, b in zip(one, other, strict=True):
            assert a.to_dict() == b.to_dict()
            np.testing.assert_array_equal(a.replicates, b.replicates)


def test_what_is_known_is_not_tested(pair: dict[str, tr.RankTable]) -> None:
    tables = {name: as_users(table[:60], 60) for name, table in pair.items()}
    few = {name: as_users(table[:5], 5) for name, table in pair.items()}
    assert tr.compare(few, "recall@10", population="finite").comparisons[0].caveats == ""
    tables["same"] = tables["behind"]
    verdict = tr.compare(tables, "recall@10", population="finite", n_boot=100)
    row, equal = (verdict.pair("recall@10", *p) for p in (("ahead", "behind"), ("same", "behind")))
    a, b = (tables[name].per_row("recall@10").mean() for name in ("ahead", "behind"))
    assert row.test == equal.test == "known"
    assert row.difference == row.low == row.high == pytest.approx(a - b, abs=1e-15)
    assert (row.std_error, row.p_value, row.p_adjusted, row.significant) == (0, 0, 0, True)
    assert (equal.difference, equal.std_error, equal.p_value, equal.significant) == (0, 0, 1, False)
    said = verdict.sentence
    assert said.startswith("ahead is better than all 2 others on recall@10 for these 60 users: ")
    assert said.endswith("known exactly for these 60 users.")
    everywhere = said + verdict.to_markdown() + verdict.to_latex()
    assert "p <" not in everywhere
    assert "±" not in everywhere
    assert "future users" not in everywhere
    assert verdict.best["recall@10"] == {"ahead": 1.0, "behind": 0.0, "same": 0.0}
    # About future users the same ranks show nothing.
    assert "cannot be told apart" in tr.compare(tables, "recall@10", n_boot=100).sentence


def test_models_that_are_equal_on_all_users_are_said_to_be(pair: dict[str, tr.RankTable]) -> None:
    one = as_users(pair["ahead"], 2000)
    verdict = tr.compare({"a": one, "b": one}, "ndcg@10", population="finite", n_boot=100)
    assert verdict.sentence.startswith("a and b are equal on ndcg@10 for these 2,000 users: ")


def test_a_finite_population_needs_one_population_and_a_test_for_it(
    pair: dict[str, tr.RankTable],
) -> None:
    half = {name: as_users(table, 4000) for name, table in pair.items()}
    with pytest.raises(InvalidArgumentError, match="z, bootstrap or auto for population='finite'"):
        tr.compare(half, "recall@10", test="mcnemar", population="finite", n_boot=100)
    with pytest.raises(InvalidDataError, match=r"ahead: 4000, behind: 5000.*not one population"):
        tr.compare(
            {"ahead": half["ahead"], "behind": as_users(pair["behind"], 5000)}, "recall@10",
            population="finite",
        )  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="does not say n_population"):
        tr.compare(pair, "recall@10", population="finite")
    with pytest.warns(DeprecationWarning, match="now means 'infinite'"):
        old = tr.compare(half, "recall@10", population="auto", n_boot=100)  # type: ignore[arg-type]
    assert old.to_dict() == tr.compare(half, "recall@10", n_boot=100).to_dict()


def test_finite_tests_have_their_size(pair: dict[str, tr.RankTable]) -> None:
    """Half of 600 users, two models equal on all 600: told apart in 5 % of the draws."""
    rng = np.random.default_rng(10)
    first = log_ranks(rng, 600)
    # Equal on all users: the second model has the same ranks, dealt to the users in another order.
    second = np.where(rng.random(600) < 0.5, first, 0)
    second[second == 0] = rng.permutation(first[second == 0])
    runs, alarms, covered = 200, 0, 0
    for run in range(runs):
        chosen = np.sort(rng.choice(600, 300, replace=False))
        tables = {n: as_users(exact(r[chosen]), 600) for n, r in (("a", first), ("b", second))}
        verdict = tr.compare(tables, "ndcg@40", population="finite", n_boot=100, seed=run)
        row = verdict.comparisons[0]
        alarms += row.p_value < 0.05
        covered += row.low <= 0 <= row.high
    # 1e-3 on either side; a standard error from 100 resamples adds a point of false alarms.
    low, high = stats.binom.ppf([1e-3, 1 - 1e-3], runs, [0.05, 0.065])
    assert low <= alarms <= high
    assert covered >= stats.binom.ppf(1e-3, runs, 0.93)


def test_same_seed_same_bits(pair: dict[str, tr.RankTable]) -> None:
    rng = np.random.default_rng(7)
    tables = {name: sampled(rng, table.rank) for name, table in pair.items()}
    one, other, third = (
        tr.compare(tables, "recall@20", method="bv", n_boot=100, seed=seed).to_dict()
        for seed in (5, 5, 6)
    )
    assert one == other
    assert one["comparisons"][0]["std_error"] != third["comparisons"][0]["std_error"]


def test_ways_out(pair: dict[str, tr.RankTable]) -> None:
    verdict = tr.compare(pair, ["recall@10", "ndcg@10"])
    frame = verdict.to_frame()
    wanted = ["metric", "a", "b", "difference", "std_error", "low", "high", "p_value", "p_adjusted"]
    assert list(frame.columns[:9]) == wanted
    assert len(frame) == 2
    read = json.loads(verdict.to_json())
    assert read["comparisons"][0]["difference"] == verdict.comparisons[0].difference
    assert read["sentence"] == verdict.sentence
    assert "| ahead" in verdict.to_markdown()
    latex = verdict.to_latex()
    assert "\\toprule" in latex
    assert "ahead" in latex


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metrics": []}, "at least one metric"),
        ({"baseline": "nobody"}, "baseline must be one of"),
        ({"confidence": 95}, "between 0 and 1"),
        ({"n_boot": 10}, "at least 100"),
        ({"correction": "holms"}, "holm"),
        ({"test": "mcnemer"}, "mcnemar"),
        ({"metrics": "ndgc@10"}, "ndcg"),
    ],
)
def test_bad_arguments_get_one_sentence(
    pair: dict[str, tr.RankTable], arguments: dict[str, object], words: str
) -> None:
    given: dict[str, object] = {"metrics": "ndcg@10", **arguments}
    with pytest.raises(InvalidArgumentError, match=words):
        tr.compare(pair, **given)  # type: ignore[arg-type]


def test_one_model_and_tests_that_need_values_of_users(pair: dict[str, tr.RankTable]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least two models.*tr.estimate"):
        tr.compare({"ahead": pair["ahead"]}, "ndcg@10")
    with pytest.raises(InvalidArgumentError, match="a RankTable"):
        tr.compare({"a": pair["ahead"], "b": 3}, "ndcg@10")  # type: ignore[dict-item]
    rng = np.random.default_rng(8)
    tables = {name: sampled(rng, table.rank) for name, table in pair.items()}
    with pytest.raises(InvalidArgumentError, match="only exact ranks give"):
        tr.compare(tables, "ndcg@10", test="wilcoxon", n_boot=100)
    with pytest.raises(InvalidDataError, match="not in every table"):
        tr.compare({"a": pair["ahead"], "b": pair["behind"][:100]}, "ndcg@10")


def test_sampled_ranks_of_some_users_shrink_less_than_exact_ones() -> None:
    """The chances of the sampled items stay, however many of the users were ranked."""
    rng = np.random.default_rng(9)
    first = log_ranks(rng, 600)
    ranks = {"a": first, "b": np.clip(first + rng.integers(-20, 40, 600), 1, N_ITEMS)}

    def errors(tables: dict[str, tr.RankTable]) -> tuple[float, float]:
        plain = tr.compare(tables, "recall@40", method="mle", test="z", n_boot=150, bounds=False)
        header = {"design": {"kind": "users", "m": 600, "inner": {"kind": "sampled"}}}
        some = {
            name: replace(table, header=replace(table.header, **header, n_population=700))
            for name, table in tables.items()
        }
        part = tr.compare(
            some, "recall@40", method="mle", n_boot=150, bounds=False, population="finite"
        )
        return part.comparisons[0].std_error, plain.comparisons[0].std_error

    few_users, many_users = errors({name: exact(r) for name, r in ranks.items()})
    assert few_users == pytest.approx(many_users * np.sqrt(1 / 7), rel=1e-9)
    few_users, many_users = errors({name: sampled(rng, r, n=200) for name, r in ranks.items()})
    assert 0.5 * many_users < few_users < many_users


# ---------------------------------------------------------------- ties


def with_ties(table: tr.RankTable, rule: str) -> tr.RankTable:
    return replace(table, header=replace(table.header, ties=rule))


def test_ties_that_count_for_one_model_only_are_refused(pair: dict[str, tr.RankTable]) -> None:
    """A constant model ranked with ties="optimistic" once beat EASE, 1.0000 to .3208."""
    constant = with_ties(exact(np.ones(2000, np.int64)), "optimistic")
    rival = with_ties(pair["ahead"], "random")
    with pytest.raises(InvalidDataError, match="equal scores count for one and not for the other"):
        tr.compare({"constant": constant, "ease": rival}, "recall@10", n_boot=100)
    with pytest.raises(InvalidDataError, match="rank both with the same ties="):
        tr.compare({"constant": constant, "ease": rival}, "recall@10", n_boot=100, align="common")


def test_a_constant_model_does_not_beat_ease() -> None:
    """Ranked with the default, it has the recall of chance; with ties="optimistic", no verdict."""
    split = tr.split.leave_one_out(tr.load_dataset("demo"), seed=0)
    ease = tr.rank(tr.models.EASE(l2=50.0).fit(split.train), split, progress=False)
    n_items = split.train.n_items
    constant = tr.FunctionScorer(lambda users: np.zeros((len(users), n_items)), n_items=n_items)
    best = tr.rank(constant, split, ties="optimistic", progress=False)
    assert best.per_user("recall@10")[1].min() == 1.0
    with pytest.raises(InvalidDataError, match="equal scores count for one and not for the other"):
        tr.compare({"constant": best, "ease": ease}, "recall@10", n_boot=100)
    plain = tr.rank(constant, split, progress=False)
    values, chance = plain.per_user("recall@10")[1], 10 / plain.n_items
    error = np.sqrt((chance * (1 - chance)).sum()) / len(values)
    assert abs(values.mean() - chance.mean()) < 3.9 * error  # once in 10,000 seeds
    verdict = tr.compare({"constant": plain, "ease": ease}, "recall@10", n_boot=100)
    found = verdict.pair("recall@10", "ease", "constant")
    assert (found.a, found.significant) == ("ease", True)
    assert found.difference > 0


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (("optimistic", "optimistic"), ["looks better than it is"]),
        (("optimistic", "unknown"), ["the ties of ahead are optimistic", "behind unknown"]),
        (("unknown", "random"), ["tie rules differ (ahead unknown and behind random)"]),
        (("half", "random"), ["tie rules differ (ahead half and behind random)"]),
        (("pessimistic", "pessimistic"), []),
        (("random", "random"), []),
    ],
)
def test_tie_rules_that_are_not_refused_may_have_a_caveat(
    rules: tuple[str, str], words: list[str], pair: dict[str, tr.RankTable]
) -> None:
    tables = {
        name: with_ties(table, rule)
        for (name, table), rule in zip(pair.items(), rules, strict=True)
    }  # fmt: skip
    trust = tr.compare(tables, "recall@10", n_boot=100).comparisons[0].caveats
    assert all(word in trust for word in words)
    assert bool(trust) == bool(words)
