"""Blocks on all cores: every block once, the first error comes out, nothing begins after it."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
import weakref

import pytest

from truerank.numerics.threads import on_all_cores


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


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, IndexError])
@pytest.mark.parametrize("by_helper", [False, True])
def test_whatever_is_raised_comes_out_whoever_met_it(
    raised: type[BaseException], by_helper: bool
) -> None:
    caller, meet = threading.get_ident(), threading.Barrier(2, timeout=10)
    begun: list[int] = []

    def work(block: int) -> None:
        begun.append(block)
        if block < 2:
            meet.wait()  # so that both take part
        if (threading.get_ident() != caller) == by_helper:
            raise raised
        time.sleep(0.01)

    with on_all_cores(2) as each, pytest.raises(raised):
        each(work, range(1000))
    assert len(begun) < 10


def test_threads_go_home_and_come_only_as_needed() -> None:
    before = threading.active_count()
    with on_all_cores(8) as each:
        each(lambda _: time.sleep(0.01), range(1))
        assert threading.active_count() == before
        each(lambda _: time.sleep(0.01), range(3))
        assert threading.active_count() == before + 2
        with pytest.raises(IndexError):
            each(lambda _: [][0], range(3))
    assert threading.active_count() == before


def test_a_system_without_more_threads_gets_by_with_those_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, start, left = threading.active_count(), threading.Thread.start, [None] * 2

    def grudging(thread: threading.Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", grudging)
    done: list[int] = []
    with on_all_cores(8) as each:
        each(done.append, range(50))
    assert sorted(done) == list(range(50))
    assert threading.active_count() == before


class Large:
    """What weak references can be made to."""


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_work_holds_is_let_go_at_once(fails: bool) -> None:
    gc.disable()  # a cycle would keep it until the collector runs
    try:
        with on_all_cores(2) as each:
            held = Large()
            seen = weakref.ref(held)

            def work(block: int, held: Large = held) -> None:
                if fails:
                    raise MemoryError

            with contextlib.suppress(MemoryError):
                each(work, range(1))
            del held, work
            assert seen() is None
            held = Large()
            seen = weakref.ref(held)
            each(lambda _, held=held: time.sleep(0.01), range(4))  # type: ignore[misc]
            del held
            for _ in range(100):  # the helper may be about to let go of it
                if seen() is None:
                    break
                time.sleep(0.01)
            assert seen() is None
    finally:
        gc.enable()
