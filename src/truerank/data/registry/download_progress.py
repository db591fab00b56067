"""Progress on stderr, only where a person is looking at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[int, int | None], None]
"""Told how many bytes are there, and of how many (None where nobody knows)."""


@contextmanager
def transfer_bar(label: str, wanted: bool | None) -> Iterator[Show]:
    """A bar with speed and time left; ``wanted=None`` means when stderr is a terminal."""
    if not _shown(wanted):
        yield _silent
        return
    # Imported here: rich takes longer to load than most of our calls take to run.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def busy(label: str, wanted: bool | None) -> Iterator[None]:
    """A moving sign for work whose length nobody knows; shown as in :func:`transfer_bar`."""
    if not _shown(wanted):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield


def _shown(wanted: bool | None) -> bool:
    return sys.stderr.isatty() if wanted is None else wanted


def _silent(_done: int, _total: int | None) -> None:
    """Show nothing."""
