"""Names of the last release still work, and the warning points at the line that uses them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.comparison import Comparison
from truerank.errors import OldNameWarning
from truerank.ranking import Header
from truerank.ranking.stages import Stages

DATA = tr.load_dataset("demo", n_users=60, n_items=50)
SPLIT = tr.split.leave_one_out(DATA, seed=0)
TABLE = tr.rank(tr.models.Popularity().fit(SPLIT.train), SPLIT, design=tr.Sampled(10))
OTHER = tr.rank(tr.models.ItemKNN().fit(SPLIT.train), SPLIT, design=tr.Sampled(10))
MODEL = tr.models.IALS()
ESTIMATE = tr.estimate(TABLE, ["recall@5"])[0]
VALUES = {
    "metric": "recall@5", "a": "a", "b": "b", "bounds": None, "extrapolated": False,
    "value_a": 0.5, "value_b": 0.25, "difference": 0.25, "std_error": 0.125, "low": 0.0,
    "high": 0.5, "p_value": 0.5, "p_adjusted": 0.5, "effect_size": 1.0, "significant": False,
    "test": "paired-t", "n_users": 9, "population": "infinite", "n_population": None,
}  # fmt: skip


def from_comparison() -> Any:
    from truerank.comparison import plan

    return plan


USES: dict[str, tuple[Callable[[], Any], str]] = {
    "tr.Given": (lambda: tr.Given, "FixedNegatives"),
    "tr.ranking.Given": (lambda: tr.ranking.Given, "FixedNegatives"),
    "tr.ranking.Counts": (lambda: tr.ranking.Counts, "RankCounts"),
    "tr.comparison.plan": (lambda: tr.comparison.plan, "truerank.planning.plan"),
    "tr.comparison.Plan": (lambda: tr.comparison.Plan, "truerank.planning.Plan"),
    "from comparison": (from_comparison, "truerank.planning.plan"),
    "tr.models.Nearby": (lambda: tr.models.Nearby, "LearnedLinear"),
    "IALS(reg=)": (lambda: tr.models.IALS(reg=0.1), "l2"),
    "model.reg": (lambda: MODEL.reg, "l2"),
    "estimate(level=)": (lambda: tr.estimate(TABLE, "recall@5", level=0.9), "confidence"),
    "compare(level=)": (
        lambda: tr.compare({"a": TABLE, "b": OTHER}, "recall@5", level=0.9),
        "confidence",
    ),
    "interval(level=)": (lambda: ESTIMATE.interval(level=0.9), "confidence"),
    "search(space)": (
        lambda: tr.search("ials", {"reg": [0.1], "dim": 2, "epochs": 1}, DATA, metric="recall@5"),
        "l2",
    ),
    "search(name)": (lambda: tr.search("nearby", {"nothing": [1]}, DATA), "learned-linear"),
    "Sampled.levels": (lambda: tr.Sampled(10).levels(50), "stages"),
    "Adaptive.levels": (lambda: tr.Adaptive(5).levels(50), "stages"),
    "Stages.go_on": (lambda: tr.Sampled(10).stages(50).go_on, "max_rank"),
    "Stages.keep": (lambda: tr.Sampled(10).stages(50).keep, "continue_prob"),
    "Comparison(trust=)": (lambda: Comparison(**VALUES, trust="few"), "caveats"),
    "design[]": (lambda: TABLE.header.design["kind"], "header.design.kind"),
}


@pytest.mark.parametrize("use", USES)
def test_the_warning_is_about_the_line_that_uses_the_old_name(use: str) -> None:
    act, new = USES[use]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act()
        except tr.TruerankError:
            assert use == "search(name)"  # of a space that makes no sense
    said = [one for one in caught if issubclass(one.category, OldNameWarning)]
    assert said
    for one in said:
        assert f"is called {new!r} now" in str(one.message)
        assert one.filename == __file__


def test_old_names_mean_the_new_things() -> None:
    with pytest.warns(OldNameWarning):
        assert tr.comparison.plan is from_comparison() is tr.plan
    with pytest.warns(OldNameWarning):
        assert tr.comparison.Plan is tr.Plan
    with pytest.warns(OldNameWarning):
        assert tr.ranking.Counts is tr.RankCounts
    with pytest.warns(OldNameWarning):
        assert Comparison(**VALUES, trust="few") == Comparison(**VALUES, caveats="few")
    with pytest.warns(OldNameWarning):
        assert Comparison(**VALUES, caveats="few").trust == "few"
    for design in (tr.Sampled(10), tr.Adaptive(5)):
        with pytest.warns(OldNameWarning):
            old: Stages = design.levels(50)
        assert old.describe() == design.stages(50).describe()
    with pytest.warns(OldNameWarning):
        stages = Stages(np.array([5]), go_on=np.array([0]), keep=np.array([1.0]))  # type: ignore[call-arg]
    assert stages.max_rank.tolist() == [0]


def test_designs_in_headers_can_be_read_like_the_dicts_they_were() -> None:
    negatives = tr.FixedNegatives([[1, 2], [3, 4]])
    for design in (tr.Full(), tr.Sampled(10), tr.Adaptive(), negatives, tr.Users(5, tr.Full())):
        header = Header(design=design)
        for name, value in header.design.describe().items():
            with pytest.warns(OldNameWarning, match="now"):
                assert header.design[name] == value
    with pytest.warns(OldNameWarning), pytest.raises(KeyError):
        header.design["size"]


def test_a_design_that_is_none_is_told_what_there_is() -> None:
    with pytest.raises(
        tr.TruerankError, match=r"Sampled\(100\).* full, sampled, adaptive, screened, users"
    ):
        Header(design={"kind": "sampeld"})


def test_a_script_sees_the_warning_without_asking(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import truerank as tr\ntr.Given\nfrom truerank.comparison import plan\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "mine.py:2: OldNameWarning" in done.stderr
    assert "mine.py:3: OldNameWarning" in done.stderr


def test_readers_are_there_at_once() -> None:
    code = "import truerank as tr; print(tr.ranking.readers.read_lists is tr.read_lists)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
