"""The downloader against a real server on the loopback interface."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
from pathlib import Path

import pytest
from tests.data.conftest import Site

from truerank.data.registry import download, download_progress, partial
from truerank.data.registry.download import fetch
from truerank.errors import DownloadError, InvalidArgumentError, StorageError

BODY = bytes(range(256)) * 2_000  # half a megabyte: several chunks
MD5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
SHA256 = hashlib.sha256(BODY).hexdigest()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_whole_file_arrives_under_its_name(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY)
    target = tmp_path / "deep" / "folder" / "a.zip"
    got = fetch(url, target, md5=MD5, sha256=SHA256.upper(), size=len(BODY))
    assert got == target
    assert target.read_bytes() == BODY
    assert left_in(target.parent) == ["a.zip"]


def test_empty_file(site: Site, tmp_path: Path) -> None:
    fetch(site.put("a.zip", b""), tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == b""


def test_old_file_is_replaced_only_by_a_whole_one(site: Site, tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    target.write_bytes(b"old")
    url = site.put("a.zip", BODY, cuts=[100])
    with pytest.raises(DownloadError):
        fetch(url, target, retries=0)
    assert target.read_bytes() == b"old"
    fetch(url, target)
    assert target.read_bytes() == BODY


def test_file_urls_are_copied(tmp_path: Path) -> None:
    source = tmp_path / "source.bin"
    source.write_bytes(BODY)
    fetch(source.as_uri(), tmp_path / "copy.bin", sha256=SHA256)
    assert (tmp_path / "copy.bin").read_bytes() == BODY
    with pytest.raises(DownloadError, match=r"cannot reach file:.*; check the connection"):
        fetch((tmp_path / "none").as_uri(), tmp_path / "x")


def test_other_schemes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="url must be an http, https or file address"):
        fetch("ftp://127.0.0.1/a", tmp_path / "a")


def test_redirects_are_followed_but_not_out_of_http(site: Site, tmp_path: Path) -> None:
    site.put("new", BODY)
    url = site.put("old", b"", statuses=[302], location="/new")
    assert fetch(url, tmp_path / "a").read_bytes() == BODY
    url = site.put("out", b"", statuses=[302], location="ftp://127.0.0.1/a")
    with pytest.raises(DownloadError, match="unknown url type: ftp"):
        fetch(url, tmp_path / "b")
    assert left_in(tmp_path) == ["a"]


# ------------------------------------------------------------------ cuts


def test_cut_is_resumed_within_a_call(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[200_000, 100_000])
    fetch(url, tmp_path / "a.zip", sha256=SHA256, backoff=0)
    assert (tmp_path / "a.zip").read_bytes() == BODY
    assert site.ranges_asked() == [None, "bytes=200000-", "bytes=300000-"]
    assert left_in(tmp_path) == ["a.zip"]


def test_cut_is_resumed_by_the_next_call(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[200_000])
    with pytest.raises(
        DownloadError,
        match=r"cut after 200,000 of 512,000 bytes, in 1 try; run it again to go on from byte 200",
    ):
        fetch(url, tmp_path / "a.zip", retries=0)
    assert left_in(tmp_path) == ["a.zip.part", "a.zip.part.tag"]
    fetch(url, tmp_path / "a.zip", sha256=SHA256)
    assert site.ranges_asked() == [None, "bytes=200000-"]
    assert left_in(tmp_path) == ["a.zip"]


def test_date_is_as_good_as_an_etag(site: Site, tmp_path: Path) -> None:
    day = "Tue, 15 Nov 1994 12:45:26 GMT"
    url = site.put("a.zip", BODY, cuts=[1_000], etag=None, date=day)
    fetch(url, tmp_path / "a.zip", sha256=SHA256, backoff=0)
    assert site.requests[1][1]["If-Range"] == day
    assert site.ranges_asked() == [None, "bytes=1000-"]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_file_without_a_version_restarts_and_leaves_nothing(
    site: Site, tmp_path: Path, etag: str | None
) -> None:
    url = site.put("a.zip", BODY, cuts=[1_000, 1_000], etag=etag)
    with pytest.raises(DownloadError, match="in 2 tries; try again later"):
        fetch(url, tmp_path / "a.zip", retries=1, backoff=0)
    assert left_in(tmp_path) == []
    assert site.ranges_asked() == [None, None]


def test_changed_file_restarts(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", b"x" * len(BODY), cuts=[1_000])
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip", retries=0)
    site.put("a.zip", BODY, etag='"v2"')
    fetch(url, tmp_path / "a.zip", sha256=SHA256)
    assert site.requests[1][1]["If-Range"] == '"v1"'


def test_changed_file_restarts_though_the_server_ignores_if_range(
    site: Site, tmp_path: Path
) -> None:
    url = site.put("a.zip", b"x" * len(BODY), cuts=[1_000])
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip", retries=0)
    site.put("a.zip", BODY, etag='"v2"', heeds_if_range=False)
    assert fetch(url, tmp_path / "a.zip").read_bytes() == BODY
    assert site.ranges_asked() == [None, "bytes=1000-", None]


def test_shrunken_file_restarts(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[1_000])
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip", retries=0)
    site.pages["/a.zip"].body = BODY[:500]
    assert fetch(url, tmp_path / "a.zip", retries=0).read_bytes() == BODY[:500]
    assert site.ranges_asked() == [None, "bytes=1000-", None]


def test_piece_from_elsewhere_is_not_glued_on(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[1_000], shift=7)
    fetch(url, tmp_path / "a.zip", sha256=SHA256, backoff=0)
    assert site.ranges_asked() == [None, "bytes=1000-", None]


def test_server_without_ranges_restarts(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[1_000], ranges=False)
    fetch(url, tmp_path / "a.zip", sha256=SHA256, backoff=0)
    assert site.ranges_asked() == [None, "bytes=1000-"]


def test_part_of_another_address_is_not_continued(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DownloadError):
        fetch(site.put("a.zip", b"x" * 9_000, cuts=[1_000]), tmp_path / "a.zip", retries=0)
    fetch(site.put("b.zip", BODY), tmp_path / "a.zip", sha256=SHA256)
    assert site.ranges_asked() == [None, None]


def test_content_length_that_promises_too_much_is_a_cut(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, length=len(BODY) + 5, ranges=False)
    with pytest.raises(DownloadError, match="cut after 512,000 of 512,005 bytes, in 2 tries"):
        fetch(url, tmp_path / "a.zip", retries=1, backoff=0)
    assert not (tmp_path / "a.zip").exists()


def test_content_length_that_promises_too_little_is_a_wrong_file(
    site: Site, tmp_path: Path
) -> None:
    url = site.put("a.zip", BODY, length=1_000)
    with pytest.raises(DownloadError, match="its size is 1000 instead of 512000"):
        fetch(url, tmp_path / "a.zip", size=len(BODY))
    assert left_in(tmp_path) == []


def test_file_without_a_length_is_taken_to_its_end(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, length=-1)
    assert fetch(url, tmp_path / "a.zip", sha256=SHA256).read_bytes() == BODY


# ------------------------------------------------------------------ other failures


@pytest.mark.parametrize("known", [{"md5": "0" * 32}, {"sha256": "0" * 64}, {"size": 3}])
def test_wrong_file_leaves_nothing(site: Site, tmp_path: Path, known: dict[str, str]) -> None:
    url = site.put("a.zip", BODY)
    with pytest.raises(DownloadError, match=r"is not the file expected: its .* instead of"):
        fetch(url, tmp_path / "a.zip", **known)  # type: ignore[arg-type]
    assert left_in(tmp_path) == []


def test_missing_file_leaves_nothing_not_even_an_old_part(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, cuts=[1_000])
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip", retries=0)
    del site.pages["/a.zip"]
    with pytest.raises(
        DownloadError, match="the server answered 404 Not Found; check the address, or get"
    ):
        fetch(url, tmp_path / "a.zip")
    assert left_in(tmp_path) == []
    assert len(site.requests) == 2  # a missing file is not asked for again


def test_passing_server_errors_are_tried_again(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, statuses=[503, 429, 0])
    fetch(url, tmp_path / "a.zip", sha256=SHA256, backoff=0)
    site.put("a.zip", BODY, statuses=[503, 503])
    with pytest.raises(DownloadError, match="the server answered 503 Service Unavailable, in 2"):
        fetch(url, tmp_path / "b.zip", retries=1, backoff=0)
    assert left_in(tmp_path) == ["a.zip"]


def test_pauses_grow(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    url = site.put("a.zip", BODY, statuses=[503] * 8)
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip", retries=7, backoff=1)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]


def test_silent_server_counts_as_cut(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY, stalls=[1_000, 1_000])
    with pytest.raises(DownloadError, match=r"the server fell silent for 0.2 s, in 2 tries; run"):
        fetch(url, tmp_path / "a.zip", timeout=0.2, retries=1, backoff=0)
    assert left_in(tmp_path) == ["a.zip.part", "a.zip.part.tag"]
    fetch(url, tmp_path / "a.zip", sha256=SHA256, timeout=5)
    assert site.ranges_asked() == [None, "bytes=1000-", "bytes=2000-"]


def test_server_that_never_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/a.zip"
        with pytest.raises(DownloadError, match=r"cannot reach .* \(no answer within 0.2 s\)"):
            fetch(url, tmp_path / "a.zip", timeout=0.2)
    assert left_in(tmp_path) == []


def test_refused_connection_keeps_a_part_that_can_be_resumed(site: Site, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/a.zip"
    with pytest.raises(DownloadError, match=r"cannot reach .*refused.*; check the connection"):
        fetch(url, tmp_path / "a.zip")
    assert left_in(tmp_path) == []
    (tmp_path / "a.zip.part").write_bytes(BODY[:10])
    (tmp_path / "a.zip.part.tag").write_text(f'{url}\n"v1"\n')
    with pytest.raises(DownloadError):
        fetch(url, tmp_path / "a.zip")
    assert left_in(tmp_path) == ["a.zip.part", "a.zip.part.tag"]


def test_full_disk_leaves_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk:
        """A file on a disk that takes 100,000 bytes."""

        def __init__(self, file: object) -> None:
            self.file, self.room = file, 100_000

        def write(self, chunk: bytes) -> int:
            self.room -= len(chunk)
            if self.room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self.file.write(chunk)  # type: ignore[attr-defined, no-any-return]

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

    opened = partial.PartialFile._locked
    monkeypatch.setattr(partial.PartialFile, "_locked", lambda self: FullDisk(opened(self)))
    url = site.put("a.zip", BODY)
    with pytest.raises(StorageError, match=r"cannot write .*a.zip: the disk is full; free some"):
        fetch(url, tmp_path / "a.zip")
    assert left_in(tmp_path) == []
    assert len(site.requests) == 1


def test_ctrl_c_leaves_a_part_that_the_next_call_goes_on_from(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended = partial.PartialFile.append

    def interrupted(part: partial.PartialFile, chunk: bytes) -> None:
        appended(part, chunk)
        raise KeyboardInterrupt

    url = site.put("a.zip", BODY)
    with monkeypatch.context() as patch:
        patch.setattr(partial.PartialFile, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch(url, tmp_path / "a.zip")
    assert left_in(tmp_path) == ["a.zip.part", "a.zip.part.tag"]
    size = (tmp_path / "a.zip.part").stat().st_size
    assert size > 0
    fetch(url, tmp_path / "a.zip", sha256=SHA256)
    assert site.ranges_asked() == [None, f"bytes={size}-"]
    assert left_in(tmp_path) == ["a.zip"]


def test_ctrl_c_without_a_version_leaves_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(part: partial.PartialFile, chunk: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(partial.PartialFile, "append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(site.put("a.zip", BODY, etag=None), tmp_path / "a.zip")
    assert left_in(tmp_path) == []


def test_folder_without_permission(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Path, *args: object, **kwargs: object) -> None:  # root may write anywhere
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(StorageError, match=r"permission denied; .* TRUERANK_CACHE"):
        fetch(site.put("a.zip", BODY), tmp_path / "new" / "a.zip")


@pytest.mark.skipif(partial.fcntl is None, reason="no advisory locks on this system")
def test_two_downloads_of_one_file_do_not_mix(site: Site, tmp_path: Path) -> None:
    url = site.put("a.zip", BODY)
    with (
        partial.PartialFile(tmp_path / "a.zip", url=url),
        pytest.raises(DownloadError, match=r"another process is already fetching .*; wait until"),
    ):
        fetch(url, tmp_path / "a.zip")
    assert fetch(url, tmp_path / "a.zip").read_bytes() == BODY


# ------------------------------------------------------------------ the bar


def test_bar_on_request_shows_name_and_speed(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    fetch(site.put("a.zip", BODY), tmp_path / "a.zip", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "a.zip" in err
    assert "512.0/512.0 kB" in err


def test_no_bar_when_nobody_looks(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fetch(site.put("a.zip", BODY), tmp_path / "a.zip")
    assert capfd.readouterr() == ("", "")


def test_terminal_gets_bar_and_busy_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_progress.sys.stderr, "isatty", lambda: True, raising=False)
    assert download_progress._shown(None)
    assert not download_progress._shown(False)
    with download_progress.busy("reading", True):
        pass
