"""Blocks of work on all cores, with the same bits for any number of cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from truerank.execution.executor import available_cores, check_workers

Task = TypeVar("Task")
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
        check_workers(workers)
    n = workers or available_cores()
    # The caller works too: one thread fewer to wake, which short blocks feel.
    with threadpool_limits(limits=1), ThreadPoolExecutor(max(n - 1, 1)) as pool:

        def each(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
            blocks = list(tasks)
            remaining = iter(blocks)  # shared: whoever is free takes the next

            def take() -> None:
                try:
                    for block in remaining:
                        work(block)
                except BaseException:  # Ctrl-C included: nobody begins what has not begun
                    for _ in remaining:
                        pass
                    raise

            others = [pool.submit(take) for _ in range(min(n, len(blocks)) - 1)]
            try:
                take()
            finally:  # who has not begun by now finds nothing left
                begun = [other for other in others if not other.cancel()]
                wait(begun)
            for other in begun:
                other.result()

        yield each
