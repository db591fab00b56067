"""Delimited text: ids as written, encodings, numbers; what the command line does not reach."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.data import id_order
from truerank.data.frames import read_csv
from truerank.data.ids import IdType, in_one_type, with_id_type
from truerank.data.input_columns import index_ids
from truerank.data.interactions import Interactions
from truerank.data.text import tables as text_tables
from truerank.errors import DataWarning, InvalidDataError
from truerank.ranking.readers import read_lists, read_trec

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=8,
).filter(lambda w: w == w.strip())


@settings(deadline=None, max_examples=60)
@given(pairs=st.lists(st.tuples(words, words), min_size=1, max_size=12, unique=True))
def test_every_id_comes_out_as_it_went_in(
    pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("ids") / "x.csv"
    frame = pd.DataFrame(pairs, columns=["user_id", "item_id"])
    frame.to_csv(path, index=False, quoting=1)  # all quoted
    data = Interactions.from_csv(path).to_arrow().to_pydict()
    assert sorted(zip(data["user_id"], data["item_id"], strict=True)) == sorted(pairs)


def test_a_late_letter_that_is_not_utf8(tmp_path: Path) -> None:
    lines = ["user_id,item_id", *(f"u{k},i{k}" for k in range(20_000)), "José,i0"]
    path = tmp_path / "x.csv"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    assert path.stat().st_size > 1 << 17
    with pytest.warns(DataWarning, match="is not UTF-8 and was read as Latin-1; say encoding="):
        data = Interactions.from_csv(path)
    assert "José" in data.user_ids.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = Interactions.from_csv(path, encoding="cp1252")
    assert "José" in data.user_ids.tolist()


def test_a_byte_order_mark_is_part_of_no_name(tmp_path: Path) -> None:
    for text in ("user_id,item_id\n7,é\n", '"user_id","item_id"\n"7","é"\n', "7,é\n"):
        (tmp_path / "x.csv").write_text(text, encoding="utf-8-sig")
        named = {"header": False, "user": "0", "item": "1"} if text[0] == "7" else {}
        data = Interactions.from_csv(tmp_path / "x.csv", **named)
        assert (data.user_ids.tolist(), data.item_ids.tolist()) == (["7"], ["é"])


def test_quoted_lines_over_the_borders_of_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "_BLOCK", 1 << 20)
    path = tmp_path / "x.csv"
    rows = [(f"reader {k}", "9" * 200 + str(k), f"two\nlines {k}") for k in range(12_000)]
    pd.DataFrame(rows, columns=["user_id", "item_id", "review"]).to_csv(path, index=False)
    assert path.stat().st_size > 2 << 20
    data = Interactions.from_csv(path)
    assert set(data.user_ids.tolist()) == {user for user, _, _ in rows}
    assert set(data.item_ids.tolist()) == {item for _, item, _ in rows}


def test_row_numbers_of_r(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text('"user_id" "item_id"\n"1" "a" "x"\n"2" "b" "x"\n')
    assert Interactions.from_csv(path).user_ids.tolist() == ["a", "b"]


def test_ids_with_a_hash_are_no_comments(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("#a,1\n#b,2\n")
    data = Interactions.from_csv(path, header=False, user="0", item="1")
    assert data.user_ids.tolist() == ["#a", "#b"]
    path.write_text("# made by hand\n#a,1\nb,2\n# end\n")
    data = Interactions.from_csv(path, header=False, user="0", item="1")
    assert data.user_ids.tolist() == ["#a", "b"]


def test_only_the_columns_that_are_wanted_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"user_id,item_id,title\n1,2,caf\xe9\n")
    with pytest.warns(DataWarning):
        table = read_csv(path, user="user_id", item="item_id")
    assert table.column_names == ["user_id", "item_id"]


@pytest.mark.parametrize("kind", [None, "text", "int"])
def test_id_types_of_frames_and_files(kind: IdType | None, tmp_path: Path) -> None:
    frame = pd.DataFrame({"user_id": [10, 9], "item_id": ["07", "7"]})
    frame.to_csv(tmp_path / "x.csv", index=False)
    of_file = Interactions.from_csv(tmp_path / "x.csv", id_type=kind)
    of_frame = Interactions.from_frame(frame, id_type=kind)
    users = {None: [9, 10], "int": [9, 10], "text": ["9", "10"]}[kind]
    items = [7] if kind == "int" else ["07", "7"]
    assert of_frame.user_ids.tolist() == users
    assert of_frame.item_ids.tolist() == of_file.item_ids.tolist() == items
    assert of_file.user_ids.tolist() == ([9, 10] if kind == "int" else ["9", "10"])


def test_id_types_that_do_not_fit() -> None:
    with pytest.raises(InvalidDataError, match=r"item ids must be whole numbers .* got 'x'"):
        with_id_type(pa.array(["1", "x"]), "int", "item")
    with pytest.raises(InvalidDataError, match=r"got '99999999999999999999'"):
        with_id_type(pa.array(["1", "9" * 20]), "int", "item")


def test_dictionaries_that_somebody_else_made() -> None:
    made = pa.DictionaryArray.from_arrays(pa.array([3, 0, 2, 3]), pa.array(["b", "x", "b", "a"]))
    index, names = index_ids(made, None, "user")
    assert names.tolist() == ["a", "b"]
    assert index.tolist() == [0, 1, 1, 0]


def test_numbers_and_text_meet_as_they_are_written() -> None:
    numbers, text = np.array([7, 10]), np.array(["7", "07"])
    assert in_one_type([numbers, numbers])[0] is numbers
    assert [column.tolist() for column in in_one_type([numbers, text])] == [
        ["7", "10"],
        ["7", "07"],
    ]


def test_one_very_long_id(monkeypatch: pytest.MonkeyPatch) -> None:
    Interactions.from_arrays(["a" * 10_000, "b"], [1, 2])
    monkeypatch.setattr(id_order, "WIDEST", 1_000_000)
    with pytest.raises(InvalidDataError, match=r"the longest of 300 ids has 10,000 characters"):
        Interactions.from_arrays(["a" * 10_000, *map(str, range(299))], [1] * 300)


def test_lists_and_targets_of_two_types(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text("user_id,item_id,score\n9,5,1\n9,6,2\n10,5,3\n10,7,1\n")
    targets = pd.DataFrame({"user_id": [10, 9], "item_id": [7, 6]})
    table = read_lists(path, targets, n_items=100)
    assert table.rank.tolist() == [2, 1]
    assert table.user.tolist() == [10, 9]


def test_names_of_trec_are_text(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("7 Q0 01 1 9.5 x\n7 Q0 1 2 8.5 x\n007 Q0 1 1 3 x\n")
    (tmp_path / "qrels").write_text("7 0 1 1\n007 0 1 1\n")
    table = read_trec(tmp_path / "run", tmp_path / "qrels", n_items=50)
    assert table.user.tolist() == ["7", "007"]
    assert table.rank.tolist() == [2, 1]
