"""A progress bar with the time left, shown only when somebody watches and it takes long."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE_SECONDS = 2.0
_EVER = 1e9  # seconds: rich would forget steps of more than 30, and the time left with them


class Progress:
    """Counts steps; after two seconds on a terminal it draws a bar on standard error.

    >>> with Progress("ranking", total=3, enabled=False) as bar:
    ...     for _ in range(3):
    ...         bar.advance()
    >>> bar.done
    3
    """

    def __init__(self, label: str, total: int, *, enabled: bool | None = None) -> None:
        self.label, self.total, self.done = label, total, 0
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._start = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def advance(self, steps: int = 1) -> None:
        """Count ``steps`` more."""
        self.done += steps
        if self._enabled and time.monotonic() - self._start > PATIENCE_SECONDS:
            self._draw()

    def _draw(self) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeRemainingColumn,
            )
            from rich.progress import (
                Progress as RichProgress,
            )

            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
                transient=True,
                speed_estimate_period=_EVER,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.label, total=self.total)
        if self._task is not None:
            self._bar.update(self._task, completed=self.done, description=self.label)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
