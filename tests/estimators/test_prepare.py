"""A table is grouped, its likelihood built and its distribution fitted once, whoever asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError
from truerank.estimators import prepare, problem, samples
from truerank.estimators.bounds import blind_spot
from truerank.estimators.diagnostics import blind_cutoffs
from truerank.estimators.methods import em, smooth
from truerank.estimators.simulate import simulate
from truerank.reproduce import demo, demo_worlds


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often rows were grouped, likelihoods built and distributions fitted."""
    done: Counter[str] = Counter()

    def counted(module: Any, name: str, what: str) -> None:
        original = getattr(module, name)

        def count(*args: Any, **given: Any) -> Any:
            done[what] += 1
            return original(*args, **given)

        monkeypatch.setattr(module, name, count)

    counted(samples, "cells_of", "groupings")
    counted(problem, "likelihood_matrix", "likelihoods")
    counted(smooth, "fit_smooth", "fits")
    counted(em, "em", "fits")
    counted(smooth.Smooth, "_refit", "resampled fits")
    counted(samples, "compatible_set", "compatible sets")
    return done


def exact_ranks(seed: int, n_users: int = 400, n_items: int = 1500) -> tr.RankTable:
    rng = np.random.default_rng(seed)
    rank = np.minimum(1 + (rng.pareto(0.6, n_users) * 6).astype(np.int64), n_items)
    return tr.RankTable.from_arrays(rank, n_items, n_items)


def two_tables(design: Any = None) -> dict[str, tr.RankTable]:
    design = design or tr.Sampled(100)
    return {name: simulate(exact_ranks(k), design, seed=0) for k, name in enumerate("ab")}


ONCE = {
    "groupings": 2, "likelihoods": 2, "fits": 2, "resampled fits": 2, "compatible sets": 2
}  # fmt: skip


def test_a_verdict_and_its_report_fit_every_table_once(work: Counter[str], tmp_path: Path) -> None:
    verdict = tr.compare(two_tables(), ["ndcg@10", "recall@10"], n_boot=100, progress=False)
    assert work == ONCE
    verdict.to_html(tmp_path / "report.html")
    str(verdict)
    verdict.to_latex()
    assert work == ONCE


def test_the_users_there_are_need_no_other_fit(work: Counter[str]) -> None:
    tables = {
        name: replace(table, header=replace(table.header, n_population=500))
        for name, table in two_tables().items()
    }
    tr.compare(tables, "ndcg@10", n_boot=100, progress=False, population="finite")
    assert work == ONCE


def test_a_report_of_several_items_a_user_fits_other_cutoffs_once(
    work: Counter[str], tmp_path: Path
) -> None:
    """ndcg weighs such users differently at every K; the samples keep what a report adds."""
    tables = {
        name: replace(table, user=np.arange(len(table)) // 2, item=np.arange(len(table)))
        for name, table in two_tables().items()
    }
    verdict = tr.compare(tables, ["recall@10", "ndcg@10"], n_boot=100, progress=False)
    verdict.to_html(tmp_path / "report.html")
    done = dict(work)
    verdict.to_html(tmp_path / "again.html")
    assert work == done
    assert work["groupings"] == work["likelihoods"] == 2


def test_a_method_without_a_distribution_has_a_report(tmp_path: Path) -> None:
    verdict = tr.compare(two_tables(), "recall@10", method="cls", n_boot=100, progress=False)
    page = verdict.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The method cls tells values of metrics, and no distribution of ranks." in page


def test_a_pilot_is_grouped_once(work: Counter[str]) -> None:
    pilot = two_tables(tr.Sampled(200))["a"]
    tr.plan(1500, 10_000, "recall@10", rel_error=0.1, pilot=pilot, designs=[tr.Full()])
    assert work["groupings"] == work["likelihoods"] == 1


def test_exact_ranks_need_no_fit_at_all(work: Counter[str], tmp_path: Path) -> None:
    tables = {"a": exact_ranks(0), "b": exact_ranks(1)}
    tr.compare(tables, "ndcg@10", n_boot=100, progress=False).to_html(tmp_path / "report.html")
    assert work["fits"] == 0
    assert max(work.values()) <= 2


def test_the_demonstration_fits_every_table_once(
    work: Counter[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One fit a model of the sampled tables, and one of the screened for its curves.

    The others are exact, and certified metrics need no fit.
    """
    monkeypatch.setattr(
        demo_worlds,
        "MODELS",
        {name: demo_worlds.MODELS[name] for name in ("popularity", "item-kNN")},
    )
    found = demo.run_demo(demo_worlds.small_world(demo_worlds.embedded_split(0)))
    demo.write_tables(found, tmp_path)
    demo.write_report(found, tmp_path)
    assert work["fits"] == 4
    assert work["groupings"] == work["likelihoods"] == 4


def test_several_questions_about_one_sample(work: Counter[str]) -> None:
    sample = prepare(two_tables()["a"])
    assert prepare(sample) is sample
    one = tr.estimate(sample, "ndcg@10", n_boot=50)
    tr.estimate(sample, ["recall@5", "ap@10"], n_boot=50, paired=True)
    tr.rank_distribution(sample)
    blind_cutoffs(sample, [1, 10])
    assert (work["groupings"], work["likelihoods"], work["fits"]) == (1, 1, 1)
    assert one[0].value == tr.estimate(two_tables()["a"], "ndcg@10", n_boot=50)[0].value


def test_what_is_not_fitted_to_these_weights_is_fitted(work: Counter[str]) -> None:
    """Several held-out items a user: ndcg@3 and ndcg@10 weigh the rows differently."""
    table = two_tables()["a"]
    table = replace(table, user=np.arange(len(table)) // 5, item=np.arange(len(table)))
    sample = prepare(table)
    values = [tr.estimate(sample, f"ndcg@{k}", n_boot=0, bounds=False)[0].value for k in (3, 10)]
    assert work["fits"] == 2
    fresh = [tr.estimate(table, f"ndcg@{k}", n_boot=0, bounds=False)[0].value for k in (3, 10)]
    assert values == fresh


@pytest.mark.parametrize("method", ["auto", "mle", "cls", "rank-unbiased"])
def test_blindness_is_judged_at_the_estimates_own_value(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []
    original = blind_spot.is_blind

    def spy(*args: Any, value: float, **given: Any) -> bool:
        seen.append(value)
        return original(*args, value=value, **given)

    monkeypatch.setattr(blind_spot, "is_blind", spy)
    found = tr.estimate(two_tables()["a"], "recall@10", method, n_boot=0)[0]
    assert seen
    assert seen == pytest.approx([found.value] * len(seen), abs=1e-12)


def test_a_naive_value_is_no_possible_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    original = blind_spot.is_blind

    def spy(*args: Any, value: float, **given: Any) -> bool:
        seen.append(value)
        return original(*args, value=value, **given)

    monkeypatch.setattr(blind_spot, "is_blind", spy)
    found = tr.estimate(two_tables()["a"], "recall@10", "naive", n_boot=0)[0]
    assert found.diagnostics.bounds is not None
    assert max(seen) <= found.diagnostics.bounds[0] + 1e-9 < found.value


def test_bounds_of_one_level_are_not_those_of_another() -> None:
    sample = prepare(two_tables()["a"])
    wide, narrow = (
        tr.estimate(sample, "recall@10", n_boot=0, confidence=level)[0].diagnostics.bounds
        for level in (0.99, 0.5)
    )
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_what_can_be_prepared() -> None:
    with pytest.raises(InvalidArgumentError, match="a RankTable or RankCounts"):
        prepare([1, 2, 3])  # type: ignore[arg-type]
