"""Checkpoints: all that training needs to go on to the same bits, in one file, without pickle.

The file is a zip of numpy arrays (``numpy.load`` opens it): factors and optimiser states of both
sides, the best factors so far, the history, and a header in JSON with the counters, the settings
and the fingerprint of the data. It is written under a temporary name and renamed, so a checkpoint
is whole or is the one before.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.files import readable_errors, written_whole
from truerank.models.mf.rows import Floats, Table

KIND, FORMAT = "truerank checkpoint", 2
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, LookupError, TypeError, ValueError, OSError)


@dataclass(slots=True, kw_only=True)
class Counters:
    """Where training stands.

    Attributes:
        epoch: Epochs done.
        step: Steps done.
        rate: Of the last epoch, halved if a check said so.
        waited: Checks since the value was better than before.
        best_epoch: The epoch with the best value; 0 for none yet.
        best_value: That value.
        stopped: Whether the checks have said enough.
    """

    epoch: int = 0
    step: int = 0
    rate: float = 0.0
    waited: int = 0
    best_epoch: int = 0
    best_value: float = -np.inf
    stopped: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Training:
    """The state of training: tables that change in place, the best so far, and the history."""

    users: Table
    items: Table
    best_users: Floats
    best_items: Floats
    losses: NDArray[np.float64]
    validations: NDArray[np.float64]
    at: Counters

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        held = {
            f"{side}.{name}": array
            for side, table in (("users", self.users), ("items", self.items))
            for name, array in table._asdict().items()
        }
        return held | {
            "best.users": self.best_users,
            "best.items": self.best_items,
            "losses": self.losses,
            "validations": self.validations,
        }


def write_checkpoint(path: Path, training: Training, identity: dict[str, Any]) -> None:
    """Replace the checkpoint at ``path``; ``identity`` says of which data and settings it is."""
    header = {"kind": KIND, "format": FORMAT, "at": asdict(training.at), **identity}
    text = np.frombuffer(json.dumps(header, sort_keys=True, default=_plain).encode(), np.uint8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, header=text, **training.arrays())


def read_checkpoint(path: Path, identity: dict[str, Any]) -> Training:
    """The training that a checkpoint holds, if it is of this identity."""
    with readable_errors(path):
        file = path.open("rb")
    with file:
        try:
            with np.load(file, allow_pickle=False) as held:
                arrays = {name: held[name] for name in held.files}
            header = json.loads(arrays.pop("header").tobytes())
            if header["kind"] != KIND or header["format"] != FORMAT:
                raise ValueError(header["format"])
            at = Counters(**header["at"])
            tables = {
                side: Table(*(arrays[f"{side}.{name}"] for name in Table._fields))
                for side in ("users", "items")
            }
            training = Training(
                **tables,
                best_users=arrays["best.users"],
                best_items=arrays["best.items"],
                losses=arrays["losses"],
                validations=arrays["validations"],
                at=at,
            )
        except _BROKEN as error:
            raise FileFormatError(
                f"{path} is not a whole checkpoint of this version of truerank; remove it to "
                "start anew, or name another file"
            ) from error
    _check_identity(path, header, identity)
    return training


def _check_identity(path: Path, header: dict[str, Any], identity: dict[str, Any]) -> None:
    if header["data"] != identity["data"]:
        raise InvalidDataError(
            f"the checkpoint {path} is of another data set (or another validation part); name "
            "another file, or remove it to start anew"
        )
    mine, theirs = identity["settings"], header["settings"]
    other = sorted(
        name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)
    )
    if other:
        name = other[0]
        raise InvalidDataError(
            f"the checkpoint {path} was made with {name}={theirs.get(name)!r} and this model has "
            f"{mine.get(name)!r}; use the same settings, name another file, or remove it"
        )


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as a checkpoint gives them back, or a sentence for those that it cannot hold."""
    plain = {}
    for name, value in settings.items():
        try:
            plain[name] = json.loads(json.dumps(value, default=_plain))
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise InvalidArgumentError(
                name, value, "made of numbers and words for a checkpoint to hold it",
                "bind what is not to a loss of your own, with functools.partial",
            ) from error  # fmt: skip
    return plain


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    return value.item()
