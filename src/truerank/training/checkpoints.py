"""Checkpoints: all that training needs to go on to the same bits, in one file, without pickle.

The file is a zip of numpy arrays (``numpy.load`` opens it): parameters, optimiser states, the best
parameters so far, the history, and a header in JSON with the counters, the settings, the
fingerprint of the data and a digest of each array. It is written whole or not at all, so a
checkpoint is whole or is the one before; and it is checked array by array before a step is taken.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.array_files import (
    BROKEN,
    check_array,
    check_digests,
    digests,
    read_array,
)
from truerank.checks import is_number
from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.files import (
    HEADER_LIMIT,
    check_folder,
    check_target,
    parse_header,
    readable_errors,
    written_whole,
)
from truerank.training.schedule import Counters

KIND, FORMAT = "truerank checkpoint", 2

HISTORY = ("losses", "validations")
"""Arrays that have grown with the epochs; the others have the shapes of the model."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """Where checkpoints go, how often, and what tells them from others.

    Attributes:
        path: The file.
        every: Epochs between writing it.
        identity: Of which data and settings it is.
    """

    path: Path
    every: int
    identity: dict[str, Any]


def write_checkpoint(checkpoint: Checkpoint, at: Counters, arrays: Arrays) -> None:
    """Replace the checkpoint: where training stands, and all its arrays by name."""
    header = {
        "kind": KIND, "format": FORMAT, "at": asdict(at), "sha256": digests(arrays),
        **checkpoint.identity,
    }  # fmt: skip
    text = np.frombuffer(json.dumps(header, sort_keys=True, default=_plain).encode(), np.uint8)
    with written_whole(checkpoint.path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, header=text, **arrays)


def read_checkpoint(
    checkpoint: Checkpoint,
    room: Mapping[str, NDArray[Any]],
    *,
    epochs: int,
    check: Callable[[Arrays, Counters], None] | None = None,
    current: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> tuple[Counters, Arrays] | None:
    """Where training stood and the arrays of a checkpoint; None if there is no file yet.

    Args:
        checkpoint: Which file, and of which data and settings it must be.
        room: Arrays of this training: those of the checkpoint must have the shapes and types of
            these, but for the history, which has grown.
        epochs: Of the schedule; the checkpoint may have no more.
        check: What else must be true of the arrays, with a ValueError if it is not.
        current: Settings under the names they have now, of those that the file has.
    """
    path = checkpoint.path
    if not check_target(path).exists():
        check_folder(path)
        return None
    with readable_errors(path):
        file = path.open("rb")
    with file, _broken(path):
        with zipfile.ZipFile(file) as archive:
            header = parse_header(read_array(archive, "header", most=HEADER_LIMIT).tobytes())
            if header["kind"] != KIND or header["format"] != FORMAT:
                raise ValueError(header["format"])
            if not isinstance(header["data"], str) or not isinstance(header["settings"], dict):
                raise ValueError("no word of the data or the settings")
            arrays = {name: read_array(archive, name) for name in room}
        check_digests(arrays, header.get("sha256"))
        at = Counters(**header["at"])
    header["settings"] = current(header["settings"])
    _check_identity(path, header, checkpoint.identity)
    with _broken(path):
        _check_counters(at)
        _check_arrays(arrays, room, at)
        if check is not None:
            check(arrays, at)
    if at.epoch > epochs:
        raise InvalidArgumentError(
            "epochs", epochs, f"at least {at.epoch}, which {path} has",
            "ask for as many, or name another file",
        )  # fmt: skip
    return at, arrays


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


def _check_arrays(arrays: Arrays, room: Mapping[str, NDArray[Any]], at: Counters) -> None:
    """Kernels believe shapes and types: those of the room, finite, and a history per epoch."""
    for name, mine in room.items():
        array, history = arrays[name], name in HISTORY
        if array.dtype != mine.dtype:
            raise ValueError(f"{name} of another type")
        check_array(
            array,
            shape=(at.epoch,) if history else mine.shape,
            kind=mine.dtype.kind,
            finite=name != "validations",  # NaN where nobody was asked
        )


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
