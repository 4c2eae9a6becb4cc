"""Object stores that are down, refuse or are something else: told as that, never as damage and never as a bug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from click.testing import CliRunner

from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput, TidewheelError, Unavailable
from tidewheel.storage.machine import machine_fault

COMMANDS = (
    ["probe", "k"], ["scan"], ["sql", "select 1"], ["status"], ["history"], ["audit", "--quick"],
    ["advise"], ["forecast"], ["update", "--slot", "2026-11-18"], ["expire"], ["forget", "--key", "k", "--yes"],
    ["undo", "--yes"], ["vacuum"], ["migrate"], ["backfill", "--missing"],
)  # fmt: skip


@contextmanager
def store(status: int, body: str) -> Iterator[str]:
    """Something that answers everything alike."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body.encode())

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Not in the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "words"),
    [
        (403, "AccessDenied", 2, "does not accept the keys"),
        (403, "InvalidAccessKeyId", 2, "AWS_ACCESS_KEY_ID"),
        (404, "NoSuchBucket", 2, "create the bucket"),
        (404, "NoSuchKey", 8, "AWS_ENDPOINT_URL"),
        (301, "PermanentRedirect", 8, "AWS_ENDPOINT_URL"),
        (200, "Welcome", 2, "no archive at"),
    ],
)
def test_what_a_store_answers(
    status: int, code: str, exit_code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>") as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        answer = CliRunner().invoke(main, ["status", "s3a://bucket/table"])
    assert answer.exit_code == exit_code, answer.output
    assert words in answer.stderr
    assert "\x1b" not in answer.stderr
    assert "\\x1b" not in answer.stderr


def refused(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing listens on port 1.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    answer = CliRunner().invoke(main, [command[0], "s3a://bucket/table", *command[1:]])
    assert answer.exit_code == 8, answer.output
    assert "the other side does not answer" in answer.stderr
    assert "AWS_ENDPOINT_URL" in answer.stderr


def test_a_store_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(["status"], monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_on_a_store_that_is_down(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    refused(command, monkeypatch)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "PSQLException: Connection to 127.0.0.1:1 refused. The connection attempt failed",
            Unavailable,
        ),
        ("java.net.UnknownHostException: nowhere", Unavailable),
        ("software.amazon.awssdk.services.s3.model.S3Exception: no (Service: S3, Status Code: 403)", InvalidInput),
        ("Error performing PUT http://169.254.169.254/latest/api/token: error sending request", InvalidInput),
    ],
)
def test_what_java_and_others_say(text: str, kind: type[TidewheelError]) -> None:
    fault = machine_fault(text, "while reading")
    assert type(fault) is kind
