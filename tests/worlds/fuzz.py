"""Run random worlds, each in a process that may die: ``python -m tests.worlds.fuzz --minutes 30``.

``--world 12345`` runs one of them here, with its description and every trace; ``--property NAME``
runs one property only. Exit code 1 if anything broke.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from .checking import BROKEN, HELD, REFUSED, check_world
from .properties import PROPERTIES

WORLDS_A_PROCESS = 20
"""Then it ends, and how it ends is looked at: threads alive at the end abort it."""

PATIENCE = 240.0
"""Seconds for a world before it counts as broken."""


def say(text: str, stream: TextIO | None = None) -> None:
    """A line, at once."""
    out = sys.stdout if stream is None else stream
    out.write(text + "\n")
    out.flush()


# ---------------------------------------------------------------- the process that may die


def serve() -> None:
    """Read seeds, answer with lines of JSON: which property begins, then how the world went."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints does not disturb the answers
    for line in sys.stdin:
        result = check_world(
            int(line), before=lambda name: say(json.dumps({"begins": name}), answers)
        )
        outcomes = {name: asdict(o) for name, o in result.outcomes.items()}
        say(json.dumps({"world": result.description, "outcomes": outcomes}), answers)


@dataclass
class Ran:
    """A world as the runner knows it."""

    seed: int
    description: str = ""
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0


class Helper:
    """A process that serves worlds until one kills it."""

    def __init__(self) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed in ``_close``
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", __spec__.name, "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )  # fmt: skip
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line)
        self.lines.put("")

    def _close(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.log):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def run(self, seed: int) -> tuple[Ran, bool]:
        """A world, and whether the process is still alive."""
        start, at = time.monotonic(), "start"
        ran = Ran(seed)
        try:
            (self.process.stdin or sys.stderr).write(f"{seed}\n")
            (self.process.stdin or sys.stderr).flush()
        except BrokenPipeError:
            self.lines.put("")
        while True:
            try:
                line = self.lines.get(timeout=max(0.1, PATIENCE - (time.monotonic() - start)))
            except queue.Empty:
                self.process.kill()
                return self._dead(ran, at, f"no answer after {PATIENCE:.0f} s", start), False
            if line == "":
                code = self.process.wait()
                return self._dead(ran, at, f"the process ended with code {code}", start), False
            answer = json.loads(line)
            if "begins" in answer:
                at = answer["begins"]
                continue
            ran.description, ran.outcomes = answer["world"], answer["outcomes"]
            ran.seconds = time.monotonic() - start
            return ran, True

    def _dead(self, ran: Ran, at: str, why: str, start: float) -> Ran:
        from .world import World

        self.log.seek(0)
        ran.description = World(ran.seed).describe()
        ran.outcomes[at] = {"status": BROKEN, "message": why, "trace": self.log.read()[-4000:]}
        ran.seconds = time.monotonic() - start
        self._close()
        return ran

    def end(self, last_seed: int) -> Ran | None:
        """Let it end by itself; a world that never was if it ends badly."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if code == 0:
            self._close()
            return None
        ran = Ran(last_seed, f"one of the {WORLDS_A_PROCESS} worlds up to {last_seed}")
        return self._dead(ran, "end of the process", f"code {code}", time.monotonic())


def run_worlds(seeds: Iterator[int], *, until: float, processes: int) -> Iterator[Ran]:
    """Worlds in the order in which they finish."""
    done: queue.Queue[Ran | None] = queue.Queue()
    lock = threading.Lock()

    def work() -> None:
        helper, served, seed = None, 0, -1
        while time.monotonic() < until:
            with lock:
                seed = next(seeds, -1)
            if seed < 0:
                break
            helper = helper or Helper()
            ran, alive = helper.run(seed)
            done.put(ran)
            served += 1
            if not alive:
                helper, served = None, 0
            elif served >= WORLDS_A_PROCESS:
                bad = helper.end(seed)
                if bad is not None:
                    done.put(bad)
                helper, served = None, 0
        if helper is not None:
            bad = helper.end(seed)
            if bad is not None:
                done.put(bad)
        done.put(None)

    for _ in range(processes):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(processes):
        yield from iter(done.get, None)


# ---------------------------------------------------------------- what is said


def summary(found: list[Ran]) -> str:
    """How often each property held, and the worlds that broke it, alike ones together."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("make_world", *PROPERTIES)}
    seconds: Counter[str] = Counter()
    broken: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for ran in found:
        for name, outcome in ran.outcomes.items():
            counts.setdefault(name, Counter())[outcome["status"]] += 1
            seconds[name] += outcome.get("seconds", 0.0)
            if outcome["status"] == BROKEN:
                first = outcome["message"].splitlines()[0] if outcome["message"] else ""
                kind = re.sub(r"\b[a-z]+(-[a-z]+)?@\d+|^(auc|mrr|ap)\b", "METRIC", first)
                kind = re.sub(r"-?\d[\d,.e+-]*", "#", kind)[:60]
                broken.setdefault((name, kind), []).append((ran.seed, first))
    lines = [f"{'property':<38}{'held':>7}{'refused':>9}{'empty':>7}{'BROKEN':>8}{'seconds':>9}"]
    for name, count in counts.items():
        empty = sum(count.values()) - count[HELD] - count[REFUSED] - count[BROKEN]
        lines.append(
            f"{name:<38}{count[HELD]:>7}{count[REFUSED]:>9}{empty:>7}{count[BROKEN]:>8}"
            f"{seconds[name]:>9.1f}"
        )
    for (name, _), worlds in sorted(broken.items(), key=lambda pair: (pair[0][0], -len(pair[1]))):
        seeds = " ".join(str(seed) for seed, _ in worlds[:12])
        more = f" and {len(worlds) - 12} more" if len(worlds) > 12 else ""
        lines += ["", f"{name}: {worlds[0][1][:300]}", f"  worlds {seeds}{more}"]
    return "\n".join(lines)


def _one(seed: int, only: str | None) -> int:
    result = check_world(seed, only=only)
    say(result.description)
    for name, outcome in result.outcomes.items():
        say(f"  {outcome.status:<17} {name} ({outcome.seconds:.2f} s) {outcome.message}")
        if outcome.trace:
            say(outcome.trace)
    return 1 if result.broken else 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--first", type=int, default=0, help="the first world")
    parser.add_argument(
        "--worlds", type=int, default=None, help="how many; as time allows if not given"
    )
    parser.add_argument("--processes", type=int, default=1, choices=(1, 2))
    parser.add_argument("--world", type=int, default=None, help="this one only, here")
    parser.add_argument("--property", default=None, choices=list(PROPERTIES))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    if options.world is not None:
        return _one(options.world, options.property)
    start = time.monotonic()
    until = start + 60 * options.minutes
    seeds: Iterator[int] = itertools.count(options.first)
    if options.worlds is not None:
        seeds = iter(range(options.first, options.first + options.worlds))
    found: list[Ran] = []
    told = start
    for ran in run_worlds(seeds, until=until, processes=options.processes):
        found.append(ran)
        for name, outcome in ran.outcomes.items():
            if outcome["status"] == BROKEN:
                say(f"world {ran.seed} breaks {name}: {outcome['message'].splitlines()[0][:200]}")
        if time.monotonic() - told > 20:
            told = time.monotonic()
            bad = sum(any(o["status"] == BROKEN for o in r.outcomes.values()) for r in found)
            left = max(0.0, until - told) / 60
            if options.worlds is not None:
                left = min(left, (told - start) / len(found) * (options.worlds - len(found)) / 60)
            say(f"{len(found)} worlds, {bad} broken, {left:.1f} minutes left")
    bad_worlds = [r for r in found if any(o["status"] == BROKEN for o in r.outcomes.values())]
    say("\n" + summary(found))
    for ran in bad_worlds[:5]:
        say("\n" + ran.description)
    say(
        f"\n{len(found)} worlds, {len(bad_worlds)} broken. "
        "Reproduce one with: python -m tests.worlds.fuzz --world SEED"
    )
    return 1 if bad_worlds else 0


if __name__ == "__main__":
    sys.exit(main())
