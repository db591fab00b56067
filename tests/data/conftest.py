"""A web server on loopback that misbehaves on demand, and folders for the registry."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass
class Page:
    """One file on the server, and how it is served.

    Attributes:
        body: Its bytes.
        etag: Its version, None for a server that names none.
        date: ``Last-Modified``, None for none.
        ranges: Whether ``Range`` is understood.
        heeds_if_range: Whether a range of another version is refused, as it should be.
        cuts: For each request in turn, after how many bytes of the answer the line goes dead.
        stalls: Like ``cuts``, but the line stays open and silent.
        statuses: For each request in turn, another status to answer with (0: the usual one).
        length: A wrong ``Content-Length``, or -1 for none at all.
        location: Where an answer with one of the ``statuses`` points to.
        shift: Bytes by which the server misses the start of a range.
    """

    body: bytes
    etag: str | None = '"v1"'
    date: str | None = None
    ranges: bool = True
    heeds_if_range: bool = True
    cuts: list[int] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    length: int | None = None
    location: str | None = None
    shift: int = 0


@dataclass
class Site:
    """The server's files, and what it was asked."""

    url: str = ""
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def put(self, path: str, body: bytes, **how: object) -> str:
        self.pages[f"/{path}"] = Page(body, **how)  # type: ignore[arg-type]
        return f"{self.url}/{path}"

    def ranges_asked(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.requests]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append((self.path, dict(self.headers)))
            page = site.pages.get(self.path)
            if page is None:
                self.send_error(404)
                return
            if page.statuses and (status := page.statuses.pop(0)):
                self.send_response(status)
                if page.location:
                    self.send_header("Location", page.location)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer(page, self._start(page))

        def _start(self, page: Page) -> int | None:
            asked = self.headers.get("Range")
            if asked is None or not page.ranges:
                return None
            known = (None, page.etag, page.date)
            if page.heeds_if_range and self.headers.get("If-Range") not in known:
                return None
            return int(asked.removeprefix("bytes=").removesuffix("-"))

        def _answer(self, page: Page, start: int | None) -> None:
            if start is not None and start >= len(page.body):
                self.send_error(416)
                return
            self.send_response(200 if start is None else 206)
            start = 0 if start is None else start + page.shift
            body = page.body[start:]
            if page.length != -1:
                self.send_header("Content-Length", str(page.length or len(body)))
            if start:
                total = len(page.body)
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            for name, value in (("ETag", page.etag), ("Last-Modified", page.date)):
                if value is not None:
                    self.send_header(name, value)
            self.end_headers()
            cut = page.cuts.pop(0) if page.cuts else None
            stall = page.stalls.pop(0) if page.stalls else None
            self.wfile.write(body[: cut if stall is None else stall])
            self.wfile.flush()
            if stall is not None:
                site.closing.wait(10)

        def log_message(self, *args: object) -> None:
            """Keep the test output clean."""

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield site
    site.closing.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty folder for TRUERANK_DATA and one for the cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("TRUERANK_DATA", str(data))
    monkeypatch.setenv("TRUERANK_CACHE", str(cache))
    monkeypatch.delenv("TRUERANK_OFFLINE", raising=False)
    return data, cache


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", forbidden)
