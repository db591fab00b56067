"""Whatever is at the path, planted beside it or left behind: no writer does harm."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import private_folder as folders
from truerank.cli.output import new_file
from truerank.cli.reproduce.pairs import write_report
from truerank.data.registry.download import fetch
from truerank.data.registry.npz_layout import write_npz
from truerank.data.registry.partial import PartialFile
from truerank.errors import StorageError
from truerank.files import check_target, written_whole
from truerank.models.saving import save
from truerank.private_folder import private_folder
from truerank.ranking.header import Header
from truerank.report.figures import save_figure
from truerank.report.html import write_html
from truerank.report.page import Page
from truerank.search.log import SearchLog

pytestmark = pytest.mark.skipif(os.name != "posix", reason="FIFOs and permissions of Unix")


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """Who opens a FIFO waits for somebody at its other end: here that is a failure, not a wait."""

    def stop(*_: object) -> None:
        raise TimeoutError("a writer waits, probably for somebody to read a FIFO")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def data() -> tr.Interactions:
    return tr.Interactions.from_arrays([0, 0, 1, 1, 2], [0, 1, 1, 2, 0])


def table() -> tr.RankTable:
    ones = np.ones(3, np.int64)
    return tr.RankTable.from_arrays(
        user=np.arange(3), item=np.arange(3), rank=ones, n_sampled=9 * ones, n_items=10 * ones,
        header=Header(model="m"),
    )  # fmt: skip


def _checkpoint(path: Path) -> None:
    tr.models.MF(dim=2, epochs=1, n_negatives=2, validation_share=0).fit(data(), checkpoint=path)


def _figure(path: Path) -> None:
    from matplotlib.figure import Figure

    save_figure(Figure(), path)


def _fetch(path: Path) -> None:
    source = path.parent / "source"
    source.write_bytes(b"x" * 10)
    try:
        fetch(source.as_uri(), path)
    finally:
        source.unlink()


WRITERS: dict[str, Callable[[Path], object]] = {
    "table": lambda path: table().to_parquet(path, force=True),
    "model": lambda path: save(tr.models.Popularity().fit(data()), path, force=True),
    "checkpoint": _checkpoint,
    "html": lambda path: write_html(Page("t", "v", "l", ()), path, force=True),
    "figure": _figure,
    "npz": lambda path: write_npz(path, {"user": np.arange(3)}),
    "download": _fetch,
    "search log": lambda path: SearchLog(path, {"data": "d"}).read(),
    "report": lambda path: write_report(path, {"a": 1}),
    "command line": lambda path: new_file(path, force=True, inputs=()),
}


@contextmanager
def something(kind: str, path: Path) -> Iterator[None]:
    """A FIFO, a socket or a folder at a path of ours; never a real device."""
    if kind == "fifo":
        os.mkfifo(path)
        yield
    elif kind == "folder":
        path.mkdir()
        yield
    elif kind == "link to a fifo":
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to("pipe")
        yield
    else:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket may have a hundred bytes only
        try:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
                yield
        finally:
            os.chdir(here)


SAYS = {
    "fifo": r"a FIFO \(named pipe\), not a regular file; name another file",
    "link to a fifo": r"a FIFO \(named pipe\), not a regular file; name another file",
    "socket": "is a socket, not a regular file; name another file",
    "folder": "is a folder; name a file",
}


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {p.name: (p.lstat().st_mode, p.lstat().st_ino) for p in folder.iterdir()}


@pytest.mark.parametrize("kind", SAYS)
@pytest.mark.parametrize("writer", WRITERS)
def test_no_writer_replaces_what_is_no_regular_file(writer: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    with something(kind, path):
        before = tree(tmp_path)
        with pytest.raises(StorageError, match=SAYS[kind]):
            WRITERS[writer](path)
        assert tree(tmp_path) == before


@pytest.mark.parametrize("writer", sorted(set(WRITERS) - {"command line"}))
def test_every_writer_writes_and_leaves_nothing_else(writer: str, tmp_path: Path) -> None:
    """Through a link too: it stays, and what it leads to is written, on whichever device."""
    (tmp_path / "elsewhere").mkdir()
    path, real = tmp_path / "out.png", tmp_path / "elsewhere" / "real.png"
    path.symlink_to(real)  # which is not there yet
    WRITERS[writer](path)
    assert path.is_symlink()
    assert real.stat().st_size > 0
    assert stat.S_ISREG(real.lstat().st_mode)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["elsewhere", "out.png", "real.png"]


def test_what_appears_while_writing_is_not_replaced_either(tmp_path: Path) -> None:
    def written(name: str, meanwhile: Callable[[Path], object], *, force: bool) -> None:
        with written_whole(tmp_path / name, force=force) as temporary:
            temporary.write_text("new")
            meanwhile(tmp_path / name)

    with pytest.raises(StorageError, match="a FIFO"):
        written("a", os.mkfifo, force=True)
    assert stat.S_ISFIFO((tmp_path / "a").lstat().st_mode)
    with pytest.raises(StorageError, match="exists already"):
        written("b", lambda path: path.write_text("another's"), force=False)
    assert (tmp_path / "b").read_text() == "another's"


def test_a_link_that_is_there_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with (
        pytest.raises(StorageError, match="link exists already"),
        written_whole(tmp_path / "link", force=False),
    ):
        pytest.fail("the block must not run")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StorageError, match="loop is a link that leads to itself"):
        check_target(tmp_path / "loop")


def test_a_link_of_another_user_in_an_open_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("precious")
    everybody = tmp_path / "tmp"
    everybody.mkdir()
    (everybody / "out").symlink_to(tmp_path / "mine")
    assert check_target(everybody / "out") == tmp_path / "mine"
    everybody.chmod(0o1777)
    lstat, stat_of = Path.lstat, Path.stat

    def planted(path: Path) -> os.stat_result:
        found = list(lstat(path))
        if path.name == "out":
            found[stat.ST_UID] += 1
        return os.stat_result(found)

    monkeypatch.setattr(Path, "lstat", planted)
    assert stat_of(everybody).st_mode & stat.S_ISVTX
    with pytest.raises(StorageError, match="a link that another user put into a folder open to"):
        check_target(everybody / "out")
    everybody.chmod(0o755)
    assert check_target(everybody / "out") == tmp_path / "mine"


def test_the_name_of_the_temporary_file_cannot_be_foreseen(tmp_path: Path) -> None:
    seen = set()
    for _ in range(20):
        with written_whole(tmp_path / "a") as temporary:
            assert stat.S_IMODE(temporary.parent.stat().st_mode) == 0o700
            seen.add(temporary.parent.name)
            temporary.write_text("new")
    assert len(seen) == 20


@pytest.mark.parametrize("suffix", [".part", ".part.tag"])
def test_a_link_planted_for_a_download_is_not_followed(tmp_path: Path, suffix: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f"a.zip{suffix}").symlink_to(victim)
    with suppress(StorageError), PartialFile(tmp_path / "a.zip", url="u") as part:
        part.restart('"v1"')
        part.append(b"new")
        part.finish()
    assert victim.read_text() == "precious"


def test_a_fifo_planted_for_a_download_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip.part")
    with (
        pytest.raises(StorageError, match=r"a.zip.part is not a regular file, though it should"),
        PartialFile(tmp_path / "a.zip", url="u"),
    ):
        pytest.fail("the block must not run")


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
@pytest.mark.parametrize("writer", ["table", "model", "checkpoint", "html", "figure", "npz"])
def test_a_new_file_has_what_the_umask_leaves(
    writer: str, mask: int, mode: int, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        WRITERS[writer](tmp_path / "out.png")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.png").stat().st_mode) == mode


@pytest.mark.parametrize("writer", ["table", "model", "html", "figure", "npz"])
def test_a_replaced_file_keeps_its_permissions(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "out.png"
    path.write_bytes(b"")
    path.chmod(0o640)
    WRITERS[writer](path)
    assert path.stat().st_size > 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# ------------------------------------------------------------- what was left behind

WAITS = """
import sys, time
from truerank.files import written_whole
with written_whole(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half")
    print(temporary.parent, flush=True)
    time.sleep(600)
"""


@contextmanager
def writer_at_work(path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, Path(process.stdout.readline().strip())  # type: ignore[union-attr]
        finally:
            process.send_signal(signal.SIGKILL)


def write(path: Path, text: str) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(text)


@pytest.mark.parametrize("next_one", ["", "another"])  # the same file; any other in the folder
@pytest.mark.parametrize("name", ["a.txt", "x" * 250])
def test_what_a_killed_writer_leaves_is_removed_by_the_next(
    tmp_path: Path, name: str, next_one: str
) -> None:
    path = tmp_path / name
    with writer_at_work(path) as (process, left):
        write(path, "new")  # the other one lives: its folder is not touched
        write(tmp_path / "another", "new")
        assert left.exists()
        process.kill()
        process.wait()
        assert left.exists()
        write(tmp_path / next_one if next_one else path, "newer")
        assert not left.exists()
    assert (tmp_path / next_one if next_one else path).read_text() == "newer"
    assert {p.name for p in tmp_path.iterdir()} == {"another", name}


def test_a_killed_rank_job_is_cleared_away_too(tmp_path: Path) -> None:
    with private_folder(tmp_path, "truerank-job") as alive:
        left = tmp_path / re.sub(r"\w{8}\.tmp$", "deadbeef.tmp", alive.name)
        left.mkdir(mode=0o700)
        (left / "rows").mkdir()
        (left / "rows" / "a.npy").write_bytes(b"large")
        with private_folder(tmp_path, "truerank-job"):
            assert not left.exists()
            assert alive.exists()
    assert not list(tmp_path.iterdir())


def _of_another_machine(folder: Path) -> Path:
    return folder.with_name(folder.name.replace(folders._machine(), "0" * 12))


def test_what_another_machine_left_stays_for_a_day(tmp_path: Path) -> None:
    """Its lock may not be seen from here."""
    with written_whole(tmp_path / "a") as temporary:
        temporary.write_text("new")
        theirs = _of_another_machine(temporary.parent)
    theirs.mkdir(mode=0o700)
    (theirs / "a").write_text("half")
    write(tmp_path / "a", "newer")
    assert theirs.exists()
    long_ago = time.time() - folders.DAY - 60
    os.utime(theirs / "a", (long_ago, long_ago))
    write(tmp_path / "a", "newer")
    assert theirs.exists()  # something was made in it a moment ago
    os.utime(theirs, (long_ago, long_ago))
    write(tmp_path / "b", "another")
    assert theirs.exists()  # only who would wait for it removes what may be alive elsewhere
    write(tmp_path / "a", "newer")
    assert not theirs.exists()


def test_only_folders_of_ours_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b").write_text("precious")
    prefix = f".a.{folders._machine()}."
    (tmp_path / f"{prefix}abcdefgh.tmp").symlink_to(outside)
    (tmp_path / f"{prefix}abcdefg1.tmp").write_text("a file")
    (tmp_path / ".a.tmp").mkdir()
    (tmp_path / f"b{prefix}abcdefgh.tmp").mkdir()
    (tmp_path / ".a.abcdefgh.tmp").mkdir()
    (tmp_path / f"{prefix}abcdefgh.tmp.mine").mkdir()
    theirs = tmp_path / f"{prefix}abcdefg2.tmp"
    theirs.mkdir()
    before = set(tree(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(folders, "this_user", lambda: os.geteuid() + 1)
        write(tmp_path / "a", "new")
    assert set(tree(tmp_path)) == before | {"a"}
    (outside / "b").read_text()
    write(tmp_path / "a", "new")
    assert set(tree(tmp_path)) == before - {theirs.name} | {"a"}
    assert (outside / "b").read_text() == "precious"


@pytest.mark.parametrize("error", [OSError(9, "Bad file descriptor"), None])
def test_without_locks_age_alone_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError | None
) -> None:
    """File systems and systems that have none."""

    def none(*_: Any) -> None:
        raise error  # type: ignore[misc]

    if error is None:
        monkeypatch.setattr(folders, "fcntl", None)
    else:
        monkeypatch.setattr(folders.fcntl, "flock", none)
    left = tmp_path / f".a.{folders._machine()}.abcdefgh.tmp"
    left.mkdir()
    write(tmp_path / "a", "new")
    assert left.exists()
    os.utime(left, (0, 0))
    write(tmp_path / "a", "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]


def test_a_folder_taken_for_a_leftover_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    mkdtemp = folders.tempfile.mkdtemp

    def taken(**how: Any) -> str:
        made.append(mkdtemp(**how))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(folders.tempfile, "mkdtemp", taken)
    write(tmp_path / "a", "new")
    assert len(made) == 2
    assert (tmp_path / "a").read_text() == "new"
