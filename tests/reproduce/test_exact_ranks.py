"""One held-out item per user: of the published split where the catalogue says there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truerank.data.registry.catalogue import DATASETS
from truerank.data.registry.dataset import Dataset
from truerank.reproduce.exact_ranks import one_item_split

ENTRY = Dataset(name="tiny", title="Tiny", licence="Tests.", citation="Nobody", origin="nowhere")


@pytest.fixture
def save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TRUERANK_DATA", str(tmp_path))
    monkeypatch.setenv("TRUERANK_OFFLINE", "1")

    def put(entry: Dataset, **arrays: Any) -> None:
        (tmp_path / entry.name).mkdir()
        np.savez(tmp_path / entry.name / f"{entry.name}.npz", **arrays)
        monkeypatch.setitem(DATASETS, entry.name, entry)

    return put


def test_a_published_split_keeps_one_of_its_test_items(save: Any) -> None:
    save(
        replace(ENTRY, fixed_split=True),
        train_user=[0, 0, 1, 1], train_item=[0, 1, 1, 2],
        test_user=[0, 0, 1], test_item=[2, 3, 3],
    )  # fmt: skip
    split = one_item_split("tiny")
    assert split.train.user_counts.tolist() == [2, 2]
    assert split.held_out.user_counts.tolist() == [1, 1]
    assert split.held_out.items[0] in (2, 3)
    assert split.held_out.items[1] == 3


def test_other_data_are_split_at_random_without_their_ratings(save: Any) -> None:
    save(ENTRY, user=[0, 0, 0, 1, 1], item=[0, 1, 2, 0, 2], rating=[1.0, 5.0, 3.0, 2.0, 4.0])
    split = one_item_split("tiny")
    assert split.description["name"] == "leave_one_out"
    assert split.held_out.user_counts.tolist() == [1, 1]
    assert split.train.weights is None
