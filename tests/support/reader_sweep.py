"""The sweep over readers: an archive for each type of key, the questions, and which answers are wrong."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.old_archives.contents import KEY_KINDS, KeyKind
from tests.readers.ask import Question
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.core.slots import moment
from tidewheel.jobs.update import update
from tidewheel.sql.published.published_views import DIALECTS, published_view

ASK = Path(__file__).parent.parent / "readers" / "ask.py"
SLOTS = 2
MORE_KEYS = 200
WORDS = ("UA", "AA", "it's")
BODY_MAX = 1_000_000
Row = dict[str, Any]
_MORE: Mapping[str, Callable[[random.Random], Any]] = {
    "string": lambda chance: f"key {chance.randrange(10**9)}",
    "int": lambda chance: chance.randrange(-(2**31), 2**31),
    "long": lambda chance: chance.randrange(-(2**63), 2**63),
    "short": lambda chance: chance.randrange(-(2**15), 2**15),
    "byte": lambda chance: chance.randrange(-128, 128),
    "date": lambda chance: date(1900, 1, 1) + timedelta(days=chance.randrange(80_000)),
    "timestamp": lambda chance: datetime(1900, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(10**16)),
    "binary": lambda chance: chance.randbytes(8),
    "float": lambda chance: chance.randrange(-(2**20), 2**20) / 8,
    "double": lambda chance: chance.uniform(-1e9, 1e9),
    "decimal": lambda chance: Decimal(chance.randrange(-(10**30), 10**30)).scaleb(-18),
    "boolean": lambda chance: chance.random() < 0.5,
}


@dataclass
class SweptArchive(SmallArchive):
    """An archive with a key of one type, a struct before the other columns, and rows that are all alive."""

    kind: KeyKind = KEY_KINDS["string"]

    @property
    def file(self) -> ArchiveFile:
        file = super().file
        schema = (
            f"key {self.kind.spark}, deep struct<n: bigint, names: array<string>>, body bigint, word string, "
            "ratio double, ins timestamp, until timestamp"
        )
        return replace(file, source=replace(file.source, schema=schema))

    def bring(self, slot: int, rows: Sequence[Row]) -> None:
        deep = pa.struct([("n", pa.int64()), ("names", pa.list_(pa.string()))])
        times = pa.timestamp("us", "UTC")
        kinds = {"key": self.kind.arrow, "deep": deep, "body": pa.int64(), "word": pa.string()}
        schema = pa.schema(list((kinds | {"ratio": pa.float64(), "ins": times, "until": times}).items()))
        path = self.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
        update(self.job, [slot], confirmed=EVERYTHING)


@dataclass
class Swept:
    """An archive with its rows and the questions about it, as `tests/readers/ask.py` takes them from a folder."""

    name: str
    archive: SweptArchive
    rows: list[Row]
    values: list[Any]
    questions: list[Question]

    @property
    def folder(self) -> Path:
        return self.archive.folder

    def write(self) -> None:
        """The questions as the table is now."""
        snapshot = self.archive.snapshot()
        self.archive.job.table.write_checkpoint(snapshot)
        views = {dialect: published_view(snapshot, dialect) for dialect in DIALECTS}
        files = [snapshot.location.child(fact.path) for fact in snapshot.files]
        told = {"table": snapshot.location.uri, "files": files, "views": views, "questions": self.questions}
        (self.folder / "questions.json").write_text(json.dumps(told))
        pq.write_table(
            pa.table({"key": pa.array(self.values, self.archive.kind.arrow)}), self.folder / "values.parquet"
        )

    def wrong(self, answers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Each question with rows that are missing or do not belong, or with an error."""
        assert len(answers) == len(self.questions)
        faults = []
        for question, answer in zip(self.questions, answers, strict=True):
            said = f"{self.name}: {question['column']} {question['op']} {self._args(question)}"
            if "error" in answer:
                faults.append(f"{said}: {answer['error']}")
            elif answer["found"] != answer["in_memory"] or answer["found"] != (
                answer["found"] if (expected := self._expected(question)) is None else expected
            ):
                faults.append(f"{said}: {len(answer['found'])} rows, {len(answer['in_memory'])} in memory")
        return faults

    def _args(self, question: Question) -> str:
        return str([self.values[at] for at in question["args"]] if question["column"] == "key" else question["args"])[
            :99
        ]

    def _expected(self, question: Question) -> list[int] | None:
        """The bodies by Python's own comparison; of floating point each reader has its own."""
        if question["column"] == "g" or (question["column"] == "key" and self.name in ("float", "double")):
            return None
        args = [self.values[at] for at in question["args"]] if question["column"] == "key" else question["args"]
        holds: dict[str, Callable[[Any], bool]] = {
            "=": lambda value: value == args[0],
            ">": lambda value: value > args[0],
            "<": lambda value: value < args[0],
            "in": lambda value: value in args,
            "range": lambda value: args[0] <= value < args[1],
        }
        return sorted(row["body"] for row in self.rows if holds[question["op"]](row[question["column"]]))


def swept(name: str, folder: Path, *, more_keys: int = MORE_KEYS, seed: int = 1) -> Swept:
    """An archive of a type of key with its rows, and questions about all kinds of predicates."""
    chance = random.Random(f"{name}:{seed}")
    kind = KEY_KINDS[name]
    specials = pa.array(kind.values, kind.arrow).to_pylist()
    values = specials + [_MORE[name](chance) for _ in range(more_keys)]
    archive = SweptArchive(folder, generation_of("round_robin", 2, 2), kind=kind)
    archive.create()
    rows = []
    for slot in range(SLOTS):
        batch = [_row(archive, slot, number, value, chance) for number, value in enumerate(values)]
        archive.bring(slot, batch)
        rows += batch
    made = Swept(name, archive, rows, values, list(_questions(len(specials), len(values))))
    made.write()
    return made


def _row(archive: SweptArchive, slot: int, number: int, key: Any, chance: random.Random) -> Row:
    start_us = archive.axis.start_us(slot)
    body = slot * 10_000 + number
    deep = None if number % 3 == 0 else {"n": number, "names": ["a"]}
    until_us = start_us + chance.choice((2, 3)) * archive.axis.interval_us + 2
    times = {"ins": moment(start_us + 1), "until": moment(until_us)}
    ratio = (float("nan"), 0.0, -0.0, 1.5)[number % 4]
    return {"key": key, "deep": deep, "body": body, "word": WORDS[number % 3], "ratio": ratio, **times}


def _questions(specials: int, values: int) -> list[Question]:
    chance = random.Random(specials * values)
    others = [chance.randrange(specials, values) for _ in range(8)] if values > specials else []
    keys = [*range(specials), *others]
    found: list[Question] = [{"column": "key", "op": "=", "args": [at]} for at in keys]
    found += [{"column": "key", "op": op, "args": [at]} for at in keys[: specials + 2] for op in "<>"]
    # Some readers ask a Bloom filter for few values and not for many.
    found += [{"column": "key", "op": "in", "args": chance.choices(keys, k=size)} for size in (2, 3, 4, 5, 9, 17, 25)]
    found += [{"column": "key", "op": "range", "args": chance.choices(keys, k=2)} for _ in range(4)]
    found += [{"column": "word", "op": "=", "args": [word]} for word in (*WORDS, "nobody")]
    found += [{"column": "word", "op": "in", "args": ["UA", "AA"]}, {"column": "word", "op": ">", "args": ["B"]}]
    found += [{"column": "body", "op": "=", "args": [3]}, {"column": "body", "op": "range", "args": [0, BODY_MAX]}]
    found += [{"column": "g", "op": "=", "args": [at]} for at in (0, 1)]
    return found


@dataclass(frozen=True)
class Environment:
    """Another Python environment, made from PyPI for the occasion."""

    name: str
    packages: tuple[str, ...]
    readers: tuple[str, ...]

    def made(self, folder: Path) -> Path:
        """Its Python. Cost: a download, unless uv has it."""
        uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
        python = folder / self.name / "bin" / "python"
        subprocess.run([uv, "venv", "-q", folder / self.name, "--python", sys.executable], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *self.packages], check=True)
        return python


def asked_elsewhere(python: Path, reader: str, one: Swept) -> list[dict[str, Any]]:
    """The answers of a reader in another environment."""
    answer = one.folder / f"{reader}.json"
    answer.unlink(missing_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, ASK, reader, one.folder, reader], capture_output=True, text=True, check=False, env=environment
    )
    # Some readers end badly after they have answered.
    if not answer.exists():
        return [{"error": done.stderr[-300:]}] * len(one.questions)
    found: list[dict[str, Any]] = json.loads(answer.read_text())
    return found
