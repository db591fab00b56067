"""Parameters keep their old names for one release: in Python, in spaces of a search, in files."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.cli.model_spec import parse_model
from truerank.data.synthetic import generate
from truerank.deprecation import OLD_NAMES
from truerank.models.linear.grid_of_spectrum import SpectrumGrid
from truerank.models.names import MODELS, model_class, parameters_of

DATA = generate(30, 24, seed=1, interactions_per_user=6.0)

ROOMS = ("truerank.models.linear.", "truerank.models.als.", "truerank.models.neighbours.")

RENAMED: dict[str, dict[str, str]] = {
    name: getattr(model_class(name), OLD_NAMES)
    for name, home in MODELS.items()
    if hasattr(model_class(name), OLD_NAMES) and home.startswith(ROOMS)
}
PAIRS = [(name, old, new) for name, names in RENAMED.items() for old, new in names.items()]
SETTING: dict[str, Any] = {
    "l2": 2.0, "dim": 3, "dropout": 0.25, "epochs": 2, "positive_ratio": 1.5,
    "n_hidden_positives": 2.0,
}  # fmt: skip


def test_these_models_have_old_names() -> None:
    assert {name: set(names) for name, names in RENAMED.items()} == {
        "dlae": {"p"},
        "edlae": {"p", "rank", "iterations"},
        "lrr": {"rank"},
        "closed-form-mf": {"rank"},
        "pure-svd": {"rank"},
        "debiased-ease": {"c", "hidden"},
        "wmf": {"reg"},
        "ials": {"reg"},
        "debiased-ials": {"reg", "c", "hidden"},
        "svdpp": {"reg"},
    }


@pytest.mark.parametrize(("name", "old", "new"), PAIRS)
def test_an_old_name_is_the_new_one_with_a_warning(name: str, old: str, new: str) -> None:
    kind, value = model_class(name), SETTING[new]
    said = f"the parameter '{old}' of {kind.__name__} is called '{new}' now"
    with pytest.warns(DeprecationWarning, match=said):
        model = kind(**{old: value})
    assert repr(model) == repr(kind(**{new: value}))
    with pytest.warns(DeprecationWarning, match=f"attribute '{old}' .* called '{new}' now"):
        assert getattr(model, old) == value
    with pytest.warns(DeprecationWarning, match=f"attribute '{old}' .* called '{new}' now"):
        setattr(model, old, parameters_of(kind)[new])
    assert getattr(model, new) == parameters_of(kind)[new]
    with pytest.raises(tr.TruerankError, match=f"{new} must be given once: {old} is its old name"):
        kind(**{old: value, new: value})


@pytest.mark.parametrize("name", RENAMED)
def test_a_file_with_old_names_loads_without_a_warning(name: str, tmp_path: Path) -> None:
    names = RENAMED[name]
    setting = {new: SETTING[new] for new in names.values()}
    model = model_class(name)(**setting).fit(DATA)
    model.save(tmp_path / "new.model")
    old_of_new = {new: old for old, new in names.items()}
    with (
        zipfile.ZipFile(tmp_path / "new.model") as source,
        zipfile.ZipFile(tmp_path / "old.model", "w") as target,
    ):
        for member in source.namelist():
            content = source.read(member)
            if member == "header.json":
                header = json.loads(content)
                parameters = header["parameters"]
                header["parameters"] = {old_of_new.get(k, k): v for k, v in parameters.items()}
                assert set(names) <= set(header["parameters"])
                content = json.dumps(header).encode()
            target.writestr(member, content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tr.models.load(tmp_path / "old.model")
    assert again.parameters() == model.parameters()
    users = np.arange(30)
    assert np.array_equal(again.score_all(users), model.score_all(users))


def test_a_space_with_old_names() -> None:
    new = tr.search("lrr", {"l2": [1.0, 9.0], "dim": [2, 4]}, DATA, metric="ndcg@5")
    with pytest.warns(DeprecationWarning, match="parameter 'rank' of LRR is called 'dim' now"):
        old = tr.search("lrr", {"l2": [1.0, 9.0], "rank": [2, 4]}, DATA, metric="ndcg@5")
    assert old.best_parameters == new.best_parameters
    assert [t.parameters for t in old.trials] == [t.parameters for t in new.trials]


def test_the_grid_of_a_spectrum() -> None:
    with pytest.warns(DeprecationWarning, match="'rank' of SpectrumGrid.of is called 'dim' now"):
        grid = SpectrumGrid.of(DATA, "LRR", rank=3)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match="'rank' of SpectrumGrid.model is called 'dim' now"):
        model = grid.model(l2=1.0, rank=2)  # type: ignore[call-arg]
    assert model.item_factors.shape == (24, 2)


@pytest.mark.filterwarnings("always::DeprecationWarning")  # said here, by no module of ours
@pytest.mark.parametrize(
    ("words", "more", "settings", "said"),
    [
        ("ials reg=0.1 dim=8", [], {"l2": 0.1, "dim": 8}, ("reg", "l2")),
        ("ials", ["reg=0.1"], {"l2": 0.1}, ("reg", "l2")),
        ("edlae rank=4", ["dropout=0.2"], {"dim": 4, "dropout": 0.2}, ("rank", "dim")),
    ],
)
def test_a_model_in_words_on_the_command_line(
    words: str,
    more: list[str],
    settings: dict[str, Any],
    said: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A remark on standard error, no warning of Python's; a TOML file says the same words."""
    assert parse_model(words, more).settings == settings
    old, new = said
    sentence = f"the setting '{old}' of {words.split()[0]} is called '{new}' now"
    assert sentence in capsys.readouterr().err
