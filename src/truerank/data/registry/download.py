"""Fetch one file over HTTP, resuming after a cut; the final name only ever holds a whole file."""

from __future__ import annotations

import time
from email.message import Message
from http.client import HTTPException, RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    FileHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from truerank.data.registry.checksum import mismatch
from truerank.data.registry.download_progress import Show, transfer_bar
from truerank.data.registry.partial import PartialFile
from truerank.errors import DownloadError, InvalidArgumentError

CHUNK = 1 << 16
LONGEST_PAUSE = 30.0
PASSING_STATUS = frozenset({408, 429, 500, 502, 503, 504})
"""Answers that another try may change."""


class _CutError(Exception):
    """The transfer broke off in a way that another try may mend; the message says how."""


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    timeout: float = 30.0,
    retries: int = 5,
    backoff: float = 0.5,
    progress: bool | None = None,
) -> Path:
    """Download ``url`` to ``target``.

    Bytes arrive in ``<target>.part`` and get their final name after length and checksums agree.
    After a cut the rest is asked for with HTTP ``Range``, provided that the server still has the
    same version (``If-Range`` with its ETag or date); else the file starts again. When every try
    was cut, or on Ctrl-C, the part stays for the next call to go on from, if the server named
    its version; in every other failure nothing stays.

    Args:
        url: An ``http``, ``https`` or ``file`` address.
        target: The file to write; its folder is made.
        sha256: Expected SHA-256 in hex, or None where nobody published one.
        md5: Expected MD5 in hex, likewise; where both are given, both must agree.
        size: Expected number of bytes, or None to trust the server's ``Content-Length``.
        timeout: Seconds without a byte before the server counts as silent.
        retries: Further tries after a cut, a stall, or a passing server error.
        backoff: Seconds before the first retry; doubled each time, at most half a minute.
        progress: Draw a bar on stderr; None means when stderr is a terminal.

    Raises:
        DownloadError: The file cannot be had, or is not the one expected.
        StorageError: It cannot be written here.
    """
    scheme = urlsplit(url).scheme
    if scheme not in ("http", "https", "file"):
        raise InvalidArgumentError("url", url, "an http, https or file address")
    with PartialFile(target, url=url) as part:
        with transfer_bar(target.name, progress) as show:
            for attempt in range(retries + 1):
                try:
                    _transfer(url, part, timeout=timeout, show=show)
                    break
                except _CutError as cut:
                    if attempt == retries:
                        raise DownloadError(_gave_up(url, str(cut), part, retries)) from cut
                    time.sleep(min(backoff * 2**attempt, LONGEST_PAUSE))
        _verify(part, size=size, md5=md5, sha256=sha256)
        part.finish()
    return target


def _transfer(url: str, part: PartialFile, *, timeout: float, show: Show) -> None:
    """One request, from where the part ends, to the end of the file."""
    with _answer(url, part, timeout=timeout) as response:
        start = part.size if response.status == 206 else 0
        total = _total(response.headers, start)
        if start == 0:
            part.restart(_validator(response.headers))
        done = start
        show(done, total)
        try:
            while chunk := _read(response, done, total, timeout=timeout):
                part.append(chunk)
                done += len(chunk)
                show(done, total)
        finally:
            part.flush()
    if total is not None and done < total:
        raise _CutError(f"the connection was cut after {done:,} of {total:,} bytes")


def _read(response: Any, done: int, total: int | None, *, timeout: float) -> bytes:
    """The next bytes, none at the end."""
    try:
        # read1 hands over what has arrived; read would hold it back, and lose it in a cut.
        return bytes(response.read1(CHUNK if total is None else min(CHUNK, total - done)))
    except TimeoutError as error:
        raise _CutError(f"the server fell silent for {timeout:g} s") from error
    except (OSError, HTTPException) as error:
        raise _CutError(f"the connection was cut after {done:,} bytes") from error


def _answer(url: str, part: PartialFile, *, timeout: float) -> Any:
    """The response for the rest of the file, or for all of it where the rest cannot be had."""
    if part.validator and part.size:
        wanted = {"Range": f"bytes={part.size}-", "If-Range": part.validator}
        response = _ask(url, part, timeout=timeout, headers=wanted)
        if response is not None:
            if response.status != 206 or _continues(response.headers, part):
                return response
            response.close()
        part.restart(None)
    return _ask(url, part, timeout=timeout, headers={})


def _ask(url: str, part: PartialFile, *, timeout: float, headers: dict[str, str]) -> Any:
    """One response, None if the range asked for is past the end, or the reason why not."""
    plain = {"User-Agent": "truerank", "Accept-Encoding": "identity"}
    try:
        return _opener().open(Request(url, headers=plain | headers), timeout=timeout)  # noqa: S310
    except HTTPError as error:
        error.close()
        if error.code == 416 and "Range" in headers:
            return None
        if error.code in PASSING_STATUS:
            raise _CutError(f"the server answered {error.code} {error.reason}") from error
        part.discard()
        raise DownloadError(
            f"cannot fetch {url}: the server answered {error.code} {error.reason}; "
            "check the address, or get the file by hand"
        ) from error
    except RemoteDisconnected as error:
        raise _CutError("the server hung up without an answer") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            reason = f"no answer within {timeout:g} s"
        raise DownloadError(
            f"cannot reach {url} ({reason}); check the connection, or get the file by hand"
        ) from error


def _opener() -> OpenerDirector:
    """Only the schemes we promise, so that a redirect cannot leave them (urllib's own adds ftp)."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        FileHandler(),
        UnknownHandler(),
        HTTPRedirectHandler(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _validator(headers: Message) -> str | None:
    """What ``If-Range`` may carry: a strong ETag, else a date, else nothing (RFC 9110, 13.1.5)."""
    etag = headers.get("ETag")
    if etag is not None:
        return None if etag.startswith("W/") else str(etag)
    date = headers.get("Last-Modified")
    return None if date is None else str(date)


def _continues(headers: Message, part: PartialFile) -> bool:
    """Whether a 206 answer is the rest of what is on disk."""
    at = str(headers.get("Content-Range", "")).removeprefix("bytes ").partition("-")[0]
    return at == str(part.size) and _validator(headers) in (None, part.validator)


def _total(headers: Message, start: int) -> int | None:
    """Bytes of the whole file, None where the server does not say."""
    whole = str(headers.get("Content-Range", "")).rpartition("/")[2]
    if start and whole.isdigit():
        return int(whole)
    rest = str(headers.get("Content-Length", ""))
    return start + int(rest) if rest.isdigit() else None


def _verify(part: PartialFile, *, size: int | None, md5: str | None, sha256: str | None) -> None:
    """Compare with what is expected; a file that is not it does not stay."""
    wrong = mismatch(part.path, size=size, md5=md5, sha256=sha256)
    if wrong:
        part.discard()
        raise DownloadError(
            f"{part.url} is not the file expected: {wrong}; try again, or get the file elsewhere"
        )


def _gave_up(url: str, cut: str, part: PartialFile, retries: int) -> str:
    tries = "1 try" if retries == 0 else f"{retries + 1} tries"
    after = (
        f"run it again to go on from byte {part.size:,}" if part.validator else "try again later"
    )
    return f"cannot fetch {url}: {cut}, in {tries}; {after}"
