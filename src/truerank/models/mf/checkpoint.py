"""Checkpoints: all that training needs to go on to the same bits, in one file, without pickle.

The file is a zip of numpy arrays (``numpy.load`` opens it): factors and optimiser states of both
sides, the best factors so far, the history, and a header in JSON with the counters, the settings,
the fingerprint of the data and a digest of each array. It is written whole or not at all, so a
checkpoint is whole or is the one before; and it is checked array by array before a step is taken.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.checks import is_number
from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.files import HEADER_LIMIT, parse_header, readable_errors, written_whole
from truerank.models.array_files import (
    BROKEN,
    check_array,
    check_digests,
    digests,
    read_array,
)
from truerank.models.mf.rows import Table

KIND, FORMAT = "truerank checkpoint", 2


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
    best_users: Float32
    best_items: Float32
    losses: NDArray[np.float64]
    validations: NDArray[np.float64]
    at: Counters

    @classmethod
    def empty(
        cls, n_users: int, n_items: int, dim: int, *, optimiser: str, judged: bool
    ) -> Training:
        """Room for it: factors yet to be filled, and the best of them only where somebody judges.

        What is not filled takes no memory.
        """
        sizes = (n_users, n_items)
        users, items = (Table.of(np.empty((n, dim), np.float32), optimiser) for n in sizes)
        best = [np.empty((n if judged else 0, dim), np.float32) for n in sizes]
        return cls(
            users=users, items=items, best_users=best[0], best_items=best[1],
            losses=np.empty(0), validations=np.empty(0), at=Counters(),
        )  # fmt: skip

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
    arrays = training.arrays()
    header = {
        "kind": KIND, "format": FORMAT, "at": asdict(training.at), "sha256": digests(arrays),
        **identity,
    }  # fmt: skip
    text = np.frombuffer(json.dumps(header, sort_keys=True, default=_plain).encode(), np.uint8)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, header=text, **arrays)


def read_checkpoint(path: Path, identity: dict[str, Any], room: Training) -> Training:
    """The training that a checkpoint holds, if it is of this identity.

    Args:
        path: The file.
        identity: Of which data and settings it must be.
        room: The room for this training: every array of the checkpoint must have the shape and
            type of its own, but for the history, which has grown.
    """
    with readable_errors(path):
        file = path.open("rb")
    with file, _broken(path):
        with zipfile.ZipFile(file) as archive:
            header = parse_header(read_array(archive, "header", most=HEADER_LIMIT).tobytes())
            if header["kind"] != KIND or header["format"] != FORMAT:
                raise ValueError(header["format"])
            if not isinstance(header["data"], str) or not isinstance(header["settings"], dict):
                raise ValueError("no word of the data or the settings")
            arrays = {name: read_array(archive, name) for name in room.arrays()}
        check_digests(arrays, header.get("sha256"))
        at = Counters(**header["at"])
    _check_identity(path, header, identity)
    with _broken(path):
        _check_counters(at)
        _check_arrays(arrays, room, at)
    tables = {
        side: Table(*(arrays[f"{side}.{name}"] for name in Table._fields))
        for side in ("users", "items")
    }
    return Training(
        **tables,
        best_users=arrays["best.users"],
        best_items=arrays["best.items"],
        losses=arrays["losses"],
        validations=arrays["validations"],
        at=at,
    )


@contextmanager
def _broken(path: Path) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise FileFormatError(
            f"{path} is not a whole checkpoint of this version of truerank; remove it to "
            "start anew, or name another file"
        ) from error


def _check_counters(at: Counters) -> None:
    """Counts are counts, and the rate is one: the schedule goes on from them."""
    for count in (at.epoch, at.step, at.waited, at.best_epoch):
        if type(count) is not int or count < 0:
            raise ValueError("a count that is none")
    if not isinstance(at.stopped, bool) or at.best_epoch > at.epoch or at.waited > at.epoch:
        raise ValueError("counters that contradict each other")
    if not is_number(at.rate) or not 0 < at.rate < np.inf:
        raise ValueError("a rate that is none")
    if not is_number(at.best_value) or not at.best_value < np.inf:
        raise ValueError("a value that is none")


def _check_arrays(arrays: dict[str, NDArray[Any]], room: Training, at: Counters) -> None:
    """Kernels believe shapes and types: those of the room, finite, and a history per epoch."""
    for name, mine in room.arrays().items():
        array, history = arrays[name], name in ("losses", "validations")
        if array.dtype != mine.dtype:
            raise ValueError(f"{name} of another type")
        check_array(
            array,
            shape=(at.epoch,) if history else mine.shape,
            kind=mine.dtype.kind,
            finite=name != "validations",  # NaN where nobody was asked
        )
        if name.endswith(".last") and len(array) and not 0 <= array.min() <= array.max() <= at.step:
            raise ValueError("rows that were moved in steps to come")


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
