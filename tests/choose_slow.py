"""Which tests ``make check`` leaves out, chosen by how long they took.

    python -m pytest -n 2 --dist loadfile --durations=0 --durations-min=0.01 > times.txt
    python -m tests.choose_slow times.txt

Whole tests, all their cases together, are left out from the slowest on, until those that stay
took :data:`BUDGET` seconds; ``tests/slow_tests.txt`` is written anew.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

BUDGET = 110.0
"""Seconds of all tests that stay, one after the other: about half of it on two cores."""

ALWAYS = ("tests/bounds", "tests/worlds")
"""Folders that start processes of their own, whose cases share one long preparation."""

HEAD = """\
# Tests that `make check` leaves out, so that lint and the others take under two minutes.
# A folder, a file, or one test. Written by `python -m tests.choose_slow`: see there.
"""
LINE = re.compile(r"^\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?)(?:\[.*)?$", re.MULTILINE)


def main(log: Path) -> None:
    seconds: Counter[str] = Counter()
    for took, name in LINE.findall(log.read_text(encoding="utf-8")):
        if name.startswith("tests/") and not name.startswith(ALWAYS):
            seconds[name] += float(took)
    left, slow = sum(seconds.values()), []
    for name, took in seconds.most_common():
        if left <= BUDGET:
            break
        slow.append(name)
        left -= took
    Path(__file__).with_name("slow_tests.txt").write_text(
        HEAD + "\n".join(sorted([*ALWAYS, *slow])) + "\n", encoding="utf-8"
    )
    sys.stdout.write(f"{len(slow)} tests left out; those that stay took {left:.0f} s\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
