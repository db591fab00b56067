"""Blocks of work on all cores, with the same bits for any number of cores."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from truerank.checks import check_counts

Task = TypeVar("Task")
Result = TypeVar("Result")
Each = Callable[[Callable[[Task], object], Iterable[Task]], None]


@contextmanager
def on_all_cores(workers: int | None = None) -> Iterator[Each]:  # type: ignore[type-arg]
    """Give a function that runs blocks in threads and returns when all are done.

    BLAS has one thread meanwhile, so that a block is computed in the same way whoever runs it
    and how many run beside it: the result does not depend on the number of cores. A busy
    machine also hurts less than it hurts a BLAS whose threads wait for each other.

    >>> squares = {}
    >>> with on_all_cores() as each:
    ...     each(lambda i: squares.update({i: i * i}), range(3))
    >>> sorted(squares.items())
    [(0, 0), (1, 1), (2, 4)]
    """
    if workers is not None:
        check_counts(workers=workers)
    n = workers or available_cores()
    crew = _Crew()
    with threadpool_limits(limits=1), closing(crew):

        def each(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
            blocks = list(tasks)
            remaining = iter(blocks)  # shared: whoever is free takes the next
            ended: SimpleQueue[int] = SimpleQueue()
            failures: list[BaseException] = []

            def take() -> int:
                taken = 0
                try:
                    for block in remaining:
                        taken += 1
                        work(block)
                except BaseException as failure:  # noqa: BLE001  # raised below; Ctrl-C included
                    failures.append(failure)
                    taken += sum(1 for _ in remaining)  # nobody begins another
                return taken

            # The caller works too: one thread fewer to wake, which short blocks feel.
            crew.ask(lambda: ended.put(take()), min(n, len(blocks)) - 1)
            taken = take()
            while taken < len(blocks):  # a helper who comes late finds nothing, and is not awaited
                taken += ended.get()
            if failures:
                del failures[1:]
                raise failures.pop()  # held by nothing here, nor is what the work held

        yield each


def as_completed(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Iterator[tuple[int, Result]]:
    """Positions and results of tasks in the order in which threads finish them.

    Two tasks for each thread are under way or waiting, so a million tasks need no room. Who stops
    reading (Ctrl-C included) waits for what has begun; the rest is not begun.

    >>> sorted(as_completed(lambda x: x * x, range(3), workers=2))
    [(0, 0), (1, 1), (2, 4)]
    """
    numbered, ended = enumerate(tasks), SimpleQueue[tuple[int, Callable[[], Result]]]()
    waiting, stopped = 0, Event()

    def job(position: int, task: Task) -> None:
        if stopped.is_set():
            return
        try:
            result = work(task)
        except BaseException as failure:  # noqa: BLE001  # raised below, in the reader's thread
            ended.put((position, partial(_raise, failure)))
        else:
            ended.put((position, lambda: result))

    with threadpool_limits(limits=1), closing(_Crew()) as crew:
        try:
            while True:
                for position, task in islice(numbered, 2 * workers - waiting):
                    crew.add(partial(job, position, task), workers)
                    waiting += 1
                if not waiting:
                    return
                position, result = ended.get()
                waiting -= 1
                yield position, result()
        finally:
            stopped.set()


def _raise(failure: BaseException) -> Any:
    raise failure


class _Crew:
    """Threads that do what is put into a queue; each is started when it is first needed.

    An executor of the standard library does the same with a future for every job, which costs
    0.1 ms for each call of :func:`on_all_cores`'s function: a twentieth of a step of MF.

    Whoever was not closed (Ctrl-C while closing) is when the interpreter ends: a thread that comes
    out of compiled code after that would end the process with it.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._starting = Lock()
        atexit.register(self.close)

    def ask(self, job: Callable[[], None], n: int) -> None:
        """Let ``n`` threads do this job, or as many as the system has left to give."""
        for _ in range(min(n, self._started(n))):
            self._jobs.put(job)

    def add(self, job: Callable[[], None], n: int) -> None:
        """Let one of ``n`` threads do this job; the caller does it where there is none."""
        if self._started(n):
            self._jobs.put(job)
        else:
            job()

    def _started(self, n: int) -> int:
        """Start threads up to ``n``, as far as the system gives them; how many there are."""
        with self._starting:
            while len(self._threads) < n:
                thread = Thread(target=self._work, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    break
                self._threads.append(thread)
            return len(self._threads)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # and what it holds, while there is nothing to do

    def close(self) -> None:
        """Wait until all have done what they began, and send them home."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        atexit.unregister(self.close)


def available_cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
