"""One Parquet file per table: the round trip, and every file that is none."""

from __future__ import annotations

import errno
import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError, StorageError
from truerank.ranking import (
    FactorScorer,
    Header,
    RankCounts,
    RankTable,
    Sampled,
    Screened,
    Users,
    rank_pairs,
)

KEY = b"truerank.ranktable"
TABLE = RankTable.from_arrays(
    [1, 3], [10, 50], 50, weight=[0.5, 2.0], user=["ä", "b"], item=[7, 9], n_scored=[30, 50],
    header=Header(design={"kind": "sampled", "n": 10}, seed=2**63 + 1, ties="half", data="d1"),
)  # fmt: skip


def assert_same(one: RankTable, two: RankTable) -> None:
    assert one.header == two.header
    for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored"):
        mine, theirs = getattr(one, name), getattr(two, name)
        assert mine.tolist() == theirs.tolist(), name
        assert mine.dtype.kind == theirs.dtype.kind, name


@pytest.mark.parametrize("ids", [[3, 5], ["a", "b c"], [2**62, 1], ["", "日本"]], ids=str)
def test_round_trip(ids: list[Any], tmp_path: Path) -> None:
    table = replace(TABLE, user=np.array(ids), item=np.array(ids[::-1]))
    table.to_parquet(tmp_path / "t.parquet")
    again = RankTable.from_parquet(tmp_path / "t.parquet")
    assert_same(again, table)
    assert not again.rank.flags.writeable
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def test_round_trip_of_a_real_ranking(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scorer = FactorScorer(rng.normal(size=(9, 3)), rng.normal(size=(20, 3)))
    design = Users(np.int64(5), Sampled(np.int32(7), replacement=np.True_))  # numpy's numbers too
    table = rank_pairs(scorer, range(9), range(9), design, user_ids=list("abcdefghi"))
    table.to_parquet(str(tmp_path / "t.parquet"))
    assert_same(RankTable.from_parquet(str(tmp_path / "t.parquet")), table)


@pytest.mark.parametrize(
    "design",
    [Screened(), Screened(k=2, miss=0.2, shared=4), Sampled(50, shared=3), Sampled(shared=2),
     Users(7, Screened(k=1, miss=0.3)), Users(7, Sampled(9, shared=9)), Screened(k=3, budget=200)],
    ids=str,
)  # fmt: skip
def test_round_trip_of_screens_and_shared_rivals(design: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    scorer = FactorScorer(rng.normal(size=(40, 3)), rng.normal(size=(400, 3)))
    table = rank_pairs(scorer, range(40), rng.integers(0, 400, 40), design, seed=3)
    table.to_parquet(tmp_path / "t.parquet")
    again = RankTable.from_parquet(tmp_path / "t.parquet")
    assert_same(again, table)
    mine, theirs = table.header.stages, again.header.stages
    assert mine is not None
    assert theirs is not None
    assert mine.n_blocks == theirs.n_blocks
    assert mine.describe() == theirs.describe()
    for name in ("sizes", "max_rank", "continue_prob"):
        assert getattr(mine, name).tolist() == getattr(theirs, name).tolist()
    assert again.header.design.describe() == design.describe()
    counts = table.counts()
    counts.to_parquet(tmp_path / "c.parquet")
    assert RankCounts.from_parquet(tmp_path / "c.parquet").header == counts.header


def test_files_from_before_rivals_were_shared(tmp_path: Path) -> None:
    """They say neither ``shared`` nor ``blocks``, and plain samples still write none of it."""
    levels = {"sizes": [10], "go_on": [0], "keep": [1.0]}
    old = {"kind": "sampled", "n": 10, "replacement": False, "levels": levels}
    path = rewritten(tmp_path / "t.parquet", {"format": 1, "seed": 1, "design": old})
    header = RankTable.from_parquet(path).header
    assert header.design == Sampled(10)
    assert header.stages is not None
    assert header.stages.n_blocks is None
    assert header.to_dict()["design"] == old
    grown = {"kind": "adaptive", "n0": 10, "n_max": 20, "levels": {
        "sizes": [10, 20], "go_on": [1, 0], "keep": [0.5, 1.0]}}  # fmt: skip
    path = rewritten(tmp_path / "t.parquet", {"format": 1, "seed": 1, "design": grown})
    assert "blocks" not in RankTable.from_parquet(path).header.to_dict()["design"]["levels"]


LEVELS = {"sizes": [5, 9], "go_on": [1, 0], "keep": [1, 1]}


@pytest.mark.parametrize(
    "design",
    [
        {"kind": "screened", "k": "x"}, {"kind": "screened", "k": 0}, {"kind": "screened", "k": []},
        {"kind": "screened", "miss": "often"}, {"kind": "screened", "miss": 7},
        {"kind": "screened", "budget": -1}, {"kind": "screened", "shared": 0.5},
        {"kind": "screened", "miss": 0.1, "budget": 3}, {"kind": "screened", "mood": 3},
        {"kind": "sampled", "shared": -3}, {"kind": "sampled", "shared": "all"},
        {"kind": "sampled", "shared": 3, "replacement": True},
        {"kind": "screened", "levels": LEVELS | {"blocks": 0}},
        {"kind": "screened", "levels": LEVELS | {"blocks": "many"}},
        {"kind": "screened", "levels": LEVELS | {"blocks": 1.5}},
        {"kind": "users", "m": 3, "inner": {"kind": "screened", "k": -1}},
    ],
    ids=str,
)  # fmt: skip
def test_damaged_screens(design: Any, tmp_path: Path) -> None:
    path = rewritten(tmp_path / "t.parquet", {"format": 1, "design": design})
    with pytest.raises(FileFormatError, match=r"t\.parquet: the header is damaged: "):
        RankTable.from_parquet(path)


def test_an_empty_table_round_trips(tmp_path: Path) -> None:
    empty = RankTable.from_arrays([], 10, 50)
    empty.to_parquet(tmp_path / "t.parquet")
    assert len(RankTable.from_parquet(tmp_path / "t.parquet")) == 0


def test_the_file_says_what_it_is_to_others(tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "t.parquet")
    frame = pq.read_table(tmp_path / "t.parquet")
    assert frame.column_names == [
        "user_id", "item_id", "rank", "n_sampled", "n_items", "weight", "n_scored",
    ]  # fmt: skip
    header = json.loads(frame.schema.metadata[KEY])
    assert header["seed"] == 2**63 + 1
    assert header["format"] == 1
    assert TABLE.to_arrow().equals(frame)


def test_a_name_with_an_equals_sign_is_only_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "model=ease"
    folder.mkdir()
    TABLE.to_parquet(folder / "t.parquet")
    assert_same(RankTable.from_parquet(folder / "t.parquet"), TABLE)


def test_another_table_is_replaced_only_if_wanted(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    TABLE[:1].to_parquet(path)
    assert len(RankTable.from_parquet(path)) == 1
    with pytest.raises(StorageError, match="already; choose another name or pass force=True"):
        TABLE.to_parquet(path, force=False)
    assert len(RankTable.from_parquet(path)) == 1


# ---------------------------------------------------------------- files that are none


@pytest.mark.parametrize("keep", [0, 3, 200, 0.5, 0.99])
def test_a_truncated_file(keep: float, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep >= 1 else keep * len(content))])
    with pytest.raises(
        FileFormatError,
        match=r"t\.parquet is not a complete Parquet file: it is damaged or was cut short",
    ):
        RankTable.from_parquet(path)


def test_a_damaged_page(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rank = np.random.default_rng(0).integers(1, 1000, 50_000)
    RankTable.from_arrays(rank, 1000, 2000).to_parquet(path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 2000] = bytes(2000)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="is not a complete Parquet file: it is damaged"):
        RankTable.from_parquet(path)


def test_another_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user_id,item_id,rank\n1,2,3\n" * 10)
    with pytest.raises(FileFormatError, match="is not a complete Parquet file"):
        RankTable.from_parquet(tmp_path / "t.csv")


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"user_id": [1], "rating": [5.0]}), path)
    with pytest.raises(
        FileFormatError,
        match=r"is a Parquet file but not a rank table of truerank \(it has columns user_id, "
        r"rating, it lacks item_id, rank, n_sampled, n_items, weight, n_scored\); make one with "
        r"RankTable\.from_arrays",
    ):
        RankTable.from_parquet(path)


def rewritten(path: Path, header: Any = None, **columns: Any) -> Path:
    """The table on disk with another header, or with columns replaced (None: dropped)."""
    frame = TABLE.to_arrow()
    metadata = frame.schema.metadata
    if header is not None:
        metadata = {KEY: header if isinstance(header, bytes) else json.dumps(header).encode()}
    for name, values in columns.items():
        place = frame.column_names.index(name)
        frame = frame.remove_column(place)
        if values is not None:
            frame = frame.add_column(place, name, pa.array(values))
    pq.write_table(frame.replace_schema_metadata(metadata), path)
    return path


def test_a_file_of_a_newer_format(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "t.parquet", {"format": 2, "seed": 1})
    with pytest.raises(
        FileFormatError, match="has format 2, newer than the 1 known here; upgrade truerank"
    ):
        RankTable.from_parquet(path)


def test_an_unknown_header_field(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "t.parquet", {"format": 1, "mood": "good", "sky": "blue"})
    with pytest.raises(
        FileFormatError, match="the header has unknown fields mood, sky; it was written by a newer"
    ):
        RankTable.from_parquet(path)


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "header",
    [b"{", b"3", b"\xff", b"[1]", DEEP, b'{"format": 1, "design": ' + DEEP + b"}",
     b'{"format": 1, "n_population": ' + b"9" * 5_000 + b"}"],
    ids=["cut", "number", "bytes", "list", "deep", "deep design", "digits"],
)  # fmt: skip
def test_a_damaged_header(header: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="has a damaged header; write it again"):
        RankTable.from_parquet(rewritten(tmp_path / "t.parquet", header))


WRONG = [
    ("replacement", "no"), ("replacement", 1), ("replacement", None), ("seed", -1), ("seed", 1.5),
    ("seed", 2**64), ("seed", True), ("seed", "7"), ("ties", "best"), ("ties", None), ("ties", []),
    ("candidates", "some"), ("candidates", 3), ("n_population", -5), ("n_population", 0),
    ("n_population", 10**400), ("n_population", 2**63),
    ("n_population", 2.0), ("n_population", True), ("n_population", "many"), ("data", 7),
    ("split", ["a"]), ("model", {}), ("version", None), ("design", None), ("design", []),
    ("design", {}), ("design", {"kind": 3}), ("design", {"kind": "users", "inner": 3}),
    ("design", {"kind": "sampled", "n": "x"}), ("design", {"kind": "users", "m": -1}),
    ("design", {"kind": "sampled", "levels": []}),
    ("design", {"kind": "sampled", "levels": {"sizes": [5], "go_on": [0]}}),
    ("design", {"kind": "sampled", "levels": {"sizes": [], "go_on": [], "keep": []}}),
    ("design", {"kind": "sampled", "levels": {"sizes": ["5"], "go_on": [0], "keep": [1.0]}}),
    ("design", {"kind": "sampled", "levels": {"sizes": [5, 3], "go_on": [1, 0], "keep": [1, 1]}}),
    ("design", {"kind": "users", "inner": {"kind": "sampled", "levels": {"sizes": 5}}}),
    ("design", {"kind": "users", "more": [[[[[[[[3]]]]]]]]}),
    ("design", functools.reduce(lambda inner, _: {"kind": "users", "inner": inner}, range(300),
                                {"kind": "full"})),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_every_header_field_has_its_kind(field: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{field}.* must be .*, got "):
        Header(**{field: value})
    path = rewritten(tmp_path / "t.parquet", {"format": 1, field: value})
    with pytest.raises(FileFormatError, match=f"t.parquet: the header is damaged: {field}"):
        RankTable.from_parquet(path)


def test_numbers_of_numpy_are_taken_as_plain_ones(tmp_path: Path) -> None:
    header = Header(seed=np.int64(3), n_population=np.int32(9), replacement=np.bool_(True))  # type: ignore[arg-type]
    assert header == Header(seed=3, n_population=9, replacement=True)
    replace(TABLE, header=header).to_parquet(tmp_path / "t.parquet")
    assert RankTable.from_parquet(tmp_path / "t.parquet").header == header


def test_a_header_with_fewer_fields_takes_the_defaults(tmp_path: Path) -> None:
    table = RankTable.from_parquet(rewritten(tmp_path / "t.parquet", {"format": 1, "seed": 4}))
    assert table.header == Header(seed=4)


def test_a_missing_column(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="it lacks n_items"):
        RankTable.from_parquet(rewritten(tmp_path / "t.parquet", n_items=None))


@pytest.mark.parametrize("column", ["user_id", "rank", "weight"])
def test_missing_values(column: str, tmp_path: Path) -> None:
    values = ["a", None] if column == "user_id" else [1, None]
    with pytest.raises(FileFormatError, match=f"has missing values in column {column}; each row"):
        RankTable.from_parquet(rewritten(tmp_path / "t.parquet", **{column: values}))


def test_rows_are_checked_on_the_way_in(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"rank must be whole numbers, got 1.5"):
        RankTable.from_parquet(rewritten(tmp_path / "t.parquet", rank=[1.5, 2]))
    with pytest.raises(InvalidDataError, match="row 1: rank 60 is larger than n_sampled 50"):
        RankTable.from_parquet(rewritten(tmp_path / "t.parquet", rank=[1, 60]))


# ---------------------------------------------------------------- places


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*t.parquet; check the name"):
        RankTable.from_parquet(tmp_path / "t.parquet")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a folder; name a file"):
        RankTable.from_parquet(tmp_path)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"the folder .*nowhere does not exist; create it first"):
        TABLE.to_parquet(tmp_path / "nowhere" / "t.parquet")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        pytest.param(
            PermissionError(errno.EACCES, "Permission denied"),
            "no permission for .*t.parquet; choose another folder or change its permissions",
            id="permission",
        ),
        pytest.param(
            OSError(errno.ENOSPC, "No space left on device"),
            "no space left on the device of .*t.parquet; nothing was written",
            id="full-disk",
        ),
    ],
)
def test_when_writing_fails_nothing_changes(
    error: OSError, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    before = path.read_bytes()

    def failing(frame: Any, where: Any, **options: Any) -> None:
        Path(where).write_bytes(b"half")
        raise error

    monkeypatch.setattr(pq, "write_table", failing)
    with pytest.raises(StorageError, match=sentence):
        TABLE[:1].to_parquet(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_reading_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)

    def closed(*args: Any, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(StorageError, match=r"no permission for .*t.parquet"):
        RankTable.from_parquet(path)


def test_ctrl_c_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(frame: Any, where: Any, **options: Any) -> None:
        Path(where).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        TABLE.to_parquet(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []
