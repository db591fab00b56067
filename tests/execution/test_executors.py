"""The contract of every executor, and what is special about each."""

from __future__ import annotations

import inspect
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_tasks import (
    die,
    die_once,
    fail_on_three,
    refuse,
    settings_of_the_worker,
    slow_square,
    square,
)
from threadpoolctl import threadpool_info

import truerank as tr
from truerank import execution
from truerank.errors import InvalidArgumentError, TruerankError
from truerank.execution import (
    ENGINES,
    Executor,
    Processes,
    Serial,
    Threads,
    WorkerLostError,
    available_cores,
    closed_after,
)


def takes_workers(engine: Any) -> bool:
    return "workers" in inspect.signature(engine).parameters


EXECUTORS: dict[str, Executor] = {
    **{
        name: engine(workers=2) if takes_workers(engine) else engine()
        for name, engine in ENGINES.items()
    },
    "one-thread": Threads(1),
    "three-threads": Threads(3),
}
"""Every engine of the table, so that a new one keeps the contract too; and two more of threads."""
each = pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_every_engine_of_the_room_is_in_the_table() -> None:
    """Whatever has ``imap``, but for the protocol itself."""
    modules = [
        import_module(f"{execution.__name__}.{found.name}")
        for found in pkgutil.iter_modules(execution.__path__)
    ]
    engines = {
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and hasattr(thing, "imap") and thing is not Executor
    }
    assert engines == set(ENGINES.values())
    assert {engine.__name__ for engine in engines} <= set(execution.__all__)


@each
def test_every_task_once_with_its_position(executor: Executor) -> None:
    results = list(executor.imap(square, range(20)))
    assert sorted(results) == [(x, x * x) for x in range(20)]


@each
def test_no_tasks(executor: Executor) -> None:
    assert list(executor.imap(square, [])) == []


def test_serial_keeps_the_order_and_takes_one_at_a_time() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for x in range(5):
            taken.append(x)
            yield x

    results = Serial().imap(square, tasks())
    assert next(results) == (0, 0)
    assert taken == [0]
    assert list(results) == [(x, x * x) for x in range(1, 5)]


def test_threads_do_not_swallow_a_million_tasks_at_once() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for x in count():
            taken.append(x)
            yield x

    with closed_after(Threads(2).imap(square, tasks())) as results:
        for _ in range(50):
            next(results)
    assert len(taken) <= 50 + 2 * 2 * 2  # those finished, and a window or two


@each
def test_an_error_comes_back_as_it_was(executor: Executor) -> None:
    with pytest.raises(ValueError, match="three is not allowed"):
        list(executor.imap(fail_on_three, range(8)))


@each
def test_our_own_errors_cross_every_border(executor: Executor) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        list(executor.imap(refuse, [7]))
    assert str(caught.value) == "x must be something else, got 7; try another"


def test_in_process_or_not() -> None:
    within = {name for name, executor in EXECUTORS.items() if executor.in_process}
    assert {"serial", "threads", "processes"} & within == {"serial", "threads"}


@each
def test_ranks_are_the_same_bits_everywhere(executor: Executor) -> None:
    rng = np.random.default_rng(0)
    scorer = tr.FactorScorer(rng.normal(size=(40, 4)), rng.normal(size=(60, 4)))
    users, items = np.arange(40), rng.integers(0, 60, 40)
    mine, plain = (
        tr.rank_pairs(scorer, users, items, tr.Adaptive(n0=5, n_max=40), seed=3, executor=one)
        for one in (executor, Serial())
    )
    assert np.array_equal(mine.rank, plain.rank)
    assert np.array_equal(mine.n_sampled, plain.n_sampled)


# ---------------------------------------------------------------- stopping early


def test_a_reader_that_stops_stops_the_work() -> None:
    done: list[int] = []

    def work(x: int) -> int:
        time.sleep(0.002)
        done.append(x)
        return x

    with closed_after(Threads(2).imap(work, range(1000))) as results:
        next(results)
    assert len(done) < 20


def test_what_has_not_started_is_not_waited_for() -> None:
    done: list[int] = []
    go, both = threading.Event(), threading.Barrier(3)

    def work(x: int) -> int:
        if x > 0:
            both.wait(30)
            go.wait(30)
        done.append(x)
        return x

    results = Threads(2).imap(work, range(1000))
    with closed_after(results):
        next(results)
        both.wait(30)  # now 1 and 2 wait at work, and 3 for a thread
        later = threading.Timer(1.0, go.set)
        later.start()
    later.join()
    assert sorted(done) == [0, 1, 2]
    assert results.gi_frame is None  # type: ignore[attr-defined]  # closed, not merely forgotten


def test_closing_is_for_those_who_can() -> None:
    with closed_after(iter([(0, 1)])) as results:  # a plain iterator has nothing to close
        assert list(results) == [(0, 1)]


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which has Ctrl-C ignored there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_while_threads_work() -> None:
    done: list[int] = []

    def work(x: int) -> int:
        time.sleep(0.005)
        done.append(x)
        if x == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return x

    with pytest.raises(KeyboardInterrupt):
        for _ in Threads(2).imap(work, range(2000)):
            pass
    assert len(done) < 200


def test_blas_has_one_thread_while_threads_work_and_its_own_afterwards() -> None:
    def threads_of_blas() -> list[int]:
        # OpenMP, which torch may have loaded, counts threads for each thread that asks.
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    np.linalg.norm(np.eye(2))  # numpy brings a BLAS
    before = threads_of_blas()
    assert before
    with closed_after(Threads(2).imap(lambda _: threads_of_blas(), range(4))) as results:
        for _, threads in results:
            assert set(threads) == {1}
    assert threads_of_blas() == before


# ---------------------------------------------------------------- processes


def test_workers_have_one_thread_and_leave_ctrl_c_to_the_parent() -> None:
    for _, worker in Processes(2).imap(settings_of_the_worker, range(3)):
        assert set(worker["threads"]) == {1}
        assert worker["ignores_ctrl_c"]
        assert worker["pid"] != os.getpid()


def test_a_worker_that_dies_once(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    results = list(Processes(2).imap(die_once, [(str(marker), x) for x in range(12)]))
    assert marker.exists()
    assert sorted(results) == [(x, x * x) for x in range(12)]  # each counted once


SCRIPT = """
import numpy  # so its threads are there before a worker can be told
from sample_tasks import settings_of_the_worker
from truerank.execution import Processes

if __name__ == "__main__":
    for _, worker in Processes(1).imap(settings_of_the_worker, range(1)):
        print(worker["threads"])
"""


def test_workers_of_a_script_have_one_thread_too(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SCRIPT)
    output = subprocess.run(
        [sys.executable, str(tmp_path / "job.py")],
        capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ).stdout  # fmt: skip
    assert set(output.strip("[]\n").split(", ")) == {"1"}


def test_workers_that_always_die() -> None:
    with pytest.raises(
        WorkerLostError,
        match=r"a worker process died 2 times \(3 tasks left\); it probably ran out of memory: "
        "use fewer workers",
    ) as caught:
        list(Processes(1, retries=1).imap(die, range(3)))
    assert isinstance(caught.value, TruerankError)


@each
def test_a_reader_that_stops_stops_every_engine(executor: Executor) -> None:
    start = time.monotonic()
    with closed_after(executor.imap(slow_square, range(100_000))) as results:
        next(results)
    assert time.monotonic() - start < 60  # all of them would take eight minutes


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("kind", [*filter(takes_workers, ENGINES.values())])
@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_numbers_of_workers(kind: Any, workers: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match="workers must be a whole number, at least 1, got"
    ):
        kind(workers)


@pytest.mark.parametrize("retries", [-1, 0.5])
def test_numbers_of_retries(retries: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="retries must be a whole number, at least 0"):
        Processes(1, retries=retries)


def test_cores() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    assert Threads().workers == Processes().workers == available_cores()


def test_cores_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_cores() == (os.cpu_count() or 1)
