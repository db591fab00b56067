"""Trainings of the table of losses: what is known of each, and the record of those made before.

A search takes hours, and its outcome a line each: ``recipes/loss_trials.json`` has those of the
recipe. They choose a setting, its epochs and rates; what is ranked is trained anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from truerank.files import written_whole

RECORD = "loss_trials.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTrial:
    """One training, judged by the validation users.

    Attributes:
        setting: What was tried, beyond what the row has in common.
        seed: Of the training.
        validation: The best value on the validation users.
        best_epoch: Where it was reached.
        epochs: How many there were.
        rates: Of the epochs up to the best; empty where they were not kept.
        seconds: They took, on the machine that trained.
    """

    setting: dict[str, Any]
    seed: int
    validation: float
    best_epoch: int
    epochs: int
    rates: tuple[float, ...]
    seconds: float

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> LossTrial:
        """A trial that was kept as JSON."""
        return cls(**{**content, "rates": tuple(content["rates"])})

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def trial_key(fingerprint: str, settings: Mapping[str, Any], seed: int) -> str:
    """The name of a training: that of these settings on this split, and of nothing else."""
    asked = [fingerprint, settings, seed]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


@cache
def recorded_trials() -> Mapping[str, LossTrial]:
    """The trials of the record, by their keys."""
    text = files("truerank.reproduce") / "recipes" / RECORD
    return {key: LossTrial.of(trial) for key, trial in json.loads(text.read_text("utf-8")).items()}


def write_record(path: Path, trials: Iterable[tuple[str, LossTrial]]) -> None:
    """All of these trials, in their order, a line each."""
    lines = ",\n".join(f"{json.dumps(key)}: {trial.to_json()}" for key, trial in trials)
    with written_whole(path) as temporary:
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
