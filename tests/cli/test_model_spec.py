"""Models in words: what they are called, and which texts are files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from truerank.cli.model_spec import is_model_file, parse_model
from truerank.deprecation import OLD_NAMES
from truerank.models import EASE

from .conftest import Run

MANY = " ".join(
    (
        "mf loss=infonce temperature=0.2 similarity=cosine dim=8 epochs=1 batch_size=8192",
        "n_negatives=100 negatives_per=64 optimiser=dense-adam learning_rate=0.01",
        "validation_metric=recall@20",
        "validation_every=1 lr_patience=3 patience=5 min_learning_rate=1e-7 l2=0.001 dropout=0.1",
        "init_std=0.5",
    )
)


def test_names_have_the_settings_as_they_were_said() -> None:
    assert parse_model("mf loss=ccl margin=0.8 dim=8").name == "mf-loss-ccl-dim-8-margin-0.8"


def test_long_names_stay_short_and_tell_settings_apart() -> None:
    names = [parse_model(f"{MANY} seed={seed}").name for seed in (3, 4)]
    assert names[0] != names[1]
    assert all(len(name) == 100 for name in names)
    assert all(name.startswith("mf-loss-infonce-similarity-cosine-dim-8-") for name in names)


def test_words_are_no_file_however_many_there_are() -> None:
    assert not is_model_file(f"{MANY} seed=3")
    assert len(f"{MANY} seed=3") > 255  # more than a name may have


@pytest.mark.parametrize("text", ["ease.model", "folder/ease", "ease-l2=5.model"])
def test_files_are_told_from_words(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "=" in text:
        Path(text).touch()  # only a file that is there may have one in its name
    assert is_model_file(text)


def test_defaults_that_gave_way_are_said_beside_the_result(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"u{u},i{(u + k) % 9}\n" for u in range(12) for k in range(4))
    (tmp_path / "small.csv").write_text("user,item\n" + rows)
    done = run("fit", "--data", "small.csv", "--model", "pure-svd", "--json")
    assert done.code == 0
    (sentence,) = done.json["adapted"]
    assert re.fullmatch(
        r"dim is \d instead of the usual 50: the rank of the data is no higher", sentence
    )
    assert f"pure-svd: {sentence}\n" in done.err
    asked = run("fit", "--data", "small.csv", "--model", "pure-svd dim=50")
    assert "dim 50 was asked of PureSVD" in asked.sentence


def test_an_old_name_of_a_parameter_is_taken_with_a_remark(
    run: Run, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EASE, OLD_NAMES, {"reg": "l2"}, raising=False)
    done = run("fit", "--data", ratings, "--model", "ease reg=5", "--json")
    assert done.code == 0
    assert done.json["parameters"]["l2"] == 5.0
    assert "note: the setting 'reg' of ease is called 'l2' now" in done.err
