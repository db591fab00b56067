"""Worlds run in a process of their own, which a world may kill and which must end well."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from .checking import BROKEN, check_world
from .world import World

WORLDS_A_PROCESS = 20
"""Then it ends, and how it ends is looked at: threads alive at the end abort it."""

PATIENCE = 240.0
"""Seconds for a world before it counts as broken."""


def serve() -> None:
    """Read seeds, answer with lines of JSON: which property begins, then how the world went."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints does not disturb the answers

    def answer(values: dict[str, Any]) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    for line in sys.stdin:
        result = check_world(int(line), before=lambda name: answer({"begins": name}))
        outcomes = {name: asdict(outcome) for name, outcome in result.outcomes.items()}
        answer({"world": result.description, "outcomes": outcomes})


@dataclass
class Ran:
    """A world as the parent knows it."""

    seed: int
    description: str = ""
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def broken(self) -> dict[str, str]:
        """What does not hold, by the property."""
        return {k: o["message"] for k, o in self.outcomes.items() if o["status"] == BROKEN}


class Worker:
    """A process that serves worlds until one kills it or it has served enough."""

    def __init__(self) -> None:
        self.served = 0
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed in ``_close``
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.worlds.fuzz", "--serve"],
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

    @property
    def alive(self) -> bool:
        return not self.log.closed

    def run(self, seed: int) -> Ran:
        """A world; after one that ends the process, the worker is no longer alive."""
        self.served += 1
        with suppress(BrokenPipeError):
            print(seed, file=self.process.stdin, flush=True)
        end, at = time.monotonic() + PATIENCE, "start"
        while True:
            try:
                line = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            except queue.Empty:
                self.process.kill()
                return self._dead(seed, at, f"no answer after {PATIENCE:.0f} s")
            if line == "":
                return self._dead(seed, at, f"the process ended with code {self.process.wait()}")
            answer = json.loads(line)
            if "outcomes" in answer:
                return Ran(seed, answer["world"], answer["outcomes"])
            at = answer["begins"]

    def _dead(self, seed: int, at: str, why: str) -> Ran:
        self.log.seek(0)
        outcome = {"status": BROKEN, "message": why, "trace": self.log.read()[-4000:]}
        self._close()
        return Ran(seed, World(seed).describe(), {at: outcome})

    def end(self, last_seed: int) -> Ran | None:
        """Let it end by itself; what it died of if it ends badly, told as of its last world."""
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
        return self._dead(last_seed, "end of the process", f"code {code}")


def run_worlds(seeds: Iterator[int], *, until: float, processes: int) -> Iterator[Ran]:
    """Worlds in the order in which they finish."""
    done: queue.Queue[Ran | None] = queue.Queue()
    lock = threading.Lock()

    def next_seed() -> int | None:
        with lock:
            return next(seeds, None) if time.monotonic() < until else None

    def work() -> None:
        worker: Worker | None = None
        seed = next_seed()
        while seed is not None:
            worker = worker if worker is not None and worker.alive else Worker()
            done.put(worker.run(seed))
            following = next_seed()
            if worker.alive and (following is None or worker.served >= WORLDS_A_PROCESS):
                badly = worker.end(seed)
                if badly is not None:
                    done.put(badly)
            seed = following
        done.put(None)

    for _ in range(processes):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(processes):
        yield from iter(done.get, None)
