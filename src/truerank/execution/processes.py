"""Local processes: isolated, and able to lose a worker without losing the job."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from truerank.errors import TruerankError
from truerank.execution.executor import (
    Result,
    Task,
    available_cores,
    check_workers,
    windowed,
)


class WorkerLostError(TruerankError, RuntimeError):
    """Workers kept dying; the job was given up."""


@dataclass(frozen=True, slots=True)
class Processes:
    """A pool of fresh processes, each on one thread.

    Started with ``spawn``, so a script must keep its own work under
    ``if __name__ == "__main__":``. When a worker dies (killed, out of memory), the pool is
    built anew and unfinished tasks run again, at most ``retries`` times.
    """

    workers: int = field(default_factory=available_cores)
    retries: int = 3
    in_process: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_workers(self.workers)

    def imap(
        self, fn: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """In the order in which they finish."""
        todo = dict(enumerate(tasks))
        for attempt in range(self.retries + 1):
            pool = ProcessPoolExecutor(
                self.workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_one_thread,
            )
            try:
                with pool:
                    numbered = iter(list(todo.items()))
                    for position, result in windowed(
                        pool, fn, numbered, window=2 * self.workers
                    ):
                        del todo[position]
                        yield position, result
                return
            except BrokenProcessPool as error:
                if attempt == self.retries:
                    raise WorkerLostError(
                        f"a worker process died {attempt + 1} times ({len(todo)} tasks left); "
                        "it probably ran out of memory: use fewer workers"
                    ) from error
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _one_thread() -> None:
    threadpool_limits(limits=1)
