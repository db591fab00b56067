from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one sentence about a mistake."""
        assert self.code == 2, self
        assert self.out == ""
        said = self.err.strip()
        assert said.startswith("truerank: ")
        assert "\n" not in said
        return said.removeprefix("truerank: ")


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder, without data sets of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRUERANK_DATA", raising=False)
    monkeypatch.setenv("TRUERANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRUERANK_OFFLINE", "1")

    def command(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Done(stopped.value.code, written.out, written.err)

    return command


def log() -> dict[str, list[Any]]:
    """A little log: 80 users, 60 items, popular ones more often, times without repeats."""
    rng = np.random.default_rng(11)
    popularity = 1.0 / np.arange(1, 61)
    rows = [
        (f"u{user:02d}", int(item))
        for user in range(80)
        for item in rng.choice(60, 12, replace=False, p=popularity / popularity.sum())
    ]
    times = rng.permutation(len(rows)) + 1_000_000
    return {
        "userId": [user for user, _ in rows],
        "movieId": [item for _, item in rows],
        "timestamp": times.tolist(),
    }


def write_csv(path: Path, columns: dict[str, list[Any]]) -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "ratings.csv", log())


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    """Ranks among 100 of 1,000 items."""
    rank = np.random.default_rng(0).geometric(0.05, 300).clip(1, 100)
    path = tmp_path / "sampled.parquet"
    tr.RankTable.from_arrays(rank=rank, n_sampled=100, n_items=1000).to_parquet(path)
    return path


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    """Ranks among all 1,000 items."""
    rank = np.random.default_rng(1).geometric(0.02, 300).clip(1, 1000)
    path = tmp_path / "exact.parquet"
    tr.RankTable.from_arrays(rank=rank, n_sampled=1000, n_items=1000).to_parquet(path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    columns = log()
    data = tr.Interactions.from_arrays(columns["userId"], columns["movieId"])
    path = tmp_path / "knn.model"
    tr.models.ItemKNN(k=5).fit(data).save(path)
    return path
