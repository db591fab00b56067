"""A search that was interrupted goes on to the same result; logs of others are refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import FileFormatError, InvalidDataError, StorageError
from truerank.search.search_models import Between, SearchResult, search

from .search_world import Peaked, peaked, world

DATA, AFFINITY = world()
MODEL = peaked(AFFINITY)
SPACE: dict[str, Any] = {"x": [0.0, 1.0, 2.0, 2.98, 3.0, 3.01, 4.0]}


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def interrupted_after(n: int) -> Any:
    """The model, but the fit after ``n`` does not come back."""
    done = 0

    def make(x: float, y: float = 0.0) -> Peaked:
        nonlocal done
        done += 1
        if done > n:
            raise StoppedError
        return Peaked(AFFINITY, x, y)

    make.__qualname__, make.__module__ = MODEL.__qualname__, MODEL.__module__
    return make


def same(one: SearchResult, other: SearchResult) -> bool:
    return (
        one.trials == other.trials
        and one.best == other.best
        and one.level_with_best == other.level_with_best
        and one.sentence == other.sentence
    )


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"strategy": "grid"}, id="grid"),
        pytest.param({"strategy": "grid", "prune": 0.05}, id="pruned"),
        pytest.param({"strategy": "random", "n_trials": 7}, id="random"),
        pytest.param({"strategy": "optuna", "n_trials": 14}, id="optuna"),
        pytest.param({"strategy": "grid", "design": tr.Sampled(20)}, id="sampled"),
        pytest.param({"strategy": "grid", "keep": 2, "prune": 0.05}, id="few tables"),
    ],
)
def test_going_on_gives_the_same_result(how: dict[str, Any], tmp_path: Path) -> None:
    space = SPACE
    if how["strategy"] != "grid":
        space = {"x": Between(0.0, 6.0)}
    if how["strategy"] == "optuna":
        pytest.importorskip("optuna")
    log = tmp_path / "search.jsonl"
    known = {"metric": "ndcg@10", **how}
    whole = search(MODEL, space, DATA, **known)
    stop = {"grid": 7 + 4, "random": 4, "optuna": 11}[how["strategy"]]  # a grid is made first
    with pytest.raises(StoppedError):
        search(interrupted_after(stop), space, DATA, log=log, **known)
    assert len(log.read_text().splitlines()) == 1 + (4 if how["strategy"] != "optuna" else 11)
    before = Peaked.fits
    resumed = search(MODEL, space, DATA, log=log, **known)
    assert Peaked.fits - before == len(whole.trials) - (4 if how["strategy"] != "optuna" else 11)
    assert same(resumed, whole)
    before = Peaked.fits
    assert same(search(MODEL, space, DATA, log=log, **known), whole)  # nothing is left to do
    assert Peaked.fits == before


def test_half_a_line_is_dropped(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    whole = search(MODEL, SPACE, DATA, metric="ndcg@10", log=log)
    content = log.read_bytes()
    for cut in (len(content) - 1, len(content) - 40, 30):  # the last: half of the first line
        log.write_bytes(content[:cut])
        assert same(search(MODEL, SPACE, DATA, metric="ndcg@10", log=log), whole)
        assert [json.loads(line)["value"] for line in log.read_text().splitlines()[1:]] == [
            trial.value for trial in whole.trials
        ]


def test_lost_tables_are_made_again(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    whole = search(MODEL, SPACE, DATA, metric="ndcg@10", log=log, prune=0.05)
    tables = sorted((tmp_path / "search.jsonl.tables").iterdir())
    assert len(tables) == sum(trial.status == "finished" for trial in whole.trials)
    tables[0].unlink()
    tables[1].write_bytes(b"not a table")
    assert same(search(MODEL, SPACE, DATA, metric="ndcg@10", log=log, prune=0.05), whole)


def test_only_the_best_tables_stay_on_disk(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    found = search(MODEL, SPACE, DATA, metric="ndcg@10", log=log, keep=2)
    names = {path.name for path in (tmp_path / "search.jsonl.tables").iterdir()}
    best = sorted(found.trials, key=lambda trial: -trial.value)[:2]
    assert names == {f"trial-{trial.number:05d}.parquet" for trial in best}


KILLED = """
import os, signal, sys
import numpy as np
import truerank as tr
from truerank.search.search_models import search
from truerank.models import ItemKNN

fit, done = ItemKNN.fit, []

def mortal(self, interactions):
    done.append(self)
    if len(done) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return fit(self, interactions)

ItemKNN.fit = mortal
user, item = np.nonzero(np.random.default_rng(0).random((600, 50)) < 0.1)
search("item-knn", {"k": [1, 2, 4, 8, 16, 32]}, tr.Interactions.from_arrays(user, item),
       metric="ndcg@10", log=sys.argv[1])
"""


def test_a_killed_process(tmp_path: Path) -> None:
    """SIGKILL leaves no time for anything; what was written is enough."""
    log = tmp_path / "search.jsonl"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(log)], check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL
    assert log.read_bytes().count(b"\n") == 1 + 3
    user, item = np.nonzero(np.random.default_rng(0).random((600, 50)) < 0.1)
    given: dict[str, Any] = {
        "space": {"k": [1, 2, 4, 8, 16, 32]},
        "data": tr.Interactions.from_arrays(user, item),
        "metric": "ndcg@10",
    }
    resumed = search("item-knn", **given, log=log)
    assert same(resumed, search("item-knn", **given))


def test_logs_of_other_searches_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    search(MODEL, {"x": [2.0, 3.0]}, DATA, metric="ndcg@10", log=log)
    content = log.read_bytes()
    others: list[tuple[dict[str, Any], str]] = [
        ({"metric": "recall@10"}, "it differs in metric;"),
        ({"seed": 1}, "it differs in seed, validation split;|it differs in seed, data set"),
        ({"space": {"x": [2.0, 3.0, 4.0]}}, "it differs in space;"),
        ({"design": tr.Sampled(30)}, "it differs in design;"),
        ({"prune": 0.1}, "it differs in prune, number of trials;"),
        ({"data": world(seed=1)[0]}, "it differs in data set, validation split;"),
        ({"model": "item-knn", "space": {"k": [2, 3]}}, "it differs in model, space;"),
    ]
    for changed, sentence in others:
        given = {"model": MODEL, "space": {"x": [2.0, 3.0]}, "data": DATA, **changed}
        with pytest.raises(InvalidDataError, match=f"is the log of another search: .*{sentence}"):
            search(**{"metric": "ndcg@10", "log": log, **given})
    assert log.read_bytes() == content


def test_more_trials_of_the_same_random_search(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    how: dict[str, Any] = {"metric": "ndcg@10", "strategy": "random"}
    space = {"x": Between(0.0, 6.0)}
    search(MODEL, space, DATA, n_trials=3, log=log, **how)
    before = Peaked.fits
    more = search(MODEL, space, DATA, n_trials=5, log=log, **how)
    assert Peaked.fits - before == 2
    assert same(more, search(MODEL, space, DATA, n_trials=5, **how))


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", b"[1]\n", b'{"a": 1}\n', b"no newline"])
def test_files_that_are_no_log_are_left_alone(content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "mine.csv"
    log.write_bytes(content)
    with pytest.raises(FileFormatError, match="is not the log of a search"):
        search(MODEL, SPACE, DATA, metric="ndcg@10", log=log)
    assert log.read_bytes() == content


def test_damage_in_the_middle_is_seen(tmp_path: Path) -> None:
    log = tmp_path / "search.jsonl"
    search(MODEL, SPACE, DATA, metric="ndcg@10", log=log)
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], lines[2], *lines[3:]]) + "\n")
    with pytest.raises(FileFormatError, match="is not the log of a search, or it is damaged"):
        search(MODEL, SPACE, DATA, metric="ndcg@10", log=log)


def test_the_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist; create it first"):
        search(MODEL, SPACE, DATA, metric="ndcg@10", log=tmp_path / "no" / "log.jsonl")
