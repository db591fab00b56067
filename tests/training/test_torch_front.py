"""A small torch model on the loop: it learns, repeats itself, goes on, and stops in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.errors import DivergedError, InvalidArgumentError, InvalidDataError
from truerank.losses import LOSSES
from truerank.training.optimisers import DenseOptimiser
from truerank.training.torch_front import TorchSettings, TorchTraining, train_module

N_USERS, N_ITEMS = 60, 40


def tastes() -> tr.Interactions:
    """Users of the first half like items of the first half, and so do those of the second."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(N_USERS), 8)
    half = (user < N_USERS // 2) * (N_ITEMS // 2)
    item = half + np.concatenate([rng.permutation(N_ITEMS // 2)[:8] for _ in range(N_USERS)])
    return tr.Interactions.from_arrays(user, item)


DATA = tastes()
HOW = TorchSettings(
    n_negatives=8,
    learning_rate=0.03,
    batch_size=16,
    epochs=8,
    validation_metric="ndcg@5",
    validation_share=0.3,
)


class TwoTowers(torch.nn.Module):
    """A vector for each user and item, a layer on top of either, and dropout between."""

    def __init__(self, dim: int = 8) -> None:
        super().__init__()
        self.users = torch.nn.Embedding(N_USERS, dim)
        self.items = torch.nn.Embedding(N_ITEMS, dim)
        self.layer = torch.nn.Linear(dim, dim)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, users: Any, items: Any) -> Any:
        user = self.layer(self.dropout(self.users(users)))
        return torch.einsum("bd,bnd->bn", user, self.items(items))


def trained(how: TorchSettings = HOW, **more: Any) -> tuple[dict[str, Any], TorchTraining]:
    result = train_module(lambda _: TwoTowers(), DATA, how, **more)
    return {name: t.numpy().copy() for name, t in result.module.state_dict().items()}, result


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_it_learns_what_was_planted() -> None:
    result = train_module(lambda _: TwoTowers(), DATA, HOW)
    assert result.losses[-1] < 0.7 * result.losses[0]
    assert result.validations[result.best_epoch - 1] == result.validations.max()
    assert not result.module.training
    with torch.no_grad():
        scores = result.module(
            torch.arange(N_USERS), torch.arange(N_ITEMS).expand(N_USERS, -1)
        ).numpy()
    mine = (np.arange(N_ITEMS) >= N_ITEMS // 2) == (np.arange(N_USERS) < N_USERS // 2)[:, None]
    assert scores[mine].mean() > scores[~mine].mean() + 1.0


def test_the_same_seed_gives_the_same_bits_and_leaves_torch_alone() -> None:
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    one, result = trained()
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    torch.manual_seed(6)
    again, _ = trained()
    assert_same(one, again)
    other, _ = trained(replace(HOW, seed=1))
    assert (one["users.weight"] != other["users.weight"]).any()
    assert len(result.losses) == len(result.validations) == 8


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd"])
def test_it_goes_on_from_a_checkpoint_to_the_same_bits(optimiser: str, tmp_path: Path) -> None:
    how = replace(HOW, optimiser=optimiser, lr_patience=1, patience=100)
    whole, history = trained(how)
    trained(replace(how, epochs=3), checkpoint=tmp_path / "c")
    resumed, again = trained(how, checkpoint=tmp_path / "c")
    assert_same(whole, resumed)
    np.testing.assert_array_equal(history.losses, again.losses)
    np.testing.assert_array_equal(history.validations, again.validations)
    with pytest.raises(InvalidDataError, match=r"was made with l2=0\.0 and this model has 0\.1"):
        trained(replace(how, l2=0.1), checkpoint=tmp_path / "c")
    with np.load(tmp_path / "c", allow_pickle=False) as held:
        assert {"module.users.weight", "best.layer.bias", "losses"} <= set(held)


def test_training_that_diverges_stops_with_a_sentence() -> None:
    sentence = "Training diverged: .* the learning rate 1e.30 is probably too large; try a tenth"
    with pytest.raises(DivergedError, match=sentence):
        trained(replace(HOW, learning_rate=1e30, optimiser="sgd", loss="mse"))


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_the_table_trains(loss: str) -> None:
    _, result = trained(replace(HOW, loss=loss, epochs=2, negatives="uniform"))
    assert np.isfinite(result.losses).all()


def test_a_loss_of_ones_own_trains_without_validation_users() -> None:
    def hinge(pos: Any, neg: Any) -> Any:
        return torch.relu(1.0 - pos[:, None] + neg).mean(dim=1)

    state, result = trained(replace(HOW, loss=hinge, validation_share=0.0, epochs=3))
    assert result.best_epoch == 3
    assert np.isnan(result.validations).all()
    assert np.isfinite(state["users.weight"]).all()


def test_patience_stops_early() -> None:
    _, result = trained(replace(HOW, epochs=200, patience=2, learning_rate=0.1))
    assert len(result.losses) < 200
    assert result.best_epoch == len(result.losses) - 2


def test_what_cannot_be_is_refused() -> None:
    class Wrong(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(N_ITEMS))

        def forward(self, users: Any, items: Any) -> Any:
            return self.weight[items][:, 0]

    with pytest.raises(InvalidArgumentError, match=r"scores of the shape of items, \(16, 9\)"):
        train_module(lambda _: Wrong(), DATA, HOW)
    with pytest.raises(InvalidArgumentError, match="optimiser must be one of adam, adagrad, sgd"):
        TorchSettings(optimiser="adamw")
    with pytest.raises(InvalidArgumentError, match="at most the number of items, 40, got 41"):
        trained(replace(HOW, n_negatives=41))
    nothing = DATA.select(np.zeros(len(DATA), np.bool_))
    with pytest.raises(InvalidDataError, match="no interaction to learn from"):
        train_module(lambda _: TwoTowers(), nothing, HOW)


@pytest.mark.parametrize("name", ["adam", "adagrad", "sgd"])
def test_dense_optimisers_take_the_steps_of_torch(name: str) -> None:
    rng = np.random.default_rng(1)
    theta = {"a": rng.normal(size=(3, 2)), "b": rng.normal(size=4)}
    theirs = [torch.tensor(array.copy(), requires_grad=True) for array in theta.values()]
    kinds = {
        "adam": lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, weight_decay=0.1, eps=1e-8),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.1),
    }
    other, ours = kinds[name](theirs), DenseOptimiser(name, rate=0.05, l2=0.1)
    ours.start(theta)
    for _ in range(5):
        gradient = {key: rng.normal(size=array.shape) for key, array in theta.items()}
        for tensor, g in zip(theirs, gradient.values(), strict=True):
            tensor.grad = torch.tensor(g)
        other.step()
        ours.move(theta, gradient)
    for tensor, array in zip(theirs, theta.values(), strict=True):
        np.testing.assert_allclose(array, tensor.detach().numpy(), rtol=1e-10)


def test_the_module_is_made_of_what_it_may_learn_from() -> None:
    given: list[tr.Interactions] = []

    def make(learned: tr.Interactions) -> TwoTowers:
        given.append(learned)
        return TwoTowers()

    train_module(make, DATA, replace(HOW, epochs=1))
    train_module(make, DATA, replace(HOW, epochs=1, validation_share=0.0))
    assert [len(learned) < len(DATA) for learned in given] == [True, False]
