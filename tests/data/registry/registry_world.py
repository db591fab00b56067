"""Small data sets on disk and in archives, for the tests of the registry."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from truerank.data.registry import parsers
from truerank.data.registry.dataset import Dataset, RawFile

RATINGS = "1::10::4::100\n1::20::5::200\n2::10::3::300\n"


def save(folder: Path, name: str, **arrays: Any) -> Path:
    path = folder / name / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{n: np.asarray(a) for n, a in arrays.items()})
    return path


def entry(name: str = "tiny", **changes: Any) -> Dataset:
    base = Dataset(
        name=name,
        title="Tiny ratings",
        licence="For tests only.",
        citation="Nobody (2024)",
        origin="https://example.org/tiny",
        raw_files=(RawFile(file="tiny.zip", urls=("http://127.0.0.1:9/tiny.zip",)),),
        parser=partial(parsers.ratings, member="ratings.dat", delimiter="::"),
        by_hand=(("ratings.dat",),),
        shape=(2, 2, 3),
    )
    return dataclasses.replace(base, **changes)


def zipped(text: str = RATINGS) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("tiny/ratings.dat", text)
    return buffer.getvalue()


def triples(data: Any) -> list[tuple[Any, ...]]:
    weights = data.weights if data.weights is not None else [None] * len(data)
    return list(
        zip(
            data.user_ids[data.users].tolist(),
            data.item_ids[data.items].tolist(),
            [None if w is None else float(w) for w in weights],
            strict=True,
        )
    )
