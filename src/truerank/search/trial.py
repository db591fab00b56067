"""One trial: a setting, what it was worth, how sure that is, and what it cost."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from truerank.errors import FileFormatError
from truerank.plain_data import plain
from truerank.search.space import Parameters

Status = Literal["finished", "pruned", "repeated", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The value of one setting with its standard error, or why it was dropped or failed.

    Attributes:
        number: Its place in the search, from 0.
        parameters: The setting.
        status: ``finished`` on all validation users; ``pruned`` when some of them had shown it
            to be worse; ``repeated`` if the same setting had been tried; ``failed``.
        value: The metric, on the users it was evaluated on; nan if it failed.
        std_error: Of the value, over users and samples.
        n_users: Users it was evaluated on.
        n_scored: (user, item) pairs that were scored: its cost.
        note: Why it was pruned, or failed, or what it repeats.
        seconds: To fit and to evaluate; two equal trials may differ in it.
    """

    number: int
    parameters: Parameters
    status: Status
    value: float = math.nan
    std_error: float = math.nan
    n_users: int = 0
    n_scored: int = 0
    note: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def key(self) -> str:
        """Equal for equal settings."""
        return setting_key(self.parameters)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not a number is None."""
        values: dict[str, Any] = plain(asdict(self))
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trial:
        """The trial back from plain values."""
        if set(values) != {f.name for f in fields(cls)}:
            raise FileFormatError(
                "a trial of the log has other fields than this version of truerank writes; "
                "resume with the version that began the search, or choose another log"
            )
        whole: dict[str, Any] = {
            k: math.nan if v is None and k in _FLOATS else v for k, v in values.items()
        }
        return cls(**whole)


_FLOATS = ("value", "std_error")


def setting_key(parameters: Parameters) -> str:
    """One text per setting.

    >>> setting_key({"l2": 1.0, "dim": 3})
    '{"dim": 3, "l2": 1.0}'
    """
    return json.dumps(parameters, sort_keys=True)


def best_of(trials: list[Trial] | tuple[Trial, ...]) -> Trial | None:
    """The finished trial of largest value, the first of equals; None if there is none."""
    finished = [trial for trial in trials if trial.status == "finished"]
    return max(finished, key=lambda trial: (trial.value, -trial.number), default=None)
