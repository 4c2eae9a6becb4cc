"""Random and hostile command lines and archive files, through the real entry of the command line.

    python -m tests.support.cli_fuzz SEED COUNT FOLDER

Whatever is typed: never a traceback, never the exit code for a bug, on failure a message with a way out in printable
characters, and an archive that is what it was. Runs where there is no Java, so that nothing waits for Spark.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from os import chdir
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
from click.testing import CliRunner
from deltalake import write_deltalake

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tidewheel.cli import main
from tidewheel.commands import LEAVES
from tidewheel.commits.commit import create_table
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.receipts import Deed, Receipt
from tidewheel.indexing.errors import TidewheelError
from tidewheel.storage.location import Location

GOOD_FILE = """
[archive]
name = "tide"
path = "../tables/tide"
key = ["key"]
inserted_at = "at"
expires_at = "until"
clock = "data"

[time]
interval = "1h"
max_lifetime = "36h"

[layout]
expiration_classes = 4

[source]
path = "../batches/{slot}.json"
format = "json"
schema = "key string, at timestamp, until timestamp, size bigint"
"""
FIELDS = [column("key", "string"), column("at", "timestamp"), column("until", "timestamp"), column("size", "long")]
KINDS: list[type[TidewheelError]] = [TidewheelError, *TidewheelError.__subclasses__()]
EXIT_CODES = {kind.exit_code for kind in KINDS} - {1} | {0, 3}
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")

HOSTILE = (
    *(
        "",
        " ",
        "-",
        "--",
        "---",
        "-x",
        "--json=1",
        "'",
        '"',
        "`",
        "\\",
        ";",
        "$(id)",
        "`id`",
        "| id",
        "&& id",
        "*",
        "?",
    ),
    *("'; DROP TABLE live; --", "' OR 1=1 --", "{slot}", "{}", "%s", "%00", "%n", "${ENV:HOME}", "~", ".", "..", "/"),
    *("\n", "a\nError: b", "\r", "\t", "\x1b[2J", "\x1b]0;x\x07", "\x7f", "\x9b31m", "\u202e", "\u2028", "\ufeff"),
    *("é", "e\u0301", "😀", "Ω" * 50, "\udcff", "x" * 5_000, "../" * 30 + "etc/passwd", "/etc/passwd", "/dev/null/x"),
    *("~nobody-knows/x", "file://", "gs://b/x", "http://127.0.0.1:1/x", "NaN", "inf", "-1", "0", "1e999", "9" * 400),
    *("None", "null", "true", "[]", "{", "archives", "archives/tide.toml/", "tables", "tables/tide/_delta_log"),
)
MOMENTS = (
    *("2026-11-18", "2026-11-18T10:00Z", "1970-01-01", "1970-01-01T05:00Z", "1970-01-01T20:00+02:00", "0001-01-01"),
    *("9999-12-31T23:59:59.999999Z", "9999-12-31T23:00Z", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"),
    *("2026-02-30", "24:00", "2026-11-18T10:00", "now", "0000-00-00", "2026-W01-1", "20261118T100000Z"),
)
QUERIES = (
    *("select * from live", "select", "select * from live where", "from live", "delete from live", "1", "size > 1"),
    *("select read_text('/etc/passwd')", "attach ':memory:' as x", "copy live to 'x'", "select * from nowhere"),
    *("key = 5", "size = 'x'", "at > 5", "until + 1 > at", "size / 0 > 1", "sum(size) > 1", "size + key", "at = 'x'"),
    *("select make_timestamp_ns(1)", "select sum(key) from live", "select cast(key as int) from live", "[1] = size"),
    *("select stats(size) from live", "select variant_bytes_to_variant('x')", "current_setting('x') = key"),
    *("select error('x')", "select 1/0", "select cast('x' as int)", "select 'a\x1b[2J'", "key = 'a'", "(", "live"),
)
# What a path may lead to that is no archive.
PLACES = (
    *("/etc/passwd", "/dev/null", "/proc/self/mem", "/proc/self/fd", "/etc", "/", "places/pipe", "places/nowhere"),
    *("places/loop", "places/empty", "places/empty_log", "places/log_is_file", "places/garbage", "places/plain"),
    *(
        "places/unreadable",
        "places/no_json",
        "tables/tide/_delta_log",
        "tables/tide/_delta_log/x",
        "archives/tide.toml/",
    ),
)
INTEGERS = ("0", "1", "5", "-1", "10001", "9" * 30, "1.5", "1e3", "٣", "0x10", "")


class Fuzz:
    """A folder with a good archive, a damaged one and random files; everything runs in it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance, self.folder = random.Random(seed), folder
        self.codes: Counter[int] = Counter()
        (folder / "archives").mkdir(parents=True)
        (folder / "archives" / "tide.toml").write_text(GOOD_FILE)
        build(folder / "tables" / "tide")
        shutil.copytree(folder / "tables" / "tide", folder / "tables" / "damaged")
        next((folder / "tables" / "damaged").glob("**/*.parquet")).write_bytes(b"PAR1 no PAR1")
        build_places(folder)
        (folder / "archives" / "folder.toml").mkdir()
        (folder / "archives" / "loop.toml").symlink_to("loop.toml")
        shutil.copytree(folder / "tables", folder / "pristine")
        self.before = digest(folder / "tables")

    def play(self, inputs: int) -> Iterator[str]:
        """The faults found, in words."""
        for number in range(inputs):
            argv = self.command_line(number)
            result = CliRunner().invoke(main, argv)
            self.codes[result.exit_code] += 1
            for fault in self.faults(result.exit_code, result.stdout, result.stderr, "--json" in argv):
                yield f"input {number}: {fault}\n  argv {argv!r}\n  said {result.output[-1500:]!r}"
            if digest(self.folder / "tables") != self.before:
                if result.exit_code:
                    yield f"input {number}: failed and changed the archive\n  argv {argv!r}"
                shutil.rmtree(self.folder / "tables")
                shutil.copytree(self.folder / "pristine", self.folder / "tables")

    def faults(self, code: int, stdout: str, stderr: str, as_json: bool) -> Iterator[str]:
        if code not in EXIT_CODES:
            yield f"exit code {code}"
        if "Traceback" in stdout + stderr:
            yield "a traceback"
        if not code:
            return
        if "what to do: " not in stderr and "--help" not in stderr and not (as_json and remedy_of(stderr)):
            yield "no way out"
        if UNPRINTABLE.search(stderr):
            yield "unprintable characters"
        # What click says quotes lines as they were typed, by whoever types them.
        if "--help" not in stderr and any(line.startswith("Error: b") for line in stderr.splitlines()):
            yield "a line of the message is the input's"

    # What is typed.

    def command_line(self, number: int) -> list[str]:
        if self.chance.random() < 0.1:
            return [self.text() for _ in range(self.chance.randrange(7))]
        name = self.chance.choice([one for one in LEAVES if one != "demo"])
        command, argv = LEAVES[name], name.split()
        for param in command.params:
            argv += self.given(param)
        if self.chance.random() < 0.1:
            argv.insert(self.chance.randrange(1, len(argv) + 1), self.text())
        if self.chance.random() < 0.05:
            self.chance.shuffle(argv)
        return [one.replace("\0", "") for one in argv if one not in ("--debug", "--help", "-h")]

    def given(self, param: click.Parameter) -> list[str]:
        if isinstance(param, click.Argument):
            if param.name == "archive":
                return [self.archive()] if self.chance.random() < 0.95 else []
            return [self.value(param) for _ in range(self.chance.choice([0, 1, 1, 1, 2]))]
        chosen = 0.6 if param.required or param.name in ("slot", "through", "yes", "keys") else 0.15
        if self.chance.random() > chosen:
            return []
        name = self.chance.choice(param.opts)
        if isinstance(param, click.Option) and param.is_flag:
            return [name]
        values = [self.value(param) for _ in range(max(1, param.nargs))]
        if len(values) == 1 and self.chance.random() < 0.3 and name.startswith("--"):
            return [f"{name}={values[0]}"]
        return [name, *values]

    def value(self, param: click.Parameter) -> str:
        if isinstance(param.type, click.Path):
            # Never outside of the folder: what a path names is written.
            return self.chance.choice(
                ["out.csv", "no/such/folder/x", "tables", "archives/tide.toml/x", "a\x1b[2Jb", "ü"]
            )
        if self.chance.random() < 0.07:
            return self.text()
        if isinstance(param.type, click.Choice):
            return str(self.chance.choice([*param.type.choices] * 3 + ["other"]))
        if param.type.name in ("integer", "integer range", "float", "float range"):
            return self.chance.choice(INTEGERS)
        if param.type.name == "TIME":
            return (
                self.chance.choice(MOMENTS)
                if self.chance.random() < 0.5
                else f"1970-01-01T0{self.chance.randrange(10)}:00Z"
            )
        if param.name in ("query", "where"):
            return self.chance.choice(QUERIES)
        return self.chance.choice(["key", "size", "a", "key,size", "1h", "90m", "0:1", "1h:0.5,2h:0.5", self.text()])

    def archive(self) -> str:
        good = ["tide"] * 6 + ["archives/tide.toml", "tables/tide"] * 2
        if self.chance.random() < 0.15:
            return self.chance.choice(PLACES)
        # Asked for its keys again and again before it is given up: seconds each, so it is seldom.
        if self.chance.random() < 0.01:
            return "s3a://bucket/tide"
        bad = ["tables/damaged", "archives/folder.toml", "archives/loop.toml", "archives/random.toml", self.text()]
        chosen = self.chance.choice([*good, *bad, "archives/random.toml"])
        if chosen == "archives/random.toml":
            Path(chosen).write_bytes(self.archive_file())
        return chosen

    def text(self) -> str:
        if self.chance.random() < 0.7:
            return self.chance.choice(HOSTILE)
        return "".join(
            chr(self.chance.choice([*range(1, 256), 0x3A9, 0x1F600])) for _ in range(self.chance.randrange(12))
        )

    def archive_file(self) -> bytes:
        """The good file with something wrong, or no file at all."""
        if self.chance.random() < 0.1:
            return self.chance.randbytes(self.chance.randrange(200))
        lines = GOOD_FILE.splitlines()
        for _ in range(self.chance.randrange(1, 4)):
            at = self.chance.randrange(len(lines))
            name = lines[at].partition("=")[0]
            value = self.chance.choice([json.dumps(self.text()), self.text(), "1", "[]", "{}", "nan", "1979-05-27"])
            lines[at] = self.chance.choice([f"{name}= {value}", "", lines[at] + self.text(), lines[at - 1]])
        return "\n".join(lines).encode("utf-8", "surrogatepass")


def remedy_of(stderr: str) -> bool:
    try:
        return bool(json.loads(stderr)["error"]["remedy"])
    except ValueError:
        return False


def build(root: Path) -> None:
    """An archive of three slots, without Spark."""
    file = parse_archive_file(GOOD_FILE, "tide.toml")
    location = Location.of(root)
    root.parent.mkdir(exist_ok=True)
    receipt = Receipt(Deed.INIT, "run-0", 0, None, 0, 0)
    create_table(location, FIELDS, file.definition("salt"), receipt)
    table = BuiltTable(location, list(FIELDS))
    for slot in range(3):
        lives = [table.row(slot, (slot + life) * HOUR_US, key=f"k{life}", size=life) for life in (2, 5, 9)]
        table.append(lives, watermark=slot)


def build_places(folder: Path) -> None:
    """Everything that `PLACES` names below the folder."""
    places = folder / "places"
    for name in (
        "empty",
        "empty_log/_delta_log",
        "log_is_file",
        "garbage/_delta_log",
        "unreadable",
        "no_json/_delta_log",
    ):
        (places / name).mkdir(parents=True)
    os.mkfifo(places / "pipe")
    (places / "nowhere").symlink_to("not there")
    (places / "loop").symlink_to("loop")
    (places / "log_is_file" / "_delta_log").write_bytes(b"x")
    (places / "garbage" / "_delta_log" / f"{0:020d}.json").write_bytes(b"\x00\xff{")
    (places / "no_json" / "_delta_log" / f"{0:020d}.json").write_text('{"add": 1}\n')
    (places / "unreadable" / "_delta_log").symlink_to("/proc/1/root")
    write_deltalake(places / "plain", pa.table({"key": ["a"]}))


def digest(folder: Path) -> str:
    """What lies in a folder; places in the queue come and go."""
    found = sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()


def run(seed: int, inputs: int, folder: Path, say: Callable[[str], Any] = print) -> int:
    fuzz = Fuzz(seed, folder)
    chdir(folder)
    faults = 0
    for faults, fault in zip(count(1), fuzz.play(inputs), strict=False):  # noqa: B007
        say(fault)
    say(f"seed {seed}: {inputs} command lines, exit codes {dict(sorted(fuzz.codes.items()))}, {faults} faults")
    return faults


if __name__ == "__main__":
    sys.exit(min(1, run(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
