"""A proxy before an S3 server that loses answers: the request was carried out, and the client hears of a failure.

And then, if told so, nobody hears anything any more but failures, or nothing at all, until the store is back.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Away(StrEnum):
    """How a store behaves that cannot be reached."""

    FAILS = "answers 500"
    HANGS_UP = "closes the connection"
    IS_SILENT = "never answers"


@dataclass
class LossyProxy:
    """Answers 500 to the next `losses` requests that are of a method and have a text in their path.

    With `then`, the store is away from the first of these on, for whatever is asked, until `comes_back`.
    """

    endpoint: str = ""
    method: str = "PUT"
    contains: str = ""
    losses: int = 0
    lost: list[str] = field(default_factory=list)
    then: Away | None = None
    is_back: threading.Event = field(default_factory=threading.Event)

    @property
    def away(self) -> Away | None:
        return self.then if self.lost and not self.is_back.is_set() else None

    def goes(self, how: Away) -> None:
        self.then, self.is_back = how, threading.Event()
        self.lost.append("everything")

    def comes_back(self) -> None:
        self.is_back.set()

    def loses(self, method: str, path: str) -> bool:
        if self.losses == 0 or method != self.method or self.contains not in path:
            return False
        self.losses -= 1
        self.lost.append(path)
        return True


@contextmanager
def lossy_proxy(endpoint: str) -> Iterator[LossyProxy]:
    """A proxy that passes everything on until it is told to lose something."""
    proxy = LossyProxy()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy, urlsplit(endpoint).netloc))
    proxy.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.comes_back()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(proxy: LossyProxy, target: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.body()
            if proxy.away:
                self.fail(proxy.away)
                return
            upstream = http.client.HTTPConnection(target)
            # All headers as they came, the signed `Host` among them.
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            if proxy.loses(self.command, self.path):
                self.fail(proxy.away or Away.FAILS)
            else:
                self.reply(answer.status, dict(answer.getheaders()), content)

        def body(self) -> bytes:
            """The body as it came, chunks in their frames."""
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            frames: list[bytes] = []
            while not frames or int(frames[-1].partition(b";")[0], 16):
                size = self.rfile.readline()
                frames += [self.rfile.read(int(size.partition(b";")[0], 16) + 2), size]
            return b"".join(frame for at in range(0, len(frames), 2) for frame in (frames[at + 1], frames[at]))

        def fail(self, how: Away) -> None:
            match how:
                case Away.FAILS:
                    self.reply(500, {}, b"")
                case Away.HANGS_UP:
                    self.close_connection = True
                case Away.IS_SILENT:
                    proxy.is_back.wait()
                    self.close_connection = True

        def reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = headers.get("Content-Length") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler
