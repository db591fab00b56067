"""compare(): against per-user values, against simulation, and its sentences."""

from __future__ import annotations

import json
from dataclasses import replace

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
    assert row.trust == ""
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
    assert "only sampled is estimated" in row.trust


def test_naive_is_never_trusted(pair: dict[str, tr.RankTable]) -> None:
    rng = np.random.default_rng(5)
    tables = {name: sampled(rng, table.rank) for name, table in pair.items()}
    row = tr.compare(tables, "recall@10", method="naive", n_boot=100).comparisons[0]
    assert "belongs to the sample" in row.trust


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
    assert "rests on smoothness" in verdict.comparisons[0].trust
    assert "Care:" in verdict.sentence


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


def test_users_designs_are_compared_as_a_finite_population(pair: dict[str, tr.RankTable]) -> None:
    def as_users(table: tr.RankTable) -> tr.RankTable:
        header = replace(
            table.header,
            design={"kind": "users", "m": len(table), "inner": {"kind": "full"}},
            n_population=2 * len(table),
        )
        return replace(table, header=header)

    whole = tr.compare(pair, "ndcg@10", test="z").comparisons[0]
    part = tr.compare(
        {name: as_users(table) for name, table in pair.items()}, "ndcg@10"
    ).comparisons[0]
    assert part.std_error == pytest.approx(whole.std_error * np.sqrt(0.5), rel=1e-9)


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
        ({"level": 95}, "between 0 and 1"),
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
        part = tr.compare(some, "recall@40", method="mle", n_boot=150, bounds=False)
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
    trust = tr.compare(tables, "recall@10", n_boot=100).comparisons[0].trust
    assert all(word in trust for word in words)
    assert bool(trust) == bool(words)
