"""Run random worlds, each in a process that may die: ``python -m tests.worlds.fuzz --minutes 30``.

``--world 12345`` runs one of them here, with its description and every trace; ``--property NAME``
runs one property only. Exit code 1 if anything broke.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator

from .checking import BROKEN, HELD, REFUSED, check_world
from .process import Ran, run_worlds, serve
from .properties import PROPERTIES

SAY_EVERY = 20.0
"""Seconds between lines that say how far it is."""


def say(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_one(seed: int, only: str | None) -> int:
    """One world in this process, with everything that is known about it."""
    result = check_world(seed, only=only)
    say(result.description)
    for name, outcome in result.outcomes.items():
        say(f"  {outcome.status:<17} {name} ({outcome.seconds:.2f} s) {outcome.message}")
        if outcome.trace:
            say(outcome.trace)
    return 1 if result.broken else 0


def run_many(seeds: Iterator[int], *, minutes: float, processes: int) -> int:
    """Worlds until there are no more or time is over; what broke, at once and at the end."""
    until = time.monotonic() + 60 * minutes
    found: list[Ran] = []
    said = time.monotonic()
    for ran in run_worlds(seeds, until=until, processes=processes):
        found.append(ran)
        for name, message in ran.broken.items():
            say(f"world {ran.seed} breaks {name}: {first_line(message)[:200]}")
        if time.monotonic() - said > SAY_EVERY:
            said = time.monotonic()
            say(f"{len(found)} worlds, {max(0.0, until - said) / 60:.1f} minutes left")
    broken = [ran for ran in found if ran.broken]
    say("\n" + table_of_properties(found))
    say(alike(broken))
    say(f"{len(found)} worlds, {len(broken)} broken; one again by: tests.worlds.fuzz --world N")
    return 1 if broken else 0


def table_of_properties(found: list[Ran]) -> str:
    """How often each property held, and how long it took."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("make_world", *PROPERTIES)}
    seconds: Counter[str] = Counter()
    for ran in found:
        for name, outcome in ran.outcomes.items():
            counts.setdefault(name, Counter())[outcome["status"]] += 1
            seconds[name] += outcome.get("seconds", 0.0)
    lines = [f"{'property':<38}{'held':>7}{'refused':>9}{'empty':>7}{'BROKEN':>8}{'seconds':>9}"]
    for name, count in counts.items():
        empty = count.total() - count[HELD] - count[REFUSED] - count[BROKEN]
        lines.append(
            f"{name:<38}{count[HELD]:>7}{count[REFUSED]:>9}{empty:>7}{count[BROKEN]:>8}"
            f"{seconds[name]:>9.1f}"
        )
    return "\n".join(lines)


def alike(broken: list[Ran]) -> str:
    """The worlds that broke a property, those with the same message but for numbers together."""
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for ran in broken:
        for name, message in ran.broken.items():
            first = first_line(message)
            kind = re.sub(r"-?\d[\d,.e+-]*", "#", re.sub(r"^\S+", "", first))[:60]
            groups.setdefault((name, kind), []).append((ran.seed, first))
    lines = []
    for (name, _), worlds in sorted(groups.items()):
        seeds = " ".join(str(seed) for seed, _ in worlds[:12])
        more = f" and {len(worlds) - 12} more" if len(worlds) > 12 else ""
        lines += [f"{name}: {worlds[0][1][:300]}", f"  worlds {seeds}{more}", ""]
    return "\n".join(lines)


def first_line(message: str) -> str:
    return message.partition("\n")[0]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--first", type=int, default=0, help="the first world")
    parser.add_argument("--worlds", type=int, help="how many; as time allows if not given")
    parser.add_argument("--processes", type=int, default=1, choices=(1, 2))
    parser.add_argument("--world", type=int, help="this one only, in this process")
    parser.add_argument("--property", choices=list(PROPERTIES))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    if options.world is not None:
        return run_one(options.world, options.property)
    seeds = itertools.islice(itertools.count(options.first), options.worlds)
    return run_many(seeds, minutes=options.minutes, processes=options.processes)


if __name__ == "__main__":
    sys.exit(main())
