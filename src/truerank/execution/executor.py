"""The Executor protocol, and the two executors that stay inside this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import Executor as Pool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, TypeVar

from truerank.checks import check_counts
from truerank.numerics.threads import as_completed, available_cores

Task = TypeVar("Task")
Result = TypeVar("Result")


class Executor(Protocol):
    """Applies a pure function to every task; may finish them in any order.

    ``in_process`` tells whether tasks may carry live objects. Where it is false, a task must
    be small and picklable: paths and parameters, never arrays.
    """

    @property
    def in_process(self) -> bool: ...

    def imap(
        self, fn: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """Yield (position of the task, its result); each task counted once."""


@dataclass(frozen=True, slots=True)
class Serial:
    """One after the other: the specification of the others."""

    in_process: bool = field(default=True, init=False)

    def imap(
        self, fn: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """In order."""
        for position, task in enumerate(tasks):
            yield position, fn(task)


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads of this process, for work that releases the interpreter lock.

    BLAS runs on one thread meanwhile: the tasks themselves keep the cores busy, and threads
    within threads would fight for them.
    """

    workers: int = field(default_factory=available_cores)
    in_process: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        check_counts(workers=self.workers)

    def imap(
        self, fn: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """In the order in which they finish."""
        return as_completed(fn, tasks, self.workers)


def windowed(
    pool: Pool,
    fn: Callable[[Task], Result],
    numbered: Iterator[tuple[int, Task]],
    *,
    window: int,
) -> Iterator[tuple[int, Result]]:
    """Keep ``window`` tasks submitted, so that a million tasks need no million futures."""
    pending: dict[Future[Result], int] = {}
    while True:
        for position, task in islice(numbered, window - len(pending)):
            pending[pool.submit(fn, task)] = position
        if not pending:
            return
        done, _ = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield pending.pop(future), future.result()


@contextmanager
def closed_after(results: Iterator[Result]) -> Iterator[Iterator[Result]]:
    """Stop an executor's iterator when its reader stops, whatever the reason.

    Otherwise workers would go on until somebody collects the garbage.
    """
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            results.close()
