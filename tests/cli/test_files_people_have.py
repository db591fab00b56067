"""Files in the formats people have, read by the command line through to a verdict.

Every file holds the same loans of a library. Whatever it looks like, the same users, books and
loans must come out, under the very names that went in.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr

from .conftest import Run

Loan = tuple[str, str, float, int]
"""Reader, ISBN, rating from 1 to 10, time."""

MIDNIGHT = 1_120_000_000 - 1_120_000_000 % 86_400


def loans(*, names: Sequence[str] = ("José", "Łukasz", "山田", "O'Hara")) -> list[Loan]:
    """40 readers x 30 books, with ids that numbers would ruin and names that ASCII cannot write."""
    rng = np.random.default_rng(17)
    readers = ["7", "007", "0007", "1e3", "1000", "+5", *names]
    readers += [f"{k:05d}" for k in range(40 - len(readers))]
    books = [f"0{k:02d}5451{k % 7:02d}{'X' if k % 3 else k % 10}" for k in range(28)]
    books += ["39", "039"]
    popularity = 1.0 / np.arange(1, 31)
    rows = []
    for reader in readers:
        for book in rng.choice(30, 9, replace=False, p=popularity / popularity.sum()):
            time = MIDNIGHT + 86_400 * len(rows)
            rows.append((reader, books[book], float(rng.integers(2, 21)) / 2, time))
    return rows


ASCII = ("Ann", "Bob", "Cy", "Dee")
LATIN = ("José", "Zoë", "Åse", "O'Hara")


@dataclass(frozen=True)
class File:
    """How a file is written.

    Attributes:
        name: Its name.
        between: What divides its columns.
        header: Names of its columns; None for no such line.
        number: How a rating is written.
        time: How a time is written.
        quote: Whether every field is quoted.
        end: What ends a line.
        before: What stands before the table.
        after: What stands after each row, before its end.
        tail: What stands after the table.
        encoding: What it is written in.
        pack: What is done to its bytes.
        names: Some of its readers.
        options: What must be said about it.
    """

    name: str = "loans.csv"
    between: str = ","
    header: tuple[str, ...] | None = ("user_id", "item_id", "rating", "timestamp")
    number: Callable[[float], str] = "{:g}".format
    time: Callable[[int], str] = str
    quote: bool = False
    end: str = "\n"
    before: str = ""
    after: str = ""
    tail: str = ""
    encoding: str = "utf-8"
    pack: Callable[[bytes], bytes] = bytes
    names: Sequence[str] = ("José", "Łukasz", "山田", "O'Hara")
    options: tuple[str, ...] = field(default=())

    def write(self, folder: Path) -> Path:
        def cell(text: str) -> str:
            return '"' + text.replace('"', '""') + '"' if self.quote else text

        lines = [] if self.header is None else [self.between.join(map(cell, self.header))]
        for user, item, rating, time in loans(names=self.names):
            cells = (user, item, self.number(rating), self.time(time))
            lines.append(self.between.join(map(cell, cells)) + self.after)
        text = self.before + self.end.join(lines) + self.end + self.tail
        path = folder / self.name
        path.write_bytes(self.pack(text.encode(self.encoding)))
        return path


def iso(time: int) -> str:
    return dt.datetime.fromtimestamp(time, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")


def zipped(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.mkdir("dump")
        archive.writestr("dump/loans.csv", data)
        archive.writestr("__MACOSX/._loans.csv", b"\0\1")
    return packed.getvalue()


NO_HEADER = ("--no-header", "--user-column", "0", "--item-column", "1")
FILES = {
    "comma": File(),
    "tab": File(name="loans.tsv", between="\t"),
    "tab-and-names-of-two-words": File(between="\t", names=("Ann Lee", "van der Berg")),
    "semicolon": File(between=";"),
    "pipe": File(name="loans.txt", between="|"),
    "double-colon": File(name="ratings.dat", between="::", header=None, options=NO_HEADER),
    "blank": File(name="loans.txt", between=" "),
    "blanks-in-runs": File(name="loans.txt", between="   ", before=" ", after="  "),
    "comma-and-blank": File(between=", "),
    "no-header": File(name="u.data", between="\t", header=None, options=NO_HEADER),
    "quoted": File(quote=True),
    "quoted-blank": File(quote=True, between=" ", name="loans.txt"),
    "book-crossing": File(
        name="BX-Book-Ratings.csv", between=";", quote=True, encoding="latin-1", names=LATIN,
        header=("User-ID", "ISBN", "Book-Rating", "Date"), end="\r\n",
    ),
    "latin-1": File(encoding="latin-1", names=LATIN),
    "latin-1-names": File(
        encoding="latin-1", header=("user_id", "item_id", "rating", "prêté"), names=LATIN,
        options=("--time-column", "prêté"),
    ),
    "cp1251": File(encoding="cp1251", names=("Иван", "Анна"), options=("--encoding", "cp1251")),
    "utf-8-bom": File(encoding="utf-8-sig"),
    "utf-8-bom-quoted": File(encoding="utf-8-sig", quote=True),
    "utf-16": File(encoding="utf-16", between="\t", end="\r\n", name="loans.txt"),
    "utf-16-no-bom": File(encoding="utf-16-le", names=ASCII),
    "utf-32": File(encoding="utf-32"),
    "utf-16-colons": File(encoding="utf-16", between="::"),
    "crlf": File(end="\r\n"),
    "old-mac": File(end="\r", names=ASCII),
    "names-with-separators": File(
        quote=True, names=("Smith, John", 'the "Fox"', "two  words", "semi;colon|pipe")
    ),
    "quotes-inside": File(between="\t", names=('6" pipe', "it's", 'a "b" c')),
    "comments": File(before="# loans of 2005\n#\n% see the manual\n\n"),
    "name-line-with-#": File(header=("#user_id", "item_id", "rating", "timestamp")),
    "trailing-separator": File(after=","),
    "trailing-in-names-too": File(
        after=";", between=";", header=("user_id", "item_id", "rating", "timestamp", "")
    ),
    "empty-last-lines": File(tail="\n\n  \n\n"),
    "decimal-comma": File(between=";", number=lambda r: f"{r:g}".replace(".", ",")),
    "decimal-comma-tab": File(between="\t", number=lambda r: f"{r:.1f}".replace(".", ",")),
    "iso-dates": File(time=lambda t: iso(t)[:10]),
    "iso-times": File(time=iso),
    "iso-zulu": File(time=lambda t: iso(t).replace(" ", "T") + ".250Z"),
    "float-times": File(time=lambda t: f"{t}.5"),
    "camel-case": File(header=("userId", "movieId", "rating", "timestamp")),
    "capitals": File(header=("UID", "ItemID", "Rating", "TimeStamp")),
    "recbole": File(
        name="loans.inter", between="\t",
        header=("user_id:token", "item_id:token", "rating:float", "timestamp:float"),
    ),
    "amazon": File(header=("reviewerID", "asin", "overall", "unixReviewTime")),
    "gz": File(name="loans.csv.gz", pack=gzip.compress),
    "gz-by-another-name": File(pack=gzip.compress),
    "not-gz-at-all": File(name="loans.csv.gz"),
    "bz2": File(name="loans.csv.bz2", pack=bz2.compress),
    "xz": File(name="loans.csv.xz", pack=lzma.compress),
    "zst": File(name="loans.csv.zst", pack=lambda b: pa.compress(b, codec="zstd", asbytes=True)),
    "zip": File(name="loans.zip", pack=zipped),
    "latin-1-gz": File(name="l.gz", encoding="latin-1", names=LATIN, pack=gzip.compress),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_the_same_loans_come_out(kind: str, run: Run, tmp_path: Path) -> None:
    file = FILES[kind]
    path = file.write(tmp_path)
    rows = loans(names=file.names)
    readers, books = {row[0] for row in rows}, {row[1] for row in rows}

    shown = run("data", "show", path, *file.options, "--json")
    assert shown.code == 0, shown
    summary = shown.json
    assert (summary["n_users"], summary["n_items"]) == (len(readers), len(books))
    assert summary["n_interactions"] == len(rows)
    if file.header is not None:  # without names nobody knows which are the times
        assert summary["time_span"] == [rows[0][3], rows[-1][3]]

    ranked = run(
        "rank", "--data", path, "--model", "popularity", "--model", "item-knn k=5",
        "--workers", 1, *file.options,
    )  # fmt: skip
    assert ranked.code == 0, ranked
    table = tr.RankTable.from_parquet(tmp_path / "ranks" / "popularity.parquet")
    assert set(table.user.tolist()) == readers
    assert set(zip(table.user.tolist(), table.item.tolist(), strict=True)) <= {
        (user, item) for user, item, _, _ in rows
    }
    compared = run(
        "compare", "ranks/popularity.parquet", "ranks/item-knn-k-5.parquet", "--n-boot", 100
    )
    assert compared.code == 0, compared
    assert (
        "popularity - item-knn-k-5" in compared.out or "item-knn-k-5 - popularity" in compared.out
    )


def test_every_format_gives_the_same_numbers(run: Run, tmp_path: Path) -> None:
    """Ranks depend on the loans alone."""
    found = []
    for kind in ("comma", "semicolon", "utf-16", "blanks-in-runs", "zip", "decimal-comma"):
        path = FILES[kind].write(tmp_path)
        run("rank", "--data", path, "--model", "item-knn k=5", "--out", f"{kind}.parquet")
        found.append(run("estimate", f"{kind}.parquet", "-m", "recall@5", "--json").json)
        path.unlink()
    estimates = [document[0]["estimates"] for document in found]
    assert all(one == estimates[0] for one in estimates)
    assert 0 < estimates[0][0]["value"] <= 1


# -------------------------------------------------------------------- ids


def test_ids_that_numbers_would_merge_stay_apart(run: Run, tmp_path: Path) -> None:
    lines = ["user,item"] + [f"{u},{i}" for u in ("7", "007", "7.0") for i in ("1", "01", "1.0")]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    shown = run("data", "show", "x.csv", "--json").json
    assert (shown["n_users"], shown["n_items"]) == (3, 3)
    as_numbers = run("data", "show", "x.csv", "--id-type", "int").sentence
    assert (
        "user ids must be whole numbers with --id-type int, got '7.0'; leave it out" in as_numbers
    )
    (tmp_path / "y.csv").write_text("user,item\n7,1\n007,2\n8,01\n")
    shown = run("data", "show", "y.csv", "--id-type", "int", "--json").json
    assert (shown["n_users"], shown["n_items"], shown["n_interactions"]) == (2, 2, 3)
    assert "id_type must be 'text', 'int' or None" in run(
        "data", "show", "y.csv", "--id-type", "float"
    ).sentence  # fmt: skip


def test_blanks_around_ids_go_and_are_mentioned_where_it_matters(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item\nann ,1\nbob ,1\nbob ,2\n")
    done = run("data", "show", "x.csv", "--json")
    assert done.json["n_users"] == 2
    assert "note:" not in done.err
    (tmp_path / "x.csv").write_text("user,item\nann ,1\nann,2\nbob ,2\n")
    done = run("data", "show", "x.csv", "--json")
    assert done.json["n_users"] == 2
    assert "note: 1 ids of column 'user' differ from others only by spaces" in done.err


@pytest.mark.parametrize("blank", ["", "  ", '""', "NA"])
def test_missing_ids(run: Run, tmp_path: Path, blank: str) -> None:
    (tmp_path / "x.csv").write_text(f"user,item\n{blank},1\nbob,2\n{blank},2\n")
    assert "2 of 3 rows have no user id (column 'user' is null)" in run(
        "data", "show", "x.csv"
    ).sentence  # fmt: skip


def test_ranks_of_ours_against_ranks_of_theirs(run: Run, tmp_path: Path) -> None:
    """A Parquet table of ours with numbers for ids, a CSV with the same written as text."""
    rng = np.random.default_rng(3)
    users, items = np.arange(5, 305), rng.integers(0, 2000, 300)
    ranks = [rng.geometric(p, 300).clip(1, 500) for p in (0.05, 0.01)]
    tr.RankTable.from_arrays(ranks[0], 500, 500, user=users, item=items).to_parquet(
        tmp_path / "ours.parquet"
    )
    order = rng.permutation(300)
    lines = [f"{users[k]};{items[k]};{ranks[1][k]}" for k in order]
    (tmp_path / "theirs.csv").write_text("\n".join(["User-ID;ItemID;Rank", *lines]))
    pq.write_table(
        pa.table({"user_id": users, "item_id": items, "rank": ranks[1]}), tmp_path / "p.parquet"
    )
    sizes = ("--n-items", 500, "--n-sampled", 500, "-m", "recall@10", "--json")
    assert "leave out --n-items" in run("compare", "ours.parquet", "theirs.csv", *sizes).sentence
    lines = [f"{line};500;500" for line in lines]
    (tmp_path / "theirs.csv").write_text(
        "\n".join(["User-ID;ItemID;Rank;n_items;n_sampled", *lines])
    )
    verdict = run("compare", "ours.parquet", "theirs.csv", "-m", "recall@10", "--json")
    assert verdict.code == 0, verdict
    (row,) = verdict.json["comparisons"]
    shares = [float((r <= 10).mean()) for r in ranks]
    assert abs(row["difference"]) == pytest.approx(shares[0] - shares[1], abs=1e-12)
    # paired by user, as the same ids in one type are
    same = tr.compare(
        {
            "ours": tr.RankTable.from_parquet(tmp_path / "ours.parquet"),
            "theirs": tr.RankTable.from_arrays(ranks[1], 500, 500, user=users, item=items),
        },
        "recall@10",
    )
    assert row["std_error"] == pytest.approx(same.comparisons[0].std_error, rel=0.15)
    paired = np.std((ranks[0] <= 10) * 1.0 - (ranks[1] <= 10)) / np.sqrt(300)
    assert row["std_error"] == pytest.approx(paired, rel=0.15)


# -------------------------------------------------------------------- what is a positive


def book_crossing(path: Path, *, dislike: int = 0) -> tuple[int, int]:
    """``"User-ID";"ISBN";"Book-Rating"`` where 0 is an implicit one; how many are and are not."""
    rng = np.random.default_rng(2)
    lines = ['"User-ID";"ISBN";"Book-Rating"']
    n = [0, 0]
    for user in range(276_725, 276_775):
        for book in rng.choice(40, 10, replace=False):
            rating = int(rng.integers(1, 11)) if rng.random() < 0.4 else dislike
            n[rating > 0] += 1
            lines.append(f'"{user}";"0{book:02d}545104{"X" if book % 2 else "é"}";"{rating}"')
    path.write_bytes("\r\n".join(lines).encode("latin-1"))
    return n[0], n[1]


@pytest.mark.parametrize("dislike", [0, -1])
def test_what_is_rated_zero_or_less_is_no_positive(run: Run, tmp_path: Path, dislike: int) -> None:
    path = tmp_path / "BX-Book-Ratings.csv"
    without, positives = book_crossing(path, dislike=dislike)
    done = run("data", "show", path.name, "--json")
    assert (done.json["n_interactions"], done.json["n_dropped"]) == (positives, without)
    said = f"note: {without} of {without + positives} interactions have a rating of 0 or less"
    assert said in done.err
    assert "draw the line elsewhere with --min-rating" in done.err
    assert "was read as Latin-1; say --encoding" in done.err
    assert "positives above 0 by rating = 'Book-Rating'" in done.err
    lines = [" ".join(line.split()) for line in run("data", "show", path.name).out.splitlines()]
    assert f"left out {without} rated too low to be positives" in lines

    everything = run("data", "show", path.name, "--min-rating", dislike, "--json")
    assert everything.json["n_interactions"] == without + positives
    assert "rating of 0 or less" not in everything.err
    assert f"positives from {dislike} by rating = 'Book-Rating'" in everything.err
    ignored = run("data", "show", path.name, "--rating-column", "none", "--json")
    assert ignored.json["n_interactions"] == without + positives
    assert "positives" not in ignored.err  # that was asked for
    few = run("data", "show", path.name, "--min-rating", 8, "--json").json
    assert 0 < few["n_interactions"] < positives

    options = ("--split", "leave-one-out short_users=drop", "--model", "popularity")
    ranked = run("rank", "--data", path.name, *options, "--model", "item-knn k=5")
    assert ranked.code == 0, ranked
    assert said in ranked.err
    table = tr.RankTable.from_parquet(tmp_path / "ranks" / "item-knn-k-5.parquet")
    assert all(len(isbn) == 10 and isbn.startswith("0") for isbn in table.item.tolist())
    assert any(isbn.endswith("é") for isbn in table.item.tolist())
    assert run("compare", "ranks/popularity.parquet", "ranks/item-knn-k-5.parquet").code == 0


def test_a_model_file_remembers_what_a_positive_is(run: Run, tmp_path: Path) -> None:
    book_crossing(tmp_path / "bx.csv")
    options = ("--split", "leave-one-out short_users=drop", "--model", "popularity")
    fitted = run("fit", "--data", "bx.csv", "--min-rating", 6, *options, "--out", "m.model")
    assert fitted.code == 0, fitted
    assert run("rank", "--model", "m.model").code == 0
    refused = run("rank", "--model", "m.model", "--min-rating", 2, "--out", "other")
    assert refused.code == 2
    assert "m.model was fitted on other data" in refused.err


def test_counting_repeats_counts_the_positive_rows(run: Run, tmp_path: Path) -> None:
    rows = ["a,1,1", "a,1,1", "a,1,-1", "a,2,-1", "b,1,1", "b,3,1", "b,3,0"]
    (tmp_path / "x.csv").write_text("\n".join(["user,item,like", *rows]))
    shown = run("data", "show", "x.csv", "--duplicates", "sum", "--json").json
    assert (shown["n_interactions"], shown["n_dropped"]) == (3, 3)
    assert shown["weight_range"] == [1, 2]
    last = run("data", "show", "x.csv", "--duplicates", "last", "--json").json
    assert (last["n_interactions"], last["n_dropped"]) == (1, 3)  # the last word counts


def test_weights_say_what_is_a_positive_and_stay(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item,hours,rating\na,1,0,5\na,2,2.5,-1\nb,2,7,1\n")
    shown = run("data", "show", "x.csv", "--weight-column", "hours", "--json").json
    assert shown["n_interactions"] == 2
    assert shown["weight_range"] == [2.5, 7]
    both = run("data", "show", "x.csv", "--weight-column", "hours", "--rating-column", "rating")
    assert "--rating-column must be left out beside --weight-column hours" in both.sentence


def test_a_threshold_for_a_data_set_by_name(run: Run) -> None:
    assert "no ratings" in run("data", "show", "demo", "--min-rating", 4).sentence


# -------------------------------------------------------------------- what cannot be guessed


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        pytest.param("196\t242\t3\n186\t302\t3\n", (), "seems to have no header line, "
                     "since it starts with 196, 242, 3; if so, say --no-header and number its "
                     "columns from 0, as in --user-column 0", id="no-header"),
        pytest.param("196\t242\t3\n186\t302\t3\n", ("--no-header",), "--user-column",
                     id="no-header-no-columns"),
        pytest.param("ann,b1\nbob,b2\n", (), "say which with --user-column, or --no-header if "
                     "these are not names", id="names-or-data"),
        pytest.param("user^item\na^1\n", (), "name what divides its columns with --delimiter",
                     id="delimiter"),
        pytest.param("user_id,userId,item\n1,2,3\n", (), "has columns user_id, userId, and each "
                     "may be the user; say which with --user-column", id="two-users"),
        pytest.param("user,item,rating\na,1,good\nb,1,bad\n", (), "column 'rating' should hold "
                     "numbers, but holds 'good'; convert it, or name another column with "
                     "--rating-column, or none to count every row", id="words-for-ratings"),
        pytest.param("user,item,rating\na,1,5\nb,1,\n", (), "got nan in row 1 (1 such rows); drop "
                     "these rows or fill them in, or count every row with --rating-column none",
                     id="missing-rating"),
        pytest.param("user;item;hours\na;1;1,234\nb;1;7\n", (), "'1,234', whose comma may mark "
                     "thousands or decimals", id="thousands"),
        pytest.param("user,item,date\na,1,03/14/2005\nb,1,03/15/2005\n", (), "do without: "
                     "--time-column none", id="american-dates"),
        pytest.param("user,item,rating\na,1,-1\nb,1,0\n", (), "no rating is above 0, they run from "
                     "-1 to 0, so there are no positives; say what counts as one with "
                     "--min-rating", id="all-dislikes"),
        pytest.param("user,item\na,1\nb,1\n", ("--min-rating", "3"), "left out where there is no "
                     "column of ratings, got 3.0; name it with --rating-column", id="no-ratings"),
        pytest.param("user,item\na,1\n", ("--encoding", "klingon"), "encoding must be one that "
                     "Python knows", id="encoding"),
        pytest.param("user,item\na,1\nb,2,3\n", (), "Expected 2 columns, got 3", id="uneven"),
        pytest.param("", (), "is empty", id="empty"),
        pytest.param("user,item\n", (), "there are no interactions", id="only-names"),
        pytest.param("user,item\0\0\1\n", (), "holds zero bytes", id="binary"),
    ],
)  # fmt: skip
def test_one_sentence_with_the_option_that_helps(
    text: str, options: tuple[str, ...], says: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert says in run("data", "show", "x.csv", *options).sentence
    rank = run("rank", "--data", "x.csv", "--model", "popularity", *options)
    assert says in rank.sentence
    assert not (tmp_path / "ranks").exists()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("user^item\na^1\nb^1\n", ("--delimiter", "^")),
        ("user\titem\na\t1\nb\t1\n", ("--delimiter", "\\t")),
        ("user,item,rating\na,1,good\nb,1,bad\n", ("--rating-column", "none")),
        ("user,item,date\na,1,03/14/2005\nb,1,03/15/2005\n", ("--time-column", "none")),
        ("user,item,rating\na,1,-1\nb,1,0\n", ("--min-rating", "-1")),
        ("ann,1\nbob,1\n", NO_HEADER),
    ],
)
def test_and_the_option_helps(
    text: str, options: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text(text)
    shown = run("data", "show", "x.csv", *options, "--json")
    assert shown.code == 0, shown
    assert shown.json["n_interactions"] == 2


def test_an_archive_of_several_files(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.csv", "user,item\n1,2\n")
        archive.writestr("b.csv", "user,item\n1,2\n")
    assert "x.zip holds 2 files (a.csv, b.csv); unpack it and name the one" in run(
        "data", "show", "x.zip"
    ).sentence  # fmt: skip


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zipped])
def test_a_cut_archive(run: Run, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    text = "user,item\n" + "".join(f"{k},{k % 7}\n" for k in range(20_000))
    whole = pack(text.encode())
    (tmp_path / "x.gz").write_bytes(whole[: len(whole) // 2])
    assert "x.gz" in run("data", "show", "x.gz").sentence


# -------------------------------------------------------------------- ranks made elsewhere


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("rank\n{}", (), id="one-column"),
        pytest.param("{}", ("--no-header",), id="one-column-no-name"),
        pytest.param("user rank\n{u} {}", (), id="blank"),
        pytest.param("# by NCF\nuser;rank\n{u};{}", (), id="comment"),
        pytest.param("User-ID\tPosition\n{u}\t{}", (), id="other-names"),
        pytest.param("u^rank\n{u}^{}", ("--delimiter", "^"), id="delimiter"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_ranks_as_people_have_them(
    text: str, options: tuple[str, ...], encoding: str, run: Run, tmp_path: Path
) -> None:
    ranks: list[Any] = np.random.default_rng(0).integers(1, 101, 60).tolist()
    head, _, row = text.rpartition("\n")
    lines = [row.format(rank, u=f"é{k:03d}") for k, rank in enumerate(ranks)]
    whole = "\n".join([*([head] if head else []), *lines])
    (tmp_path / "r.txt").write_bytes(whole.encode(encoding))
    sizes = ("--n-items", 5000, "--n-sampled", 100, "-m", "recall@10", "--n-boot", 0)
    done = run("estimate", "r.txt", *sizes, "--no-bounds", "--method", "naive", *options, "--json")
    assert done.code == 0, done
    assert done.json[0]["n_users"] == 60
    share = sum(rank <= 10 for rank in ranks) / 60
    assert done.json[0]["estimates"][0]["value"] == pytest.approx(share)


def test_sampled_ranks_said_to_be_exact_are_suspicious(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    ranks = rng.integers(1, 101, 2_000).tolist()
    (tmp_path / "r.csv").write_text("\n".join(["rank", *map(str, ranks)]))
    sizes = ("--n-items", 12_929, "--n-sampled", 12_929, "-m", "recall@10", "--n-boot", 0)
    done = run("estimate", "r.csv", *sizes)
    assert "note: suspicious: these ranks are said to be exact among 12,929 items" in done.err
    assert "if they are sampled say --n-sampled 100" in done.err
    (document,) = run("estimate", "r.csv", *sizes, "--json").json
    assert "suspicious" in document["estimates"][0]["notes"][0]
    right = run("estimate", "r.csv", "--n-items", 12_929, "--n-sampled", 100, "-m", "recall@10")
    assert "suspicious" not in right.err
    too_small = run("estimate", "r.csv", "--n-items", 12_929, "--n-sampled", 50).sentence
    assert "is larger than n_sampled 50" in too_small


def test_columns_that_nobody_reads_are_named(run: Run, tmp_path: Path) -> None:
    """A rating under a name that we do not know: without a word, dislikes would be positives."""
    rows = [f"k{u};b{(u * i) % 13};{(-1) ** (u + i)};x" for u in range(9) for i in range(1, 6)]
    lines = list(dict.fromkeys(rows))
    (tmp_path / "b.csv").write_text("\n".join(["Kunde;ISBN;Bewertung;Notiz", *lines]) + "\n")
    options = ("--data", "b.csv", "--user-column", "Kunde", "--model", "popularity")
    done = run("rank", *options, "--duplicates", "first")
    assert done.code == 0, done
    assert "not read: 'Bewertung', 'Notiz', so every row counts as a positive" in done.err
    rated = run(
        "rank", *options, "--duplicates", "first", "--rating-column", "Bewertung", "--out", "r2"
    )
    assert "not read: 'Notiz'" in rated.err
    assert "every row counts" not in rated.err
