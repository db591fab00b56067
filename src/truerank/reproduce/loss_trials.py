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

from truerank.deprecation import OLD_NAMES, current_names
from truerank.files import written_whole
from truerank.models import MF

RECORD = "loss_trials.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTrial:
    """One training, evaluated on the validation users.

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
        setting = current_names(MF, content["setting"])
        return cls(**{**content, "setting": setting, "rates": tuple(content["rates"])})

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def trial_key(fingerprint: str, settings: Mapping[str, Any], seed: int) -> str:
    """The name of a training: that of these settings on this split, and of nothing else.

    Recorded trials were named when MF's parameters had their old names, so keys are still made of
    those: a search of hours is not lost because a parameter is called better.
    """
    asked = [fingerprint, _names_of_the_record(settings), seed]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _names_of_the_record(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under the names that MF's parameters had when the record was begun."""
    old = {new: before for before, new in getattr(MF, OLD_NAMES).items()}
    shared = {"batch": True, "pair": False}
    return {
        old.get(name, name): shared.get(value, value) if name == "negatives_per" else value
        for name, value in settings.items()
    }


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
