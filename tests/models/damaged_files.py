"""Every array of every model file and checkpoint damaged in turn; run as a process of its own.

A kernel that believes a damaged index may end the process without a word, so the one that tries
is not the one that asks: ``python -m damaged_files`` prints one line of JSON for every variant,
and who reads them sees which is missing.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from truerank.models.names import MODELS, model_class

Array = NDArray[Any]
Members = dict[str, Array]

SMALL: dict[str, dict[str, Any]] = {
    "lrr": {"dim": 4},
    "pure-svd": {"dim": 4},
    "closed-form-mf": {"l2": 0.5, "dim": 4},
    "wmf": {"dim": 4, "epochs": 2, "track_objective": True},
    "ials": {"dim": 4, "epochs": 2, "track_objective": True},
    "debiased-ials": {"dim": 4, "epochs": 2},
    "svdpp": {"dim": 4, "epochs": 2},
    "learned-linear": {"epochs": 1},
    "mf": {"dim": 4, "epochs": 3, "n_negatives": 4, "validation_metric": "ndcg@5"},
}
MF: dict[str, Any] = SMALL["mf"] | {"batch_size": 64}
DEEP_EDLAE = tr.models.EDLAE(dropout=0.3, l2=1.0, dim=3, epochs=3)


def data() -> tr.Interactions:
    rng = np.random.default_rng(3)
    pairs = np.unique(rng.integers(0, [30, 20], (250, 2)), axis=0)
    return tr.Interactions.from_arrays(*pairs.T)


SPLIT = tr.split.leave_one_out(data(), seed=1)


def _learned_linear(base: Any, **settings: Any) -> Any:
    return tr.models.LearnedLinear(epochs=1, **settings).fit(SPLIT.train, base=base)


VARIANTS: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: model_class(name)(**SMALL.get(name, {})).fit(SPLIT.train)  # type: ignore[misc]
        for name in MODELS
    },
    "edlae of low rank": lambda: DEEP_EDLAE.fit(SPLIT.train),
    "learned linear of factors": lambda: _learned_linear(tr.models.LRR(dim=4).fit(SPLIT.train)),
    "learned linear without diagonal": lambda: _learned_linear(DEEP_EDLAE.fit(SPLIT.train)),
    "learned linear, sparse": lambda: _learned_linear(
        tr.models.EASE(l2=5.0).fit(SPLIT.train), threshold=0.01
    ),
    "learned linear with lambdas": lambda: _learned_linear(
        tr.models.LRR(l2=5.0, dim=4), lambda_range=1.0
    ),
}
CHECKPOINTS = ("adam", "dense-adam", "adagrad", "sgd")


def damages(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Everything that can be wrong with an array that is not merely another number."""
    yield "extra dimension", array[None]
    if array.size:
        yield "nothing", array[:0]
        yield "truncated", array[:-1]
        yield "flat", array.reshape(-1)[: array.size // 2]
    yield "doubled", np.concatenate([array, array]) if array.size else np.zeros(3, array.dtype)
    if array.dtype.kind != "U":
        yield (
            "integers" if array.dtype.kind == "f" else "floats",
            array.astype(np.int64 if array.dtype.kind == "f" else np.float64),
        )
        yield "bytes", array.astype(np.int8)
        yield "foreign byte order", array.astype(array.dtype.newbyteorder(">"))
    if not array.size:
        return
    for what, value in (
        ("nan", np.nan), ("infinite", np.inf), ("too large", 10**6), ("negative", -1),
        ("very large", 2**31 - 1), ("very negative", -(2**31)),
    ):  # fmt: skip
        holds_floats = array.dtype.kind == "f"
        if holds_floats == (what in ("nan", "infinite")) and array.dtype.kind != "U":
            for place, at in (("first", 0), ("last", -1)):
                changed = array.copy()
                changed.reshape(-1)[at] = value
                yield f"{what} {place}", changed
    if name.endswith(".indices") and array.size > 1:
        yield "not ascending", array[::-1].copy()
        yield "repeated", np.zeros_like(array)
    if name.endswith(".indptr"):
        yield "falling", array[::-1].copy()
        yield "shifted", array + 1


def members_of(path: Path) -> tuple[dict[str, Any], Members, str]:
    with zipfile.ZipFile(path) as file:
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)))
            for name in file.namelist()
            if name.endswith(".npy")
        }
        if "header" in arrays:
            return json.loads(arrays.pop("header").tobytes()), arrays, "header.npy"
        return json.loads(file.read("header.json")), arrays, "header.json"


def write(path: Path, header: dict[str, Any], arrays: Members, kind: str) -> None:
    text = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as file:
        if kind == "header.json":
            file.writestr(kind, text)
        else:
            arrays = arrays | {"header": np.frombuffer(text, np.uint8)}
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array)
            file.writestr(f"{name}.npy", content.getvalue())


def damaged(
    header: dict[str, Any], arrays: Members
) -> Iterator[tuple[str, dict[str, Any], Members]]:
    """As an earlier version wrote it, without digests; and with them, when all is refused."""
    bare = {name: value for name, value in header.items() if name != "sha256"}
    for name, array in arrays.items():
        yield f"{name}: dropped", bare, {k: v for k, v in arrays.items() if k != name}
        for what, other in damages(name, array):
            fitting = json.loads(json.dumps(bare))
            entry = fitting.get("arrays", {}).get(name)
            if entry is not None:  # a header that agrees with what is wrong
                entry["shape"] = list(other.shape)
            yield f"{name}: {what}", fitting, arrays | {name: other}
        if array.size and array.dtype.kind == "f":
            other = array.copy()
            other.reshape(-1)[0] += 1
            yield f"{name}: another number", bare, arrays | {name: other}
            yield f"{name}: another number, digests", header, arrays | {name: other}
    for name, entry in header.get("arrays", {}).items():
        others = {k: v for k, v in header["arrays"].items() if k != name}
        yield f"{name}: not named", bare | {"arrays": others}, arrays
        for shape in ([], [3], [*entry["shape"], 1], [-1] * 2, [10**30, 2], [0, 0], ["a", "b"]):
            changed = header["arrays"] | {name: entry | {"shape": shape}}
            yield f"{name}: shape {shape}", bare | {"arrays": changed}, arrays
        flipped = header["arrays"] | {name: entry | {"sparse": not entry["sparse"]}}
        yield f"{name}: sparse or not", bare | {"arrays": flipped}, arrays
    yield from damaged_headers(bare, arrays)
    for name, value in header.get("at", {}).items():
        for other in (None, "x", -1, 10**9, [1]):
            if not (name in ("best_value", "rate", "waited") and other in (-1, 10**9)) and (
                (name, other) != ("step", 10**9)
            ):
                at = header["at"] | {name: other}
                yield f"at.{name}: {value!r} as {other!r}", bare | {"at": at}, arrays


def damaged_headers(
    header: dict[str, Any], arrays: Members
) -> Iterator[tuple[str, dict[str, Any], Members]]:
    """A field of the header that is missing, or of another kind; and what should not be there."""
    for name in header:
        yield f"header.{name}: dropped", {k: v for k, v in header.items() if k != name}, arrays
        for other in (None, "x", -1, [1], {"x": 1}):
            yield f"header.{name}: {other!r}", header | {name: other}, arrays
    for name in header.get("parameters", {}):
        for other in ([1], {"x": 1}):
            changed = header["parameters"] | {name: other}
            yield f"parameter {name}: {other!r}", header | {"parameters": changed}, arrays
    one = next(iter(arrays.values()))
    yield "extra member", header, arrays | {"extra": one}
    if "parameters" in header:
        more = header["parameters"] | {"extra": 1}
        yield "extra parameter", header | {"parameters": more}, arrays
        entry = {"sparse": False, "shape": list(one.shape)}
        named = header | {"arrays": header["arrays"] | {"extra": entry}}
        yield "extra array, missing", named, arrays
        yield "extra array", named, arrays | {"extra": one}
        known = header | {"arrays": header["arrays"] | {"sigma": entry}}
        yield "array of another model", known, arrays | {"sigma": one}


def damaged_bytes(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """The file cut short, with one bit flipped, with more after its end; at addressed places."""
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 30):
        yield f"file: cut at {place}", whole[:place]
    for place in rng.integers(0, 8 * len(whole), 60):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << (place % 8)
        yield f"file: bit {place} flipped", bytes(flipped)
    yield "file: empty", b""
    yield "file: zeros", bytes(len(whole))
    yield "file: doubled", whole + whole


def outcome(use: Callable[[], Any]) -> str:
    try:
        result = use()
    except tr.TruerankError as error:
        said = str(error)
        return "refused" if said.count("\n") == 0 else f"several lines: {said}"
    except Exception as error:  # noqa: BLE001  # which is what is looked for
        return f"{type(error).__name__}: {error}"
    return f"used {result}"


def bits(*arrays: Any) -> str:
    """A digest of what was computed, to tell whether damage has changed it."""
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def sweep_model(variant: str, folder: Path) -> dict[str, str]:
    whole, path = folder / "whole", folder / "damaged"
    VARIANTS[variant]().save(whole)

    def use() -> str:
        model = tr.models.load(path)
        full, sampled = (tr.rank(model, SPLIT, design) for design in (tr.Full(), tr.Sampled(5)))
        folded = model.fold_in(SPLIT.train).score_all(np.arange(3))
        return bits(full.rank, sampled.rank, folded)

    return sweep(whole, path, use)


def sweep_checkpoint(optimiser: str, folder: Path) -> dict[str, str]:
    whole, path = folder / "whole", folder / "damaged"
    tr.models.MF(**MF | {"optimiser": optimiser, "epochs": 2}).fit(SPLIT.train, checkpoint=whole)

    def use() -> str:
        model = tr.models.MF(**MF | {"optimiser": optimiser}).fit(SPLIT.train, checkpoint=path)
        return bits(model.user_factors, model.item_factors)

    return sweep(whole, path, use)


def sweep(whole: Path, path: Path, use: Callable[[], str]) -> dict[str, str]:
    """What becomes of each damage: ``"refused"``, ``"used"`` and the bits, or another error."""
    header, arrays, kind = members_of(whole)
    write(path, header, arrays, kind)
    found = {"whole": outcome(use)}
    for what, head, other in damaged(header, arrays):
        write(path, head, other, kind)
        found[what] = outcome(use)
    for what, content in damaged_bytes(whole.read_bytes()):
        path.write_bytes(content)
        found[what] = outcome(use)
    return found


if __name__ == "__main__":
    for variant in [*VARIANTS, *CHECKPOINTS]:
        swept = sweep_checkpoint if variant in CHECKPOINTS else sweep_model
        with tempfile.TemporaryDirectory() as folder:
            line = {"variant": variant, "found": swept(variant, Path(folder))}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
