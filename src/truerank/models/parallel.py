"""Blocks of work on all cores, with the same bits for any number of cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from threadpoolctl import threadpool_limits

from truerank.execution.executor import available_cores, check_workers

Task = TypeVar("Task")
Each = Callable[[Callable[[Task], object], Iterable[Task]], None]
Job = Callable[[], None]


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
        check_workers(workers)
    n = workers or available_cores()
    # The caller works too: one thread fewer to wake, which short blocks feel.
    with threadpool_limits(limits=1), _helpers(n - 1) as jobs:

        def each(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
            blocks = list(tasks)
            remaining = iter(blocks)  # shared: whoever is free takes the next
            ended: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()

            def take() -> tuple[int, BaseException | None]:
                taken = 0
                try:
                    for block in remaining:
                        taken += 1
                        work(block)
                except BaseException as failure:  # noqa: BLE001  # raised below; Ctrl-C included
                    return taken + sum(1 for _ in remaining), failure  # nobody begins another
                return taken, None

            def help_out() -> None:
                ended.put(take())

            for _ in range(min(n, len(blocks)) - 1):
                jobs.put(help_out)
            taken, failure = take()
            while taken < len(blocks):  # a helper who comes late finds nothing, and is not awaited
                more, their_failure = ended.get()
                taken, failure = taken + more, failure or their_failure
            if failure is not None:
                raise failure

        yield each


@contextmanager
def _helpers(n: int) -> Iterator[SimpleQueue[Job | None]]:
    """Threads that do what is put into the queue, until they are no longer needed.

    An executor of the standard library does the same with a future for every job, which costs
    0.1 ms for each call of :func:`on_all_cores`'s function: a twentieth of a step of MF.
    """
    jobs: SimpleQueue[Job | None] = SimpleQueue()

    def work() -> None:
        while (job := jobs.get()) is not None:
            job()
            del job  # and what it holds, while there is nothing to do

    threads = [Thread(target=work, name=f"helper-{i}", daemon=True) for i in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield jobs
    finally:
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join()
