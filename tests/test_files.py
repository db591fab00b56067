"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from truerank.errors import DatasetNotFoundError, StorageError
from truerank.files import readable_errors, written_whole


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with written_whole(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        private = temporary.parent
        assert private.parent == tmp_path  # the same device, so that renaming is one step
        assert private.name.startswith(".")
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_what_was_there_is_replaced_at_once(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with written_whole(str(target)) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_nothing_stays_of_a_block_that_fails(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def failing() -> None:
        with written_whole(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        failing()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_existing_files_are_kept_if_wanted(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with (
        pytest.raises(StorageError, match=r"a.txt exists already; choose another name or pass"),
        written_whole(target, force=False),
    ):
        pytest.fail("the block must not run")
    with written_whole(tmp_path / "b.txt", force=False) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "b.txt").read_text() == "new"


def test_no_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"the folder .*nowhere does not exist; create it first"),
        written_whole(tmp_path / "nowhere" / "a.txt"),
    ):
        pytest.fail("the block must not run")


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with (
        pytest.raises(StorageError, match="a is a folder; name a file"),
        written_whole(tmp_path / "a") as temporary,
    ):
        temporary.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("method", ["is_dir", "lstat", "replace"])
def test_a_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Whichever call it is that meets the closed door; tests may run as root, who meets none."""

    def closed(*args: Any, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    target = tmp_path / "a.txt"
    with monkeypatch.context() as patch:
        patch.setattr(Path, method, closed)
        with (
            pytest.raises(StorageError, match=r"no permission for .*a.txt; choose another folder"),
            written_whole(target, force=False) as temporary,
        ):
            temporary.write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_nothing_can_be_made_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*args: Any, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", closed)
    with (
        pytest.raises(StorageError, match=r"no permission for .*a.txt; choose another folder"),
        written_whole(tmp_path / "a.txt"),
    ):
        pytest.fail("the block must not run")


def test_what_cannot_be_removed_is_not_said_after_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*args: Any, **options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    with written_whole(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
        monkeypatch.setattr(os, "rmdir", closed)
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(errno.ENOENT, "no"), "there is no file x/y; check the name"),
        (IsADirectoryError(errno.EISDIR, "no"), "x/y is a folder; name a file"),
        (PermissionError(errno.EACCES, "no"), "no permission for x/y; choose another folder"),
        (OSError(errno.EROFS, "no"), "the file system of x/y can only be read; choose another"),
        (OSError(errno.EDQUOT, "no"), "no space left on the device of x/y; nothing was written"),
        (OSError(errno.ENOSPC, "no"), "no space left on the device of x/y; nothing was written"),
    ],
)
def test_what_the_system_says_in_one_sentence(error: OSError, sentence: str) -> None:
    with pytest.raises(StorageError, match=sentence), readable_errors(Path("x/y")):
        raise error


def test_other_errors_pass() -> None:
    for error in (OSError(errno.EIO, "broken disk"), DatasetNotFoundError("not here")):
        with pytest.raises(type(error)) as caught, readable_errors(Path("x")):
            raise error
        assert caught.value is error


def test_two_threads_may_write_the_same_file(tmp_path: Path) -> None:
    """The last one wins, and neither sees the other's half."""
    target, barrier = tmp_path / "a.txt", threading.Barrier(2)

    def write(text: str) -> None:
        with written_whole(target) as temporary:
            temporary.write_text(text)
            barrier.wait(10)

    threads = [threading.Thread(target=write, args=(text * 1000,)) for text in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in ("a" * 1000, "b" * 1000)
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    longest = tmp_path / ("ü" * 127 + "x")  # 255 bytes
    with written_whole(longest) as temporary:
        temporary.write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == [longest.name]


def test_two_files_of_long_names_are_written_at_once(tmp_path: Path) -> None:
    first, second = tmp_path / ("x" * 200 + "1"), tmp_path / ("x" * 200 + "2")
    with written_whole(first) as one, written_whole(second) as two:
        one.write_text("1")
        two.write_text("2")
    assert (first.read_text(), second.read_text()) == ("1", "2")


def test_a_longer_name_gets_a_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageError, match=r"the name x{40}\.\.\. is too long for a file; choose"),
        written_whole(tmp_path / ("x" * 256)) as temporary,
    ):
        temporary.write_text("new")
    assert list(tmp_path.iterdir()) == []
