"""Tasks that other processes can import: some work, some die."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def square(x: int) -> int:
    return x * x


def slow_square(x: int) -> int:
    time.sleep(0.01)
    return x * x


def fail_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three is not allowed")
    return x


def refuse(x: int) -> int:
    from truerank.errors import InvalidArgumentError

    raise InvalidArgumentError("x", x, "something else", "try another")


def die(task: Any) -> None:
    os._exit(9)


def die_once(task: tuple[str, int]) -> int:
    """The tenth task dies, the first time it is asked; the marker remembers."""
    marker, x = task
    if x != 9 or Path(marker).exists():
        return x * x
    Path(marker).touch()
    os._exit(9)


def settings_of_the_worker(_: int) -> dict[str, Any]:
    import signal

    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return {
        "threads": [pool["num_threads"] for pool in threadpool_info()],
        "ignores_ctrl_c": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
        "pid": os.getpid(),
    }
