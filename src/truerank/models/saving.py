"""Model files: one zip with a JSON header and plain numpy arrays, no pickle.

========================  ======================================================================
member                    what it holds
========================  ======================================================================
``header.json``           format, class, parameters, truerank's version, fingerprint of the
                          training data, which arrays there are, a digest (SHA-256) of each, and
                          how it was made
``user_ids.npy``          external id of each user index: integers or strings
``item_ids.npy``          external id of each item index
``<name>.npy``            a dense array of the model
``<name>.data.npy``,      a sparse one, in compressed rows, with its shape in the header
``.indices``, ``.indptr``
========================  ======================================================================

Equal models give equal bytes. ``numpy.load(path, allow_pickle=False)`` opens the arrays as well.
"""

from __future__ import annotations

import json
import operator
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.array_files import (
    BROKEN,
    SPARSE_PARTS,
    check_digests,
    checked_csr,
    digests,
    read_array,
    stored_member,
)
from truerank.deprecation import current_names
from truerank.errors import FileFormatError, InvalidArgumentError, TruerankError
from truerank.files import HEADER_LIMIT, parse_header, readable_errors, written_whole
from truerank.models.base import Model, State, TrainingInfo
from truerank.models.model_arrays import check_arrays, check_ids
from truerank.models.names import model_class, name_of
from truerank.version import __version__

FORMAT = 1
"""Version of the file format; a reader refuses files of a later one."""

KIND = "truerank model"
_HEADER = "header.json"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of zip: the hour of writing is not part of a model


def save(
    model: Model,
    path: str | Path,
    *,
    force: bool = False,
    made_by: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model to one file, whole or not at all.

    Args:
        model: A fitted model of :data:`truerank.models.names.MODELS`.
        path: The file to write.
        force: Replace a file that exists.
        made_by: How it was made, as plain values; :func:`read_header` gives it back.
    """
    if not isinstance(model, Model) or name_of(type(model).__name__) is None:
        raise InvalidArgumentError("model", type(model).__name__, "a model of truerank.models")
    state = model.state()
    if not hasattr(model, "trained_on"):
        raise InvalidArgumentError(
            "model", f"a {type(model).__name__} made by fold_in", "one made by fit",
            "save the model that was folded in",
        )  # fmt: skip
    known = model.trained_on
    flat = _flat({"user_ids": known.user_ids, "item_ids": known.item_ids, **state})
    header = {
        "kind": KIND,
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in model.parameters().items()},
        "version": __version__,
        "data": known.data,
        "arrays": {
            name: {"sparse": sparse.issparse(array), "shape": [int(n) for n in array.shape]}
            for name, array in state.items()
        },
        "sha256": digests(flat),
        "adapted": list(model.adapted),
        "made_by": made_by or {},
    }
    with written_whole(path, force=force) as temporary, zipfile.ZipFile(temporary, "w") as file:
        text = json.dumps(header, indent=1, sort_keys=True, ensure_ascii=False)
        file.writestr(zipfile.ZipInfo(_HEADER, _FIRST_DAY), text)
        for name, array in flat.items():
            with file.open(
                zipfile.ZipInfo(f"{name}.npy", _FIRST_DAY), "w", force_zip64=True
            ) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def load(path: str | Path) -> Any:
    """The fitted model in a file that :func:`save` wrote.

    Raises:
        FileFormatError: If anything in it is not as it should be: every array is held against
            its digest, its shape, its type and the range of its indices before it is used.
    """
    file = Path(path)
    with _reading(file) as archive:
        header = _header(file, archive)
        kind = model_class(_known_name(file, header))
        flat = {name: read_array(archive, name) for name in _members(header)}
        check_digests(flat, header.get("sha256"))
        known = TrainingInfo(
            user_ids=flat["user_ids"], item_ids=flat["item_ids"], data=header["data"]
        )
        for ids in (known.user_ids, known.item_ids):
            check_ids(ids)
        parameters, arrays = _parameters(header, kind), _state(header, flat)
        if set(arrays) != kind.arrays_of(parameters, set(arrays)):
            raise ValueError("arrays that are not those of the model")
        check_arrays(arrays, n_users=len(known.user_ids), n_items=len(known.item_ids))
        model = kind.from_state(parameters, arrays)
        model.trained_on = known
        model.adapted = _sentences(header)
    return model


def read_header(path: str | Path) -> dict[str, Any]:
    """The header alone: class, parameters, version, fingerprint and how the model was made."""
    file = Path(path)
    with _reading(file) as archive:
        return _header(file, archive)


@contextmanager
def _reading(path: Path) -> Iterator[zipfile.ZipFile]:
    """An open zip; what is wrong with it is said in one sentence."""
    with readable_errors(path):
        start = path.open("rb")
    with start:
        if start.read(2) != b"PK":
            raise _foreign(path)
        try:
            with zipfile.ZipFile(start) as archive:
                yield archive
        except TruerankError:
            raise
        except BROKEN as error:
            raise FileFormatError(
                f"{path} is damaged or was cut short; copy it again, or fit and save the model "
                "again"
            ) from error


def _header(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise _foreign(path)
    header = parse_header(archive.read(stored_member(archive, _HEADER, most=HEADER_LIMIT)))
    if header.get("kind") != KIND:
        raise _foreign(path)
    if type(header["format"]) is not int or header["format"] < 1:
        raise ValueError("a format that is none")
    if header["format"] > FORMAT:
        raise FileFormatError(
            f"{path} has format {header['format']}, newer than the {FORMAT} known here; "
            "upgrade truerank"
        )
    for name, kind in (("class", str), ("version", str), ("data", str), ("made_by", dict)):
        if not isinstance(header[name], kind):
            raise ValueError(f"{name} of another kind")
    return header


def _known_name(path: Path, header: dict[str, Any]) -> str:
    name = name_of(header["class"])
    if name is None:
        raise FileFormatError(
            f"{path} holds a model of the class {header['class']!r}, which this truerank "
            f"({__version__}) does not have; it was written by truerank {header['version']}: "
            "use that version, or fit the model again"
        )
    return name


def _flat(state: State) -> dict[str, NDArray[Any]]:
    """Arrays by the name of their file; a sparse one is three."""
    flat: dict[str, NDArray[Any]] = {}
    for name, array in state.items():
        if sparse.issparse(array):
            rows: Any = sparse.csr_array(array)
            flat |= {f"{name}.{part}": getattr(rows, part) for part in SPARSE_PARTS}
        else:
            flat[name] = np.ascontiguousarray(array)
    return flat


def _sentences(header: dict[str, Any]) -> tuple[str, ...]:
    """Which defaults were adapted; earlier versions do not say."""
    said = header.get("adapted", [])
    if not isinstance(said, list) or not all(isinstance(sentence, str) for sentence in said):
        raise ValueError("adapted of another kind")
    return tuple(said)


def _parameters(header: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """What the model was made with; a list in the place of a switch would count as true."""
    parameters = current_names(kind, header["parameters"])
    for f in fields(kind):
        if f.type in ("bool", bool) and not isinstance(parameters.get(f.name, False), bool):
            raise ValueError(f"{f.name} of another kind")
    return parameters


def _members(header: dict[str, Any]) -> list[str]:
    """The names of all arrays in a file, by its header."""
    names = ["user_ids", "item_ids"]
    for name, entry in header["arrays"].items():
        names += [f"{name}.{part}" for part in SPARSE_PARTS] if entry["sparse"] else [name]
    return names


def _state(header: dict[str, Any], flat: dict[str, NDArray[Any]]) -> State:
    """The arrays of the model as they were, sparse ones put together."""
    state: State = {}
    for name, entry in header["arrays"].items():
        shape = tuple(operator.index(n) for n in entry["shape"])
        if entry["sparse"]:
            n_rows, n_columns = shape
            parts = {part: flat[f"{name}.{part}"] for part in SPARSE_PARTS}
            state[name] = checked_csr(parts, (n_rows, n_columns))
        elif flat[name].shape == shape:
            state[name] = flat[name]
        else:
            raise ValueError(f"{name} of another shape than the header says")
    return state


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _foreign(path: Path) -> FileFormatError:
    return FileFormatError(
        f"{path} is not a model file of truerank; make one with model.save(path) or truerank fit"
    )
