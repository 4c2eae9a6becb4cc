"""Whatever a batch, a name or a path contains, it stays that: no SQL, no command, no file elsewhere, no line of a log.

Values in keys and columns of every type are attacked in test_awkward_values, analysts' queries in test_sql_sandbox,
command lines in test_cli_fuzz.
"""

from __future__ import annotations

import ast
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.archives.built_table import HOUR_US, BuiltTable
from tests.support.archives.columns import column
from tests.support.archives.small_archive import EVERYTHING, SmallArchive, generation_of
from tests.support.archives.toml_archives import TomlArchive
from tidewheel.cli import main
from tidewheel.commits.operations.forget import forget
from tidewheel.indexing.archive_file.read import parse_archive_file
from tidewheel.indexing.core.definition import ArchiveFile
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import printable, printable_lines
from tidewheel.jobs.create import create
from tidewheel.jobs.update import update
from tidewheel.sql.reader import Reader
from tidewheel.views.rows import rows_view

ROOT = Path(__file__).parent.parent.parent
FORGERIES = (
    "a\nError: the archive is damaged",
    "a\r\n2026-11-18 INFO all is well",
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\here",
    "\x9b31m",
    "\u202egnihton",
    "a\u2028b\u2029c",
    "a\0b",
    "\udcff",
    "\x08\x08\x08",
)
# What Parquet takes as a name of a column, and SQL or a template might take for something else.
COLUMNS = (
    "it's",
    'say"it',
    "a`b",
    "$1",
    "%s",
    "--",
    "/*",
    "''",
    "\\",
    "ü😀",
    "select",
    "a.b",
    "x:y",
    "[0]",
    "<b>",
    "*",
)


@pytest.mark.parametrize("text", FORGERIES)
def test_a_message_is_told_in_its_own_lines(text: str, caplog: pytest.LogCaptureFixture) -> None:
    error = InvalidInput(f"the file {text} cannot be read:\n  first\n  second", f"rename {text}")
    assert [line[:2] for line in str(error).split("\n")[1:]] == ["  "] * 3
    assert printable_lines(str(error)) == str(error)
    assert printable(printable(text)) == printable(text) != text
    logging.getLogger("tests").warning("told: %s", error.message)
    assert len(caplog.records[0].getMessage().splitlines()) == 3


@pytest.mark.parametrize("text", [text for text in FORGERIES if text != "\udcff"])
def test_a_value_is_shown_in_its_own_cell(tmp_path: Path, text: str) -> None:
    table = BuiltTable.create(tmp_path / "t", [column("key", "string")], ["key"])
    table.append([table.row(0, 9 * HOUR_US, key=text)], watermark=0)
    with Reader.open(tmp_path / "t", now_us=lambda: 0) as reader:
        view, rows, _ = rows_view(reader.scan())
        console = Console(record=True, force_terminal=True, color_system=None, width=200)
        with console.capture() as captured:
            console.print(view)
        assert (rows, reader.scan().rows()) == (1, [(text,)])
    assert printable(text) in captured.get()
    assert text not in captured.get()


@pytest.mark.parametrize(
    "name", [*FORGERIES, "../up", "a/b", "/etc/passwd", "..", "$(id)", "a;b", "a'b", 'a"b', "-x", ""]
)
def test_an_archive_is_named_by_a_plain_word(name: str) -> None:
    text = (ROOT / "archives" / "netflow.toml").read_text().replace('"netflow"', _toml(name))
    with pytest.raises(InvalidInput, match=r"\[archive\] name|not TOML"):
        parse_archive_file(text, "netflow.toml")


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "*"])
def test_a_column_of_any_name_is_read_as_a_column(tmp_path: Path, name: str) -> None:
    table = BuiltTable.create(tmp_path / "t", [column("key", "string"), column(name, "string")], ["key"])
    table.append([table.row(0, 9 * HOUR_US, **{"key": "k", name: "v"})], watermark=0)
    with Reader.open(tmp_path / "t", now_us=lambda: 0) as reader:
        for result in (reader.probe("k"), reader.scan(columns=["key", name]), reader.sql("select * from live")):
            assert result.dicts()[0].items() >= {"key": "k", name: "v"}.items()


@dataclass
class NamesArchive(SmallArchive):
    """A batch whose columns bear hostile names; the key is one of them."""

    key: str = "$1"

    @property
    def file(self) -> ArchiveFile:
        file = super().file
        return replace(file, key=(self.key,), source=replace(file.source, schema=""))

    def bring(self, slot: int, names: tuple[str, ...], rows: int = 6) -> None:
        bare = self.table_of([])
        columns = {name: [f"{name} {n}" for n in range(rows)] for name in names}
        table = pa.table(columns).append_column(
            "ins", pa.array([self._at(slot, 1)] * rows, bare.schema.field("ins").type)
        )
        until = [self._at(slot, 60 * 10**6 * (1 + n % 3) + 2) for n in range(rows)]
        table = table.append_column("until", pa.array(until, bare.schema.field("until").type))
        path = self.folder / "source" / f"{slot}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path)

    def _at(self, slot: int, offset_us: int) -> int:
        return self.axis.start_us(slot) + offset_us


@pytest.mark.usefixtures("spark")
def test_hostile_names_of_columns_go_through_every_job(tmp_path: Path) -> None:
    """In a folder that a shell would take apart."""
    folder = tmp_path / "a b'c;$(touch pwned)`touch pwned`&|<>#"
    folder.mkdir()
    archive = NamesArchive(folder, generation_of("round_robin", 1, 1))
    archive.bring(0, COLUMNS)
    create(archive.job, 0)
    for slot in (0, 1, 2):
        archive.bring(slot, COLUMNS)
        update(archive.job, [slot], confirmed=EVERYTHING)
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        before = reader.scan().dicts()
        assert {tuple(row[name] for name in COLUMNS) for row in before} <= {
            tuple(f"{name} {n}" for name in COLUMNS) for n in range(6)
        }
        assert len(before) == 2 + 4 + 6
    forget(archive.job, keys=[("$1 5",)])
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader:
        assert len(reader.scan().rows()) == len(before) - 3
    assert not list(tmp_path.rglob("pwned"))
    assert not (ROOT / "pwned").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ["a\x1bb", "a\nb", "a b", "a;b", "a\u202eb"])
def test_a_name_that_could_not_be_told_is_refused(tmp_path: Path, name: str) -> None:
    archive = NamesArchive(tmp_path, generation_of())
    archive.bring(0, ("$1", name))
    with pytest.raises(InvalidInput, match="column names with characters") as refused:
        create(archive.job, 0)
    assert printable_lines(str(refused.value)) == str(refused.value)
    assert not (tmp_path / "table").exists()


def test_no_program_is_started_by_a_shell() -> None:
    """Nothing to be quoted, nothing to escape from."""
    rooms = (
        "indexing",
        "queries",
        "storage",
        "commits",
        "local",
        "jobs",
        "sql",
        "dags",
        "playground",
        "tidewheel",
        "scripts",
    )
    for path in (path for room in rooms for path in (ROOT / room).rglob("*.py")):
        text = path.read_text()
        assert not re.search(r"shell\s*=\s*True|os\.(system|popen)\(|getoutput\(", text), path
        calls = {node.func.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)
                 and isinstance(node.func, ast.Name)}  # fmt: skip
        assert not calls & {"eval", "exec", "compile"}, path


def test_a_log_that_names_files_elsewhere_leads_nowhere(tmp_path: Path) -> None:
    """Who writes the log can write the archive; still, what vacuum deletes and readers open lies below the root."""
    victim = tmp_path / "victim.parquet"
    table = BuiltTable.create(tmp_path / "t", [column("key", "string")], ["key"])
    table.append([table.row(0, 9 * HOUR_US, key="a")], watermark=0)
    pq.write_table(pa.table({"key": ["secret"]}), victim)
    entry = tmp_path / "t" / "_delta_log" / f"{1:020d}.json"
    inside = next(iter(table.rows_by_file))
    for outside in ("../victim.parquet", str(victim), f"file://{victim}"):
        entry.write_text(entry.read_text().replace(inside, outside))
        result = CliRunner().invoke(main, ["scan", str(tmp_path / "t"), "--format", "csv"])
        assert result.exit_code in (2, 6), result.output
        assert "secret" not in result.output
        CliRunner().invoke(main, ["vacuum", str(tmp_path / "t")])
        assert victim.exists()
        entry.write_text(entry.read_text().replace(outside, inside))


def test_the_file_of_an_archive_is_not_run_by_reading_it(tmp_path: Path) -> None:
    tide = TomlArchive(tmp_path)
    tide.write_file()
    text = tide.path.read_text().replace("[source]\n", '[source]\ncallable = "os:getcwd"\n')
    tide.path.write_text(text)
    for command in (["status"], ["history"], ["scan"], ["expire"]):
        result = CliRunner().invoke(main, [*command, str(tide.path)])
        assert result.exit_code == 2, result.output


def _toml(text: str) -> str:
    escaped = "".join(f"\\u{ord(one):04X}" if ord(one) < 0xFFFF and not one.isalnum() else one for one in text)
    return f'"{escaped}"'
