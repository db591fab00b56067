"""Every kernel with its indices checked: ``python -m tests.bounds.run`` (``--whole`` for more).

Starts itself again with ``NUMBA_BOUNDSCHECK=1`` and an empty cache of its own, since numba keeps
checked and unchecked code under the same name. Ends with code 1 where an index left its array,
where work failed, or where a kernel exists that no work reached.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.bounds.kernels import Kernel, in_truerank, intrinsics_in, kernels_in, options_of

UNCHECKED = {
    (
        "truerank.numerics.intrinsics",
        "_count_scores",
    ): "run between forbidden pages by guarded.py",
    ("truerank.numerics.intrinsics", "_prefetch"): "a hint, which reads and writes nothing",
}
"""Intrinsics write machine code themselves: numba cannot check what they address."""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def check_that_indices_are_checked() -> None:
    """Beyond the end is an IndexError, by each way in which our kernels are compiled."""
    from numba import njit

    from truerank.numerics.jit import fastmath, strict

    ways: tuple[Callable[..., Any], ...] = (
        njit(nogil=True), njit(error_model="numpy"), njit(fastmath=True), strict, fastmath,
    )  # fmt: skip
    for way in ways:

        def beyond(values: Any, at: Any) -> Any:
            return values[at]

        beyond.__module__ = __name__
        kernel = way(beyond)
        for at in (3, np.uint64(3), -4):
            try:
                kernel(np.zeros(3), at)
            except IndexError:
                continue
            raise SystemExit(f"{way} does not check indices: NUMBA_BOUNDSCHECK is not in force")


def serve(whole: bool) -> int:
    """Do the work in this process, whose indices are checked."""
    from tests.bounds.executed import executed_kernels, note_executions

    note_executions()  # before anything of truerank is imported
    from tests.bounds.work import QUICK, WHOLE

    check_that_indices_are_checked()
    failed = sum(not done(name, job) for name, job in (WHOLE if whole else QUICK).items())
    ran = executed_kernels()
    for module, name in sorted(ran):
        say(f"  {module}.{name}")
    faults = faults_of_kernels(ran)
    for fault in faults:
        say(fault)
    say(f"{len(ran)} kernels ran with their indices checked")
    return 1 if failed or faults else 0


def done(name: str, job: Callable[[], None]) -> bool:
    """Whether the work went well; the rest goes on if not."""
    start = time.monotonic()
    try:
        job()
    except Exception:  # noqa: BLE001  # an IndexError, or whatever a wrong index led to
        say(f"{name} FAILED\n{traceback.format_exc()}")
        return False
    say(f"{name}: {time.monotonic() - start:.1f} s")
    return True


def faults_of_kernels(ran: set[Kernel]) -> list[str]:
    """Kernels that did not run or are not checked."""
    found = []
    for kernel in in_truerank(kernels_in):
        if kernel not in ran:
            found.append(
                f"NOT REACHED: {'.'.join(kernel)}; add work for it to tests/bounds/work.py"
            )
        if options_of(kernel).get("boundscheck") is False:
            found.append(f"{'.'.join(kernel)} turns the check off")
    unknown = set(in_truerank(intrinsics_in)) - set(UNCHECKED)
    return found + [f"{'.'.join(k)}: numba cannot check it; see guarded.py" for k in unknown]


def run_checked(*arguments: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
    """This module in a process whose indices are checked, with an empty cache.

    Optimised less: compiling takes half as long, and checks are the same.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            "NUMBA_BOUNDSCHECK": "1",
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_OPT": os.environ.get("NUMBA_OPT", "1"),
        }
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "tests.bounds.run", "--serve", *arguments],
            env=environment, text=True, check=False, capture_output=capture,
        )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="more sizes, and whole worlds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.whole)
    return run_checked(*(["--whole"] if options.whole else []), capture=False).returncode


if __name__ == "__main__":
    sys.exit(main())
