"""Tasks for other processes, which must be able to import them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from truerank.execution import Processes


def die_once(marker: str, fn: Callable[[Any], Any], task: Any) -> Any:
    """Whoever comes first dies as if killed; the marker remembers."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return fn(task)
    os._exit(9)


@dataclass(frozen=True)
class DyingOnce:
    """Two processes, of which one is lost on the way."""

    marker: str
    in_process: bool = field(default=False, init=False)

    def imap(self, fn: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        return Processes(2).imap(partial(die_once, self.marker, fn), tasks)
