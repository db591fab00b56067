"""Trained models of RecBole: our ranks are positions in the lists of its ``full_sort_topk``."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from adapter_world import SPLIT, TRAIN, OwnList, check_against_lists, check_pairs, library

from truerank.adapters import from_recbole, scorer_for
from truerank.adapters.scorers import CalledScorer
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking.scorer import FactorScorer

config_of = library("recbole.config").Config
data_of = library("recbole.data")
utils = library("recbole.utils")
case_study = library("recbole.utils.case_study")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

MODELS: dict[str, tuple[dict[str, Any], type]] = {
    "BPR": ({"embedding_size": 8}, FactorScorer),
    "MultiDAE": ({"latent_dimension": 8, "mlp_hidden_size": [16]}, CalledScorer),
    "NeuMF": ({"learning_rate": 0.003, "epochs": 5}, CalledScorer),  # by predict, over all pairs
    "EASE": ({"reg_weight": 20.0}, CalledScorer),
    "Pop": ({}, CalledScorer),
}


def write_parts(folder: Path) -> None:
    """Our split as RecBole's: train, and the held-out part for validation and test."""
    (folder / "world").mkdir()
    for part, rows in (("train", TRAIN), ("valid", SPLIT.held_out), ("test", SPLIT.held_out)):
        users, items = rows.user_ids[rows.users], rows.item_ids[rows.items]
        lines = [f"{user}\t{item}" for user, item in zip(users, items, strict=True)]
        text = "\n".join(["user_id:token\titem_id:token", *lines])
        (folder / "world" / f"world.{part}.inter").write_text(text)


NUMPY_1 = {"float_": np.float64, "complex_": np.complex128, "unicode_": np.str_}
"""Names that RecBole 1.2.1 needs and numpy 2 has no more: the recipe of docs/elsewhere.md."""
OVERWRITTEN = ("int", "float", "complex", "object", "str", "unicode", "bool", "long")
"""Names of numpy that RecBole then sets for the whole process; put back after each test."""


def trained(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    for alias, value in {**dict.fromkeys(OVERWRITTEN), **NUMPY_1}.items():
        monkeypatch.setattr(np, alias, value, raising=False)
    write_parts(folder)
    sys.modules["torch"].set_num_threads(1)
    monkeypatch.chdir(folder)  # RecBole writes logs and checkpoints where it stands
    monkeypatch.setattr(sys, "argv", ["recbole"])  # it reads the command line of whoever runs it
    settings = {
        "data_path": str(folder),
        "benchmark_filename": ["train", "valid", "test"],
        "load_col": {"inter": ["user_id", "item_id"]},
        "epochs": 2,
        "train_batch_size": 32,
        "eval_args": {"mode": "full", "order": "RO", "group_by": "user"},
        "use_gpu": False,
        "show_progress": False,
        "checkpoint_dir": str(folder / "saved"),
        "state": "ERROR",
        **MODELS[name][0],
    }
    config = config_of(model=name, dataset="world", config_dict=settings)
    utils.init_seed(3, True)
    dataset = data_of.create_dataset(config)
    train, _, test = data_of.data_preparation(config, dataset)
    model = utils.get_model(name)(config, train.dataset).to(config["device"])
    trainer = utils.get_trainer(config["MODEL_TYPE"], name)(config, model)
    trainer.fit(train, None, saved=False, show_progress=False, verbose=False)
    return model, train.dataset, test


def own_list(model: Any, dataset: Any, test: Any) -> Any:
    def of(user: str) -> OwnList:
        number = dataset.token2id(dataset.uid_field, [user])
        scores, items = case_study.full_sort_topk(number, model, test, k=TRAIN.n_items)
        scores, items = scores[0].detach().numpy(), items[0].detach().numpy()
        keep = np.isfinite(scores)
        return dataset.id2token(dataset.iid_field, items[keep]).tolist(), scores[keep]

    return of


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, dataset, test = trained(name, tmp_path, monkeypatch)
    model.train()
    scorer = scorer_for(model, TRAIN, dataset=dataset)
    assert isinstance(scorer, MODELS[name][1])
    lists = own_list(model, dataset, test)
    check_against_lists(scorer, lists, sharp=0.1 if name == "Pop" else 0.9)
    check_pairs(scorer)


def test_the_model_stays_in_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, dataset, _ = trained("NeuMF", tmp_path, monkeypatch)
    scorer = from_recbole(model, dataset, TRAIN)
    for mode in (True, False):
        model.train(mode)
        scorer.score_all(np.arange(3))
        assert model.training is mode


def test_ids_that_are_not_recboles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, dataset, _ = trained("Pop", tmp_path, monkeypatch)
    other = Interactions.from_arrays([1, 2], [3, 4])
    with pytest.raises(InvalidDataError, match="the model knows none of the 2 users of data"):
        from_recbole(model, dataset, other)


def test_sequential_models_are_refused() -> None:
    sequential = SimpleNamespace(type=utils.ModelType.SEQUENTIAL)
    with pytest.raises(InvalidArgumentError, match=r"scores sequences.*tr\.read_lists"):
        from_recbole(sequential, None, TRAIN)
