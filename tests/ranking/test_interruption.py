"""Ctrl-C and lost workers: nothing half-done remains, and the next call is not harmed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dying_workers import DyingOnce
from slow_ranking import make_world

from truerank.execution import Serial, Threads
from truerank.ranking import FactorScorer, Full, FunctionScorer, Sampled, rank_pairs
from truerank.ranking.backends import calls as call_backend

WORLD = make_world()
SCORER = FactorScorer(WORLD.X, WORLD.Y)
BY_CALLS = FunctionScorer(lambda users: WORLD.scores[users], n_items=90)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread and no temporary file may outlive a test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("truerank-")] == []


@dataclass(frozen=True)
class Interrupted:
    """An executor whose reader presses Ctrl-C after the first result."""

    inner: Any

    @property
    def in_process(self) -> bool:
        return bool(self.inner.in_process)

    def imap(self, fn: Any, tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for result in self.inner.imap(fn, tasks):
            yield result
            raise KeyboardInterrupt


@pytest.mark.parametrize("inner", [Serial(), Threads(2)], ids=["serial", "threads"])
def test_ctrl_c_between_blocks(inner: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        rank_pairs(SCORER, WORLD.users, WORLD.items, executor=Interrupted(inner))


def test_ctrl_c_inside_a_scorer() -> None:
    def pressed(users: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_pairs(FunctionScorer(pressed, n_items=90), WORLD.users, WORLD.items)


@pytest.mark.parametrize("replacement", [False, True])
def test_ctrl_c_while_drawing_does_not_spoil_later_draws(
    monkeypatch: pytest.MonkeyPatch, replacement: bool
) -> None:
    design = Sampled(30, replacement=replacement)

    def ranks() -> list[int]:
        table = rank_pairs(
            BY_CALLS, WORLD.users, WORLD.items, design, exclude=WORLD.seen, executor=Serial()
        )
        return table.rank.tolist()

    expected = ranks()
    draw = call_backend.draw_rivals

    calls = iter(range(100))

    def interrupted(*args: Any) -> int:
        used = draw(*args)
        if next(calls) == 9:  # in the midst of some row, whose marks are set by now
            raise KeyboardInterrupt
        return used

    monkeypatch.setattr(call_backend, "draw_rivals", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ranks()
    monkeypatch.undo()
    assert ranks() == expected


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def failing(users: Any) -> Any:
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        rank_pairs(
            FunctionScorer(failing, n_items=90), WORLD.users, WORLD.items, executor=Threads(2)
        )


def test_a_lost_worker_changes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    design = Sampled(20)
    table = rank_pairs(SCORER, WORLD.users, WORLD.items, design, executor=DyingOnce(str(marker)))
    assert marker.exists()  # one did die
    expected = rank_pairs(SCORER, WORLD.users, WORLD.items, design, executor=Serial())
    assert np.array_equal(table.rank, expected.rank)


SCRIPT = """
import signal
import numpy as np
import truerank as tr

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    rng = np.random.default_rng(0)
    scorer = tr.FactorScorer(rng.normal(size=(40_000, 64)), rng.normal(size=(20_000, 64)))
    users = np.arange(40_000)
    print("ranking", flush=True)
    while True:
        tr.rank_pairs(scorer, users, users % 20_000, tr.Full(), executor=tr.Processes(2))
"""


def alive(group: int) -> list[str]:
    """Processes of a group that are not merely waiting for somebody to note their death."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(process_group) == group and state not in "ZX":
            found.append(stat.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_real_ctrl_c_leaves_no_files_and_no_processes(tmp_path: Path) -> None:
    script, room = tmp_path / "job.py", tmp_path / "room"
    script.write_text(SCRIPT)
    room.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(room)}, start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(room.glob("truerank-*/job.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.0)  # the workers are starting, or at work
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of them
        out, error = process.communicate(timeout=60)
        deadline = time.monotonic() + 10
        while alive(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert alive(process.pid) == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert out.split() == ["ranking"]
    assert "KeyboardInterrupt" in error
    assert process.returncode != 0
    assert list(room.iterdir()) == []


def test_full_is_the_default_design() -> None:
    assert rank_pairs(SCORER, [0], [0]).header.design == Full()
