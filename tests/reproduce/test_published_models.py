from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.cli.reproduce import published
from truerank.data.synthetic import generate
from truerank.errors import InvalidArgumentError
from truerank.models.names import model_class, parameters_of
from truerank.reproduce.published_models import Found, PublishedRow, run, wanted_rows

EASE = {"name": "EASE", "data": "gowalla", "model": "ease", "parameters": {"l2": 20.0}}


def asked(**changes: Any) -> PublishedRow:
    settings = {"published": (0.1, 0.1), "source": "nobody", "within": 1.0} | EASE | changes
    return PublishedRow(**settings)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small set in place of gowalla, with a split of its own."""
    split = tr.split.ratio(generate(120, 90, seed=3, interactions_per_user=12.0), 0.25, seed=0)
    parts = {"train": split.train, "test": split.held_out}
    arrays = {
        f"{part}_{what}": values
        for part, half in parts.items()
        for what, values in (("user", half.users), ("item", half.indices))
    }
    (tmp_path / "gowalla").mkdir()
    np.savez(tmp_path / "gowalla" / "gowalla.npz", n_users=120, n_items=90, **arrays)
    monkeypatch.setenv("TRUERANK_DATA", str(tmp_path))
    return tmp_path


def test_values_are_those_of_the_model_ranked_in_full(folder: Path) -> None:
    found = run(asked())
    split = tr.split.published("gowalla")
    ranks = tr.rank(tr.models.EASE(l2=20.0).fit(split.train), split, tr.Full())
    expected = [e.value for e in tr.estimate(ranks, ["recall@20", "ndcg@20"], method="exact")]
    assert found.means == pytest.approx(expected, rel=1e-12)
    assert found.metrics == ("recall@20", "ndcg@20")
    assert found.to_dict()["population"] == "infinite"


def test_seeds_are_runs_and_the_cache_is_read(folder: Path) -> None:
    row = asked(model="ials", parameters={"dim": 4, "epochs": 2}, seeds=(0, 1))
    found = run(row, folder / "kept")
    assert len(found.values) == 2
    assert found.values[0] != found.values[1]
    assert found.means[0] == pytest.approx((found.values[0][0] + found.values[1][0]) / 2)
    (kept,) = (folder / "kept").iterdir()
    text = json.loads(kept.read_text())
    kept.write_text(json.dumps(text | {"seconds": 77.0}))
    assert run(row, folder / "kept").seconds == 77.0
    other = asked(model="ials", parameters={"dim": 5, "epochs": 2}, seeds=(0, 1))
    assert run(other, folder / "kept").seconds != 77.0


@pytest.mark.parametrize(
    ("value", "within", "better", "reached"),
    [
        (0.1004, 0.0005, False, True),
        (0.1006, 0.0005, False, False),
        (0.1006, 0.0005, True, True),
        (0.0994, 0.0005, True, False),
    ],
)
def test_reached_or_not(value: float, within: float, better: bool, reached: bool) -> None:
    row = asked(within=within, better=better)
    found = Found(
        row=row,
        metrics=("recall@20", "ndcg@20"),
        values=((value, 0.1),),
        std_errors=(0.0, 0.0),
        seconds=0.0,
    )
    assert found.reached is reached


def test_every_row_of_the_recipe_can_be_made() -> None:
    for row in wanted_rows():
        assert set(row.parameters) <= set(parameters_of(model_class(row.model)))
        assert len(row.published) == 2


def test_an_unknown_row_or_set() -> None:
    assert {row.data for row in wanted_rows(["gowalla"])} == {"gowalla"}
    with pytest.raises(InvalidArgumentError, match="row must be one of EASE"):
        wanted_rows(None, ["EAST"])
    with pytest.raises(InvalidArgumentError, match="data must be one of gowalla"):
        wanted_rows(["gowala"])


def test_the_printed_errors_say_whose_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published._print([run(asked())])
    assert "se, future users" in capsys.readouterr().out
