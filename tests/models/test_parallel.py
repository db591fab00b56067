"""Blocks on all cores: every block once, the first error comes out, nothing begins after it."""

from __future__ import annotations

import threading
import time

import pytest

from truerank.models.parallel import on_all_cores


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_block_runs_once(workers: int) -> None:
    done: list[int] = []
    with on_all_cores(workers) as each:
        for _ in range(20):
            done.clear()
            each(done.append, iter(range(50)))
            assert sorted(done) == list(range(50))


def test_no_blocks_is_no_work() -> None:
    done: list[object] = []
    with on_all_cores(2) as each:
        each(done.append, [])
    assert done == []


def test_threads_work_at_the_same_time() -> None:
    meet, places = threading.Barrier(2, timeout=10), []
    with on_all_cores(2) as each:
        each(lambda _: places.append(meet.wait()), range(2))  # one alone would wait in vain
    assert sorted(places) == [0, 1]


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_comes_out_and_stops_the_rest(bad: int) -> None:
    begun: list[int] = []

    def work(block: int) -> None:
        begun.append(block)
        if block == bad:
            raise IndexError("block")
        time.sleep(0.01)

    with on_all_cores(2) as each:
        with pytest.raises(IndexError, match="block"):
            each(work, range(1000))
        assert len(begun) < 10
        each(begun.append, [-1])  # and the threads are fit for more
    assert begun[-1] == -1


def test_blocks_may_have_blocks_of_their_own() -> None:
    done: list[tuple[int, int]] = []
    with on_all_cores(2) as each:
        each(lambda i: each(lambda j: done.append((i, j)), range(3)), range(4))
    assert sorted(done) == [(i, j) for i in range(4) for j in range(3)]
