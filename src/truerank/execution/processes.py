"""Local processes: isolated, and able to lose a worker without losing the job."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from threadpoolctl import threadpool_limits

from truerank.checks import check_counts, whole_number
from truerank.errors import TruerankError
from truerank.execution.executor import Result, Task, closed_after, windowed
from truerank.numerics.threads import available_cores


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
        check_counts(workers=self.workers)
        whole_number("retries", self.retries, least=0)

    def imap(
        self, fn: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """In the order in which they finish."""
        waiting = dict(enumerate(tasks))
        for attempt in range(self.retries + 1):
            try:
                with closed_after(self._one_pool(fn, waiting)) as results:
                    for position, result in results:
                        del waiting[position]
                        yield position, result
                return
            except BrokenProcessPool as error:
                if attempt == self.retries:
                    raise WorkerLostError(
                        f"a worker process died {attempt + 1} times ({len(waiting)} tasks left); "
                        "it probably ran out of memory: use fewer workers; or this script does "
                        "not keep its work under if __name__ == '__main__':, which processes need"
                    ) from error

    def _one_pool(
        self, fn: Callable[[Task], Result], waiting: dict[int, Task]
    ) -> Iterator[tuple[int, Result]]:
        """All that is to do, unless a worker dies on the way."""
        numbered = iter(list(waiting.items()))
        with ProcessPoolExecutor(
            self.workers, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare
        ) as pool:
            try:
                yield from windowed(pool, fn, numbered, window=2 * self.workers)
            except BaseException:  # Ctrl-C included: do not wait for what has not started
                pool.shutdown(wait=True, cancel_futures=True)
                raise


def _prepare() -> None:
    """One thread per worker, before and after BLAS is loaded; Ctrl-C is the parent's business."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    threadpool_limits(limits=1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
