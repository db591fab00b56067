"""What MF does not do, and the sentence that says so."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
import torch

import truerank as tr
from truerank.errors import DivergedError, InvalidArgumentError, InvalidDataError
from truerank.losses import LOSSES
from truerank.models import MF
from truerank.training.validation import train_validation_split

from .test_mf import QUICK, TRAIN, data


def test_fold_in_of_another_catalogue_is_refused() -> None:
    model = MF("bpr", **QUICK).fit(TRAIN)
    with pytest.raises(InvalidDataError, match="over 41 items and the model over 40"):
        model.fold_in(data(items=41))


def test_validation_items_of_others_or_learned_by_heart_are_refused() -> None:
    split = tr.split.leave_one_out(data(idle=False), seed=1)
    held = split.held_out
    renamed = tr.Interactions.from_arrays(
        held.users + 1000, held.indices, user_ids=held.user_ids + 1000, item_ids=held.item_ids
    )
    for given, sentence in (
        (data(items=41), "has 41 items and the training data 40; give both the same vocabularies"),
        (renamed, "number their users differently; give both the same vocabularies"),
        (split.train, f"{len(split.train):,} pairs of the validation part are in the training"),
    ):
        with pytest.raises(InvalidDataError, match=sentence):
            MF("bpr", **QUICK).fit(split.train, validation=given)


@pytest.mark.parametrize("workers", [-1, 0, 1.5, "2", True])
def test_workers_that_make_no_sense_are_refused(workers: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="workers must be a whole number, at least 1"):
        MF("bpr", **QUICK).fit(TRAIN, workers=workers)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": "bprr"}, "loss must be one of .* did you mean 'bpr'"),
        ({"loss": 3}, "loss must be a name of truerank.losses or a function"),
        (
            {"loss": "infonce", "loss_params": {"temperature": 0.0}},
            "temperature must be a positive number, got 0.0",
        ),
        ({"loss": "ccl", "loss_params": {"margin": 1.5}}, r"margin must be in \[0, 1\), got 1.5"),
        (
            {"loss": "bpr", "loss_params": {"margin": 0.5}},
            "parameter must be one that the loss 'bpr' takes",
        ),
        (
            {"similarity": "cosin"},
            "similarity must be one of dot, cosine, got 'cosin'; did you mean 'cosine'",
        ),
        ({"negatives": "popular"}, "did you mean 'popularity'"),
        ({"optimiser": "adma"}, "did you mean 'adam'"),
        ({"epsilon": 0}, "epsilon must be a number of at least 1e-30"),
        ({"loss_params": 0.1}, 'parameters by name, got 0.1; such as {"temperature": 0.1}'),
        ({"dim": 0}, "dim must be a whole number, at least 1, got 0"),
        ({"learning_rate": -1.0}, "learning_rate must be positive and finite, got -1.0"),
        ({"l2": -1.0}, "l2 must be at least 0"),
        ({"validation_share": 1.5}, "validation_share must be from 0 to 1, got 1.5"),
        ({"validation_metric": "ndgc@5"}, "metric must be one of"),
        (
            {"loss": "ccl_debiased", "exclude_positives": True},
            "exclude_positives must be False for a debiased loss",
        ),
        (
            {"negatives": "in-batch", "negatives_per": "pair"},
            "negatives_per must be 'batch' for in-batch negatives",
        ),
        (
            {"negatives": "in-batch", "negatives_per": 8},
            "negatives_per must be 'batch' for in-batch negatives",
        ),
        (
            {"negatives_per": 0},
            "negatives_per must be 'batch', 'pair' or a number of pairs, at least 1, got 0",
        ),
        (
            {"negatives_per": "64"},
            "negatives_per must be 'batch', 'pair' or a number of pairs, at least 1",
        ),
        (
            {"negatives_per": 1.5},
            "negatives_per must be 'batch', 'pair' or a number of pairs, at least 1",
        ),
        ({"exclude_positives": "no"}, "exclude_positives must be True or False, got 'no'"),
        (
            {"loss": LOSSES["bpr"], "loss_params": {"temprature": 0.2}},
            "loss must be a function of .* got 'bpr'; .* unexpected keyword argument 'temprature'",
        ),
        ({"loss": lambda pos: pos}, "loss must be a function of .* too many positional arguments"),
        (
            {
                "loss": LOSSES["infonce"],
                "loss_params": {"temperature": "hot"},
                "correct_for_sampling": True,
            },
            "temperature must be a positive number, got 'hot'",
        ),
        ({"l2": 1e39}, "l2 must be 0, or from 1e-30 to 1e30 in size, got 1e[+]39"),
        ({"init_std": 1e-40}, "init_std must be 0, or from 1e-30"),
        (
            {"loss": "infonce", "loss_params": {"temperature": 1e39}},
            "temperature must be 0, or from 1e-30 to 1e30 in size",
        ),
        ({"correct_for_sampling": 1}, "correct_for_sampling must be True or False, got 1"),
        (
            {"loss": "ccl", "correct_for_sampling": True},
            "correct_for_sampling must be False for the loss 'ccl', got True",
        ),
        (
            {"loss": "mse_debiased", "correct_for_sampling": True},
            "correct_for_sampling must be False for the loss 'mse_deb",
        ),
        ({"validation_metric": None}, "validation_metric must be a metric such as"),
        ({"seed": -1}, "seed must be an integer"),
    ],
)
def test_settings_that_make_no_sense_are_said_in_one_sentence(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        MF(**settings)


def test_more_negatives_than_items_are_refused() -> None:
    sentence = "n_negatives must be at most the number of items, 40, got 41"
    with pytest.raises(InvalidArgumentError, match=sentence):
        MF("bpr", **QUICK | {"n_negatives": 41}).fit(TRAIN)


def test_a_user_with_every_item_leaves_nothing_to_exclude() -> None:
    full = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 0])
    settings = {"n_negatives": 1, "validation_share": 0.0, "epochs": 1}
    with pytest.raises(InvalidDataError, match="a user has every item"):
        MF("bpr", exclude_positives=True, **settings).fit(full)
    MF("bpr", **settings).fit(full)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"loss": "mse", "learning_rate": 1e6, "optimiser": "sgd"},
            r"the learning rate 1e\+06 is probably too large; try a tenth",
        ),
        (
            {"loss": "mine", "learning_rate": 1e30, "optimiser": "sgd"},
            "'mine' has no minimum with dot products",
        ),
        (
            {
                "loss": "infonce",
                "learning_rate": 1e30,
                "loss_params": {"temperature": 0.001},
                "optimiser": "sgd",
            },
            "the temperature 0.001 is probably too small",
        ),
        (
            {"loss": lambda pos, neg: pos * neg.sum() * torch.nan},
            "either your loss gives it for these scores, or the learning rate 0.02",
        ),
    ],
)
def test_a_loss_that_is_no_number_stops_training(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DivergedError, match=rf"became .* epoch \d+: .*{sentence}"):
        MF(**QUICK | {"validation_share": 0.0, "epochs": 30} | settings).fit(TRAIN)


def test_nan_says_the_step_and_the_epoch() -> None:
    calls = iter(range(1000))

    def sour(pos: torch.Tensor, neg: torch.Tensor) -> torch.Tensor:
        return pos * (torch.nan if next(calls) == 12 else 1.0) + neg.sum(dim=1)

    steps = -(-len(train_validation_split(TRAIN, share=0.1, seed=0)[0]) // 128)
    epoch, step = divmod(12, steps)
    sentence = (
        "Training diverged: the loss is NaN or infinite. It became nan in "
        f"step {step + 1} of epoch {epoch + 1}"
    )
    with pytest.raises(DivergedError, match=sentence):
        MF(sour, **QUICK).fit(TRAIN)


def test_a_reduced_loss_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="leave the mean or sum over the batch"):
        MF(lambda pos, neg: (neg.mean(dim=1) - pos).mean(), **QUICK).fit(TRAIN)


@pytest.mark.parametrize(
    "loss",
    [
        lambda pos, neg: pos.detach() - neg.detach().sum(dim=1),
        lambda pos, neg: torch.ones(len(pos)),
        lambda pos, neg: (pos - neg.sum(dim=1)).to(torch.complex64),
        torch.no_grad()(LOSSES["bpr"]),
    ],
    ids=["detached", "constant", "complex", "no-grad"],
)
def test_a_loss_without_a_gradient_gets_a_sentence(loss: Any) -> None:
    with pytest.raises(InvalidDataError, match="that torch cannot take back to the scores"):
        MF(loss, **QUICK).fit(TRAIN)


@pytest.mark.parametrize(
    ("settings", "workers"),
    [
        ({"batch_size": 4000, "n_negatives": 3000}, 2),
        ({"batch_size": 600, "n_negatives": 3000}, 4),
        ({"batch_size": 2000, "n_negatives": 300, "negatives_per": "pair"}, 2),
        ({"batch_size": 2000, "n_negatives": 500, "negatives_per": 16}, 2),
    ],
    ids=["large batch", "many threads", "own", "sets"],
)
def test_the_room_asked_for_is_the_room_taken(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], workers: int
) -> None:
    data = tr.load_dataset("demo", n_users=900, n_items=3500)
    model = MF("infonce", **settings, dim=4, epochs=1, validation_share=0.05)
    model.fit(data, workers=workers)  # compiled; what that takes is not asked for
    asked: list[int] = []
    monkeypatch.setattr(
        "truerank.models.mf.settings.check_room", lambda needed, *_: asked.append(needed)
    )
    tracemalloc.start()
    try:
        model.fit(data, workers=workers)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.5 < taken / asked[0] < 2.0
