"""The file formats of the public data sets, each read into plain columns.

Every reader takes the raw files in a fixed order and gives the arrays of the npz layout
(:mod:`truerank.data.registry.npz_layout`): ids int32, ratings float32, times int32 (seconds).

Memory: the result (16 bytes a row with rating and time), once more for the column being joined,
and 250 MB; measured 1.4 GB at 60 million ratings, so 100 million peak at about 2.3 GB.
"""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.registry.archives import (
    Arrays,
    Column,
    batches,
    count_fields,
    open_members,
    open_text,
    reading,
)
from truerank.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = {"user": "int32", "item": "int32", "rating": "float", "timestamp": "int64"}
"""The columns of a rating file, and their Arrow types."""

NETFLIX_BLOCK = 1 << 26
MERGED_AT = 32


def ratings(
    paths: Sequence[Path],
    *,
    member: str,
    delimiter: str,
    header: bool = False,
    value: str = "rating",
) -> Arrays:
    """One row per line: user, item, and where present a value and a time; more is ignored.

    Serves ``u.data``, ``ratings.dat`` and ``ratings.csv`` of MovieLens, ``ratings.dat`` of
    MovieTweetings, ``.rating`` files of NCF and eALS, ``user_artists.dat`` of HetRec.

    Args:
        paths: The one file, or a zip that holds it.
        member: Its name inside the zip.
        delimiter: What stands between the columns.
        header: Whether the first line names them.
        value: What the third column is called: ``"rating"``, ``"value"`` or ``"count"``.
    """
    (path,) = paths
    n_fields = count_fields(path, member, delimiter=delimiter)
    if n_fields < 2:
        raise FileFormatError(
            f"{path} does not have the format it should have (no {delimiter!r} in its first "
            "line); remove it and get it again"
        )
    types = ROWS | {"rating": "int32" if value == "count" else "float"}
    wanted = dict(list(types.items())[:n_fields])
    columns = {name: Column() for name in wanted}
    with open_text(path, member) as stream:
        for batch in batches(stream, wanted, delimiter=delimiter, n_fields=n_fields, header=header):
            for name in wanted:
                columns[name].extend(_compact(name, batch.column(name).to_numpy()))
        arrays = {name: column.whole() for name, column in columns.items()}
    if "rating" in arrays and value != "rating":
        arrays[value] = arrays.pop("rating")
    return arrays


def _compact(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Times as int32, unless they are not seconds of this century."""
    if name == "timestamp" and (len(column) == 0 or abs(column).max() < 2**31):
        return column.astype(np.int32)
    return column


def adjacency(paths: Sequence[Path]) -> Arrays:
    """``train.txt`` and ``test.txt`` of NGCF and LightGCN: a user, then the user's items."""
    arrays: Arrays = {}
    for part, path in zip(("train", "test"), paths, strict=True):
        arrays[f"{part}_user"], arrays[f"{part}_item"] = _adjacent(path)
    return arrays


def _adjacent(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    users, counts, items = array("i"), array("i"), array("i")
    with open_text(path, path.name) as stream:
        for line in stream:
            numbers = [int(word) for word in line.split()]
            if numbers:
                users.append(numbers[0])
                counts.append(len(numbers) - 1)
                items.extend(numbers[1:])
    if not items:
        raise FileFormatError(f"{path} holds no rows; remove it and get it again")
    return np.repeat(np.array(users, dtype=np.int32), counts), np.array(items, dtype=np.int32)


def ncf(paths: Sequence[Path], *, value: str = "rating") -> Arrays:
    """``.train.rating``, ``.test.rating`` and ``.test.negative`` of NCF and its followers.

    ``test_negative[k]`` are the published negatives of test row ``k``.
    """
    train, test, negative = paths
    arrays: Arrays = {}
    for part, path in (("train", train), ("test", test)):
        rows = ratings([path], member=path.name, delimiter="\t", value=value)
        arrays |= {f"{part}_{name}": column for name, column in rows.items()}
    pairs, arrays["test_negative"] = _negatives(negative)
    if not np.array_equal(pairs, np.column_stack([arrays["test_user"], arrays["test_item"]])):
        raise FileFormatError(
            f"{negative} does not name the same pairs as {test}; get both files again, together"
        )
    return arrays


def _negatives(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Lines ``(user,item)<tab>negative<tab>...``: the pairs, and their negatives."""
    pairs, rows = array("i"), array("i")
    n_lines = 0
    with open_text(path, path.name) as stream:
        for line in stream:
            if line.strip():
                pair, *rest = line.split()
                pairs.extend(int(word) for word in pair.strip(b"()").split(b","))
                rows.extend(int(word) for word in rest)
                n_lines += 1
        return (
            np.array(pairs, dtype=np.int32).reshape(n_lines, 2),
            np.array(rows, dtype=np.int32).reshape(n_lines, -1),
        )


def netflix(paths: Sequence[Path]) -> Arrays:
    """The Netflix Prize: ``movie:`` lines, each followed by ``user,rating,date`` lines.

    Takes ``nf_prize_dataset.tar.gz`` as it was published (a tar in a tar, 17,770 files, read as a
    stream), the inner ``training_set.tar``, or the ``combined_data_*.txt`` of Kaggle, plain or in
    a zip. Times are midnights.
    """
    types = {"user": "int32", "rating": "float", "date": "date32"}
    columns = {name: Column() for name in ("user", "item", "rating", "timestamp")}
    for path in paths:
        movie = 0
        with reading(path):
            for text in _line_blocks(open_members(path, ("mv_*.txt", "combined_data_*.txt"))):
                body, movies, counts = _without_movie_lines(text, movie)
                movie = movies[-1]
                columns["item"].extend(np.repeat(np.array(movies, dtype=np.int32), counts))
                for batch in batches(io.BytesIO(body), types, delimiter=",") if body else ():
                    days = batch.column("date").cast("int32").to_numpy()
                    columns["user"].extend(batch.column("user").to_numpy())
                    columns["rating"].extend(batch.column("rating").to_numpy())
                    columns["timestamp"].extend(days * np.int32(86_400))
    with reading(paths[0]):
        arrays = {name: column.whole() for name, column in columns.items()}
        if len(arrays["item"]) != len(arrays["user"]):
            raise ValueError("an empty line between the ratings")
        if arrays["item"].min() < 1:
            raise ValueError("ratings before the first movie line")
    return arrays


def _line_blocks(streams: Iterator[IO[bytes]]) -> Iterator[bytes]:
    """The text of many files in blocks of whole lines: small files together, large ones cut."""
    held: list[bytes] = []
    size = 0
    for stream in streams:
        while text := stream.read(NETFLIX_BLOCK):
            text += stream.readline()
            held.append(text if text.endswith(b"\n") else text + b"\n")
            size += len(text)
            if size >= NETFLIX_BLOCK:
                yield b"".join(held)
                held, size = [], 0
    if held:
        yield b"".join(held)


def _without_movie_lines(text: bytes, movie: int) -> tuple[bytes, list[int], list[int]]:
    """The rating lines alone, and which movie each run of them belongs to.

    ``movie`` is the one that was open when the text began. Colons occur in movie lines only.
    """
    movies, counts, bodies = [movie], [], []
    at = 0
    while (colon := text.find(b":", at)) >= 0:
        line = text.rfind(b"\n", at, colon) + 1 or at
        bodies.append(text[at:line])
        counts.append(bodies[-1].count(b"\n"))
        movies.append(int(text[line:colon]))
        at = text.find(b"\n", colon) + 1
    bodies.append(text[at:])
    counts.append(bodies[-1].count(b"\n"))
    return b"".join(bodies), movies, counts


def taste_profile(paths: Sequence[Path]) -> Arrays:
    """``train_triplets.txt`` of the Million Song Dataset: user, song, play count.

    Ids are strings there. They are numbered in sorted order; ``user_id`` and ``item_id`` keep the
    strings, so that ``user_id[user]`` is the user of each row.
    """
    (path,) = paths
    types = {"user": "string", "item": "string", "count": "int32"}
    encoded: dict[str, list[pa.DictionaryArray]] = {"user": [], "item": []}
    counts = Column()
    arrays: Arrays = {}
    with open_text(path, "train_triplets.txt") as stream:
        for batch in batches(stream, types, delimiter="\t"):
            for side, chunks in encoded.items():
                chunks.append(batch.column(side).dictionary_encode())
                if len(chunks) == MERGED_AT:  # or the same names would be held once per block
                    chunks[:] = [_merged(chunks)]
            counts.extend(batch.column("count").to_numpy())
        arrays["count"] = counts.whole()
        for side, chunks in encoded.items():
            arrays[side], arrays[f"{side}_id"] = _sorted_codes(_merged(chunks))
            chunks.clear()
    return arrays


def _merged(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """One array with one dictionary of many."""
    import pyarrow as pa

    return pa.chunked_array(chunks).unify_dictionaries().combine_chunks()


def _sorted_codes(codes: pa.DictionaryArray) -> tuple[NDArray[np.int32], NDArray[np.bytes_]]:
    """Each string's place among the sorted distinct ones, and those."""
    names = np.array(codes.dictionary.to_pylist(), dtype=np.bytes_)
    order = np.argsort(names)
    place = np.empty(len(names), dtype=np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    return place[codes.indices.to_numpy()], names[order]
