"""A process that has done its work in threads ends with the code that it should end with."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import truerank as tr
from truerank.data.frames import read_csv
from truerank.data.registry import parsers
from truerank.data.text import arrow_text
from truerank.data.text.delimited import SingleByte
from truerank.ranking import parquet
from truerank.ranking.readers.spaced import Spaced

WORK = """
import sys, time
import truerank as tr
from truerank.data.text.delimited import SingleByte
from truerank.data.frames import read_csv
from truerank.numerics.threads import on_all_cores

SingleByte.__del__ = lambda self: time.sleep(0.003)  # whoever lets go of it late, is late
table = tr.RankTable.from_parquet("ranks.parquet")
unclosed = on_all_cores(2)
unclosed.__enter__()(lambda i: time.sleep(0.001), range(8))
list(tr.Threads(2).imap(time.sleep, [0.001] * 4))
print(len(table), flush=True)
for _ in range(20):
    read_csv("many.dat", delimiter="::", header=False)
"""

ENDS = {"": 0, "sys.exit(3)": 3, "raise SystemExit": 0, "raise ValueError": 1}


def ranks() -> tr.RankTable:
    ones = np.ones(5000, np.int64)
    return tr.RankTable.from_arrays(
        user=np.arange(5000), item=ones, rank=ones, n_sampled=9 * ones, n_items=10 * ones
    )


def test_short_processes_end_as_they_should(tmp_path: Path) -> None:
    """Four at a time: the more there are, the later threads come to their end.

    One in five ended with -6 ("terminate called without an active exception") when Arrow's
    threads read streams of Python's.
    """
    (tmp_path / "many.dat").write_text("".join(f"{i}::{i % 7}::5\n" for i in range(8000)))
    ranks().to_parquet(tmp_path / "ranks.parquet")
    ended: Counter[tuple[str, int, str]] = Counter()
    for _ in range(3):
        started = [
            (
                end,
                subprocess.Popen(
                    [sys.executable, "-c", f"{WORK}\n{end}"], cwd=tmp_path, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                ),
            )
            for end in ENDS
        ]  # fmt: skip
        for end, process in started:
            said, failed = process.communicate(timeout=120)
            assert "terminate" not in failed
            assert "Fatal" not in failed
            ended[end, process.returncode, said] += 1
    assert ended == {(end, code, "5000\n"): 3 for end, code in ENDS.items()}


def test_threads_that_nobody_closed_end_before_the_interpreter(tmp_path: Path) -> None:
    script = """
import atexit, threading
atexit.register(lambda: print(threading.active_count()))
from truerank.numerics.threads import on_all_cores
unclosed = on_all_cores(3)
meet = threading.Barrier(3)
unclosed.__enter__()(lambda i: meet.wait(20), range(3))
print(threading.active_count())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["3", "1"]


# ---------------------------------------------------- nothing of Python's in Arrow's threads


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads in which streams of Python's are read."""
    seen: set[int] = set()
    for kind in (SingleByte, Spaced):
        readinto = kind.readinto

        def recorded(self: Any, buffer: Any, readinto: Any = readinto) -> int:
            seen.add(threading.get_ident())
            return int(readinto(self, buffer))

        monkeypatch.setattr(kind, "readinto", recorded)
    return seen


def test_streams_of_python_are_read_in_the_calling_thread(
    tmp_path: Path, readers: set[int]
) -> None:
    text = "".join(f"{i}::{i % 7}::5\n" for i in range(200_000))  # several of Arrow's blocks
    (tmp_path / "r.dat").write_text(text)
    assert read_csv(tmp_path / "r.dat", delimiter="::", header=False).num_rows == 200_000
    assert readers == {threading.get_ident()}
    readers.clear()
    run = "".join(f"{i} Q0 d{k} {k} {9.5 - k} run\n" for i in range(500) for k in range(1, 9))
    (tmp_path / "a.run").write_text(run)
    (tmp_path / "a.qrels").write_text("".join(f"{i} 0 d3 1\n" for i in range(500)))
    table = tr.read_trec(tmp_path / "a.run", tmp_path / "a.qrels", n_items=100)
    assert set(table.rank.tolist()) == {3}
    assert readers == {threading.get_ident()}


def test_members_of_a_zip_are_read_in_the_calling_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[int] = set()
    read = zipfile.ZipExtFile.read

    def recorded(self: Any, n: int | None = -1) -> bytes:
        seen.add(threading.get_ident())
        return read(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", recorded)
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("r.dat", "".join(f"{i}::{i % 7}::5::9\n" for i in range(1000)))
    got = parsers.ratings([tmp_path / "r.zip"], member="r.dat", delimiter="::")
    assert got["user"].tolist() == list(range(1000))
    assert seen == {threading.get_ident()}


def test_a_rank_table_is_opened_by_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    reader = parquet.pq.ParquetFile
    monkeypatch.setattr(
        parquet.pq, "ParquetFile", lambda source: opened.append(source) or reader(source)
    )
    ranks().to_parquet(tmp_path / "a.parquet")
    assert len(tr.RankTable.from_parquet(tmp_path / "a.parquet")) == 5000
    assert [type(source) for source in opened] == [pa.OSFile]


def test_arrow_gets_memory_of_its_own_and_handlers_run_in_the_calling_thread(
    tmp_path: Path,
) -> None:
    stream = arrow_text.arrow_stream(io.BytesIO(b"1,2\n"))
    assert type(stream) is pa.BufferReader
    (tmp_path / "plain").write_bytes(b"a,b\n1,2\n")
    with pa.OSFile(str(tmp_path / "plain")) as plain:
        assert arrow_text.arrow_stream(plain) is plain
    seen: set[int] = set()

    def skip(row: Any) -> str:
        seen.add(threading.get_ident())
        return "skip"

    text = "a,b\n" + "1,2\n1\n" * 300_000
    table = arrow_text.parse_csv(
        io.BytesIO(text.encode()), parse_options=csv.ParseOptions(invalid_row_handler=skip)
    )
    assert table.num_rows == 300_000
    assert seen == {threading.get_ident()}
