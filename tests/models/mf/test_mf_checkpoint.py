from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.errors import (
    DivergedError,
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
    StorageError,
)
from truerank.models import MF
from truerank.training.validation import ValidationUsers, train_validation_split

from .test_mf import QUICK, TRAIN, data

LONG: dict[str, Any] = QUICK | {
    "epochs": 7,
    "lr_patience": 1,
    "patience": 100,
    "learning_rate": 0.2,
}


def assert_same(a: MF, b: MF) -> None:
    for name in ("user_factors", "item_factors", "losses", "validations"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("optimiser", ["adam", "dense-adam", "adagrad", "sgd"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_training_goes_on_to_the_same_bits(tmp_path: Path, optimiser: str, share: float) -> None:
    settings = LONG | {"optimiser": optimiser, "validation_share": share}
    path = tmp_path / "mf.npz"
    whole = MF("bpr", **settings).fit(TRAIN)
    MF("bpr", **settings | {"epochs": 3}).fit(TRAIN, checkpoint=path)
    resumed = MF("bpr", **settings).fit(TRAIN, checkpoint=path, workers=1)
    assert len(resumed.losses) == 7
    assert_same(resumed, whole)
    again = MF("bpr", **settings).fit(TRAIN, checkpoint=path)  # nothing is left to do
    assert_same(again, whole)
    assert [p.name for p in tmp_path.iterdir()] == ["mf.npz"]


@pytest.mark.parametrize("first", [3, 4])
def test_training_goes_on_although_its_last_epoch_was_validated_out_of_turn(
    tmp_path: Path, first: int
) -> None:
    settings = LONG | {"validation_every": 2, "lr_patience": 1}
    whole = MF("bpr", **settings).fit(TRAIN)
    short = MF("bpr", **settings | {"epochs": first}).fit(TRAIN, checkpoint=tmp_path / "c")
    assert np.isfinite(short.validations[-1])
    assert_same(
        MF("bpr", **settings | {"epochs": first}).fit(TRAIN, checkpoint=tmp_path / "c"), short
    )
    resumed = MF("bpr", **settings).fit(TRAIN, checkpoint=tmp_path / "c")
    assert np.isnan(whole.validations[0::2][:-1]).all()
    assert np.isfinite(whole.validations[-1])
    assert_same(resumed, whole)


def test_what_a_checkpoint_cannot_do_is_said_before_training(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"the folder .*nowhere does not exist"):
        MF("bpr", **LONG).fit(TRAIN, checkpoint=tmp_path / "nowhere" / "c")
    MF("bpr", **QUICK | {"epochs": 2}).fit(TRAIN, checkpoint=tmp_path / "c")
    with pytest.raises(InvalidArgumentError, match=r"epochs must be at least 2, which .*c has"):
        MF("bpr", **QUICK | {"epochs": 1}).fit(TRAIN, checkpoint=tmp_path / "c")
    with pytest.raises(InvalidDataError, match="no interaction to learn from"):
        MF("bpr", **QUICK).fit(TRAIN.select(np.zeros(len(TRAIN), np.bool_)))


def test_an_interrupted_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schedule has halved the rate and the best epoch is past when it breaks."""
    from truerank.models.mf.steps import Steps

    whole = MF("bpr", **LONG).fit(TRAIN)
    epoch, done = Steps.epoch, iter(range(100))

    def breaking(*args: Any) -> float:
        if next(done) == 5:
            raise KeyboardInterrupt
        return epoch(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "epoch", breaking)
        with pytest.raises(KeyboardInterrupt):
            MF("bpr", **LONG).fit(TRAIN, checkpoint=tmp_path / "c", checkpoint_every=2)
    with np.load(tmp_path / "c") as held:
        assert len(held["losses"]) == 4  # of five, the last two of every two
    assert_same(MF("bpr", **LONG).fit(TRAIN, checkpoint=tmp_path / "c"), whole)


@pytest.mark.parametrize(("min_rate", "expected"), [(1e-6, 0.005), (0.01, 0.01), (1.0, 0.02)])
def test_the_rate_is_halved_on_every_plateau_down_to_its_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, min_rate: float, expected: float
) -> None:
    values = iter([0.3, 0.2, 0.3, 0.4, 0.1, 0.2])  # better, two that are not, better, two again
    monkeypatch.setattr(ValidationUsers, "evaluate_factors", lambda *_: next(values))
    settings = QUICK | {"epochs": 6, "lr_patience": 2, "min_learning_rate": min_rate}
    MF("bpr", **settings).fit(TRAIN, checkpoint=tmp_path / "c")
    with np.load(tmp_path / "c") as held:
        at = json.loads(held["header"].tobytes())["at"]
    assert at["rate"] == expected
    n_pairs = len(train_validation_split(TRAIN, share=0.1, seed=0)[0])
    assert at["step"] == 6 * -(-n_pairs // 128)  # Adam counts on over the epochs


def test_a_checkpoint_of_other_data_is_refused(tmp_path: Path) -> None:
    path, split = tmp_path / "c", tr.split.leave_one_out(TRAIN, seed=0)
    MF("bpr", **QUICK).fit(split.train, checkpoint=path)
    with pytest.raises(InvalidDataError, match="c is of another data set"):
        MF("bpr", **QUICK).fit(data(seed=5), checkpoint=path)
    with pytest.raises(InvalidDataError, match="another data set"):
        MF("bpr", **QUICK).fit(split.train, validation=split.held_out, checkpoint=path)


def test_settings_that_no_file_can_hold_are_refused_before_training(tmp_path: Path) -> None:
    def scaled(pos: Any, neg: Any, *, by: Any) -> Any:
        return tr.losses.LOSSES["bpr"](pos, neg) * by[0]

    for held, works in (((2.0, 3.0), True), (torch.ones(2), False), (np.ones(2), False)):
        model = MF(scaled, loss_params={"by": held}, **QUICK | {"epochs": 2})
        path = tmp_path / f"{type(held).__name__}.npz"
        if works:
            assert_same(model.fit(TRAIN, checkpoint=path), model.fit(TRAIN, checkpoint=path))
            continue
        with pytest.raises(InvalidArgumentError, match="loss_params must be made of numbers"):
            model.fit(TRAIN, checkpoint=path)
        assert not path.exists()
        model.fit(TRAIN)  # without a file there is nothing to hold


@pytest.mark.parametrize("per", ["batch", 16, "pair"])
def test_training_with_sets_goes_on_to_the_same_bits(tmp_path: Path, per: str | int) -> None:
    settings = LONG | {"negatives_per": per, "optimiser": "dense-adam"}
    whole = MF("infonce", **settings).fit(TRAIN, workers=3)
    MF("infonce", **settings | {"epochs": 3}).fit(TRAIN, checkpoint=tmp_path / "c")
    assert_same(MF("infonce", **settings).fit(TRAIN, checkpoint=tmp_path / "c"), whole)
    other = {"negatives_per": 32 if per != "pair" else 16}
    with pytest.raises(InvalidDataError, match="was made with negatives_per="):
        MF("infonce", **settings | other).fit(TRAIN, checkpoint=tmp_path / "c")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"learning_rate": 0.5}, "was made with learning_rate=0.02 and this model has 0.5"),
        ({"loss": "mse"}, "was made with loss='bpr' and this model has 'mse'"),
        ({"seed": 3}, "was made with seed=0 and this model has 3"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(
    tmp_path: Path, other: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "c"
    MF("bpr", **QUICK).fit(TRAIN, checkpoint=path)
    with pytest.raises(InvalidDataError, match=sentence):
        MF(**{"loss": "bpr"} | QUICK | other).fit(TRAIN, checkpoint=path)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    MF("bpr", **QUICK).fit(TRAIN, checkpoint=path)
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", header=np.zeros(3, np.uint8))
    foreign = (tmp_path / "other.npz").read_bytes()
    changed = whole[:500] + b"x" * 500 + whole[1000:]
    for broken in (whole[: len(whole) // 2], b"", b"hello", foreign, changed):
        path.write_bytes(broken)
        with pytest.raises(FileFormatError, match="not a whole checkpoint"):
            MF("bpr", **QUICK).fit(TRAIN, checkpoint=path)


def test_a_checkpoint_with_a_header_that_nobody_should_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c"
    MF("bpr", **QUICK).fit(TRAIN, checkpoint=path)
    with np.load(path) as held:
        arrays = dict(held)
    good, parsed = arrays["header"].tobytes(), []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(len(text)) or loads(text))
    for header, is_parsed in (
        (b"[" * 10**5 + b"]" * 10**5, True),
        (good[:-1] + b', "more": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", True),
        (good + b" " * 2**24, False),  # more than 16 MB
    ):
        parsed.clear()
        with path.open("wb") as file:
            np.savez(file, **arrays | {"header": np.frombuffer(header, np.uint8)})
        with pytest.raises(FileFormatError, match="not a whole checkpoint"):
            MF("bpr", **QUICK).fit(TRAIN, checkpoint=path)
        assert (len(header) in parsed) == is_parsed


def test_nan_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    calls = iter(range(1000))
    sour_at = 21

    def sour(pos: torch.Tensor, neg: torch.Tensor) -> torch.Tensor:
        bad = torch.nan if next(calls) == sour_at else 1.0
        return bad * torch.nn.functional.softplus(neg - pos[:, None]).sum(dim=1)

    path = tmp_path / "c"
    every = {"checkpoint": path, "checkpoint_every": 2}
    steps = -(-len(train_validation_split(TRAIN, share=0.1, seed=0)[0]) // 128)
    done = sour_at // steps // 2 * 2
    with pytest.raises(DivergedError, match=f"{path} has epoch {done}"):
        MF(sour, **LONG).fit(TRAIN, **every)
    with np.load(path) as held:
        assert len(held["losses"]) == done
    good = MF(sour, **LONG).fit(TRAIN, checkpoint=path)  # it was sour once only
    assert len(good.losses) == 7
    assert np.isfinite(good.item_factors).all()
