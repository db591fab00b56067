"""Our metrics against ranx and ir_measures: equal where the definitions agree, explained where not.

The comparison itself is docs/conformance.py, which writes the page people read.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "conformance.py"

pytest.importorskip("ranx", reason="ranx is not installed; pip install 'truerank[dev]'")
pytest.importorskip("ir_measures", reason="ir_measures is not installed; see truerank[dev]")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["conformance"] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


doc = load()
LISTS = doc.some_lists()
CUTOFFS = (1, 5, 10, 50)


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("row", doc.AGREE, ids=lambda row: row[0])
def test_same_definition_same_value(row: tuple[str, str | None, str], k: int) -> None:
    mine = doc.ours(row[0].format(k=k), LISTS)
    for name, theirs in ((row[1], doc.by_ranx), (row[2], doc.by_ir_measures)):
        if name is not None:
            values = theirs(name.format(k=k), LISTS.judgements, LISTS.scores)
            np.testing.assert_allclose(mine, values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("row", doc.DIFFER, ids=lambda row: f"{row.ours}-{row.ranx}")
def test_differences_are_real_and_the_factor_explains_them(row: object, k: int) -> None:
    mine = doc.ours(row.ours.format(k=k), LISTS)
    factor = row.factor(LISTS.n_targets, k)
    assert np.any(factor != 1.0) == (k < LISTS.n_targets.max() or "hits" in row.ranx)
    for name, theirs in ((row.ranx, doc.by_ranx), (row.ir_measures, doc.by_ir_measures)):
        if name is None:
            continue
        values = theirs(name.format(k=k), LISTS.judgements, LISTS.scores)
        np.testing.assert_allclose(mine, values * factor, rtol=0, atol=1e-9)
        differs = np.abs(mine - values) > 1e-9
        np.testing.assert_array_equal(differs, (np.abs(factor - 1) > 1e-9) & (values > 0))


def test_the_page_is_the_one_the_script_writes() -> None:
    assert doc.PAGE.read_text(encoding="utf-8") == doc.page(LISTS)


def tied(target: str, order: list[str]) -> tuple[dict[str, dict[str, int]], dict[str, object]]:
    return {"u": {target: 1}}, {"u": dict.fromkeys(order, 1.0)}


def test_ties_are_broken_by_name_in_ir_measures_and_by_order_of_input_in_ranx() -> None:
    names = ["a", "b", "c", "d"]
    first, last = tied("a", names), tied("d", names)
    assert doc.by_ir_measures("RR", *first) == pytest.approx(1 / 4)  # trec_eval: last name first
    assert doc.by_ir_measures("RR", *last) == pytest.approx(1)
    assert doc.by_ir_measures("RR@4", *first) == pytest.approx(1)  # MS MARCO: first name first
    assert doc.by_ir_measures("RR@4", *last) == pytest.approx(1 / 4)
    assert doc.by_ranx("mrr", *first) != doc.by_ranx("mrr", *tied("a", names[::-1]))


def test_grades_weigh_in_theirs_only() -> None:
    scores = {"u": {"a": 3.0, "b": 2.0, "c": 1.0}}
    ranks = [1, 3]
    mine = doc.parse("ndcg@3").per_user([0, 0], ranks)[1]
    for theirs, name in ((doc.by_ranx, "ndcg@3"), (doc.by_ir_measures, "nDCG@3")):
        assert theirs(name, {"u": {"a": 1, "c": 1}}, scores) == pytest.approx(mine, abs=1e-9)
        assert theirs(name, {"u": {"a": 1, "c": 3}}, scores) != pytest.approx(mine, abs=1e-3)


def test_a_cutoff_beyond_the_list_is_theirs_to_evaluate_and_ours_to_refuse() -> None:
    judgements, scores = {"u": {"a": 1}}, {"u": {"a": 2.0, "b": 1.0}}
    assert doc.by_ranx("precision@10", judgements, scores) == pytest.approx(0.1)
    assert doc.by_ir_measures("P@10", judgements, scores) == pytest.approx(0.1)
    with pytest.raises(InvalidArgumentError, match="at most the number of candidate items, 2"):
        doc.parse("precision@10").per_user([0], [1], n_items=2)
