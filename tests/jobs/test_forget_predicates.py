"""Predicates of forget: refused with their columns when they are no condition, and never told as a bug or a success."""

from __future__ import annotations

import json
import random
from io import StringIO
from logging import StreamHandler
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.logger import PySparkLogger

from tests.jobs.test_policies import write_raw
from tests.support.archives.small_archive import SmallArchive, generation_of
from tidewheel.cli import main
from tidewheel.commits.operations.forget import forget
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.commits.status import status
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.update import update

pytestmark = pytest.mark.usefixtures("spark")
SPAN = 4


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> SmallArchive:
    """Five records, two of them in the quarantine."""
    made = SmallArchive(tmp_path_factory.mktemp("predicates"), generation_of(span=SPAN), SPAN).create()
    write_raw(made, 0, [("a", 1, 0, 200), ("b", 2, 0, 200), ("5", 3, 0, 200), ("x", 4, 0, None), ("a", 9, 0, None)])
    update(made.job, [0])
    return made


def forgotten(archive: SmallArchive, where: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["forget", str(archive.folder / "table"), "--where", where, *options])


WRONG = {
    "key = 5": "CAST_INVALID_INPUT",
    "body / (body - 2) > 1": "DIVIDE_BY_ZERO",
    "to_date(key) > '2020-01-01'": "CAST_INVALID_INPUT",
    "body": "not a boolean",
    "null": "not a boolean",
    "nothing = 1": "UNRESOLVED_COLUMN",
    "__tw_path = 'x'": "UNRESOLVED_COLUMN",
    "_metadata.file_path = 'x'": "UNRESOLVED_COLUMN",
    "body = ": "PARSE_SYNTAX_ERROR",
    "count(*) > 1": "INVALID_WHERE_CONDITION",
    "row_number() over (order by body) = 1": "window",
    "explode(array(true))": "generator",
    "rand() > 0.5": "may differ each time",
    "uuid() = key": "may differ each time",
    "input_file_name() = key": "may differ each time",
    "reflect('java.lang.System', 'getenv', 'HOME') = key": "may differ each time",
    "until < now()": "may differ each time",
    "until < current_date()": "may differ each time",
    "key in (select value from text.`/etc/passwd`)": "",
    "exists (select 1)": "asks another table",
}


@pytest.mark.parametrize("where", WRONG)
def test_a_wrong_predicate_is_refused(archive: SmallArchive, where: str) -> None:
    answer = forgotten(archive, where, "--yes")
    assert answer.exit_code == 2, answer.output
    message, remedy = answer.stderr.split("what to do: ")
    assert WRONG[where] in message
    assert "Nothing was changed" in message
    assert "key string, body bigint" in remedy
    assert where.startswith("__tw") or "__tw" not in answer.stderr
    assert archive.snapshot().version == 1


def test_sparks_own_log_does_not_tell_it_again(archive: SmallArchive) -> None:
    """With a traceback, as JSON, on the same terminal."""
    log = PySparkLogger.getLogger("SQLQueryContextLogger")
    log.addHandler(handler := StreamHandler(told := StringIO()))
    forgotten(archive, "nothing = 1", "--yes")
    log.removeHandler(handler)
    assert told.getvalue() == ""


def test_a_predicate_that_only_a_quarantined_record_fails_changes_nothing(archive: SmallArchive) -> None:
    with pytest.raises(InvalidInput, match="DIVIDE_BY_ZERO"):
        forget(archive.job, where="1 / (body - 9) > 10")
    assert archive.snapshot().version == 1


def test_a_forget_says_what_it_took_out_of_the_quarantine(tmp_path: Path) -> None:
    archive = SmallArchive(tmp_path, generation_of(span=SPAN), SPAN).create()
    write_raw(archive, 0, [("a", 1, 0, 200), ("a", 2, 0, None), ("b", 3, 0, None), ("c", 4, 0, None)])
    update(archive.job, [0])
    # What was never stored is nothing that left the archive.
    awaiting = status(archive.job).awaiting
    assert awaiting is not None
    assert awaiting == type(awaiting)(0, 0)
    beside = "1 record beside the archive (quarantined, or not stored)"
    assert f"{beside} would be forgotten as well" in forgotten(archive, "key = 'a'", "--dry-run").stdout
    done = forgotten(archive, "key = 'a'", "--yes", "--json")
    assert json.loads(done.stdout)["quarantined_forgotten"] == 1
    # Nothing stored matches any more; the quarantine alone does.
    answer = forgotten(archive, "key = 'b'", "--yes")
    assert f"{beside} forgotten as well" in answer.stdout
    # What a stored record has and a quarantined one does not is no error.
    assert forgotten(archive, "valid_until < timestamp '1970-01-01T00:00:01Z'", "--yes").exit_code == 0
    table = QUARANTINE.open(archive.job.location)
    assert table is not None
    assert [json.loads(row)["key"] for row in table.to_pyarrow_table().column("record").to_pylist()] == ["c"]
    # What was forgotten there stays forgotten when its batch comes again.
    receipt = update(archive.job, [0]).receipt
    assert receipt is not None
    assert [(one.forgotten, one.quarantined) for one in receipt.slots] == [(3, 1)]


TERMS = (
    *("key", "body", "until", "ins", "ins_slot", "valid_until", "5", "'5'", "'x'", "null", "true", "array(1)"),
    *("date '2020-02-30'", "interval 1 day", "1e999", "''", "x''", "map('a', 1)", "`", "'\u202e'", "-1"),
)
SIGNS = ("=", "<", "in", "like", "rlike", "and", "or", "+", "/", "is", "between", "||", "<=>", "->", "")
CALLS = (
    *("cast({} as int)", "upper({})", "({})", "not {}", "{}[0]", "from_json({}, 'a int')", "to_timestamp({})"),
    *("sqrt({})", "sha2({}, 7)", "regexp_extract({}, '(', 1)", "element_at({}, 0)", "{} is null", "raise_error({})"),
)


def predicate(chance: random.Random, depth: int = 0) -> str:
    if depth > 2 or chance.random() < 0.3:
        return chance.choice(TERMS)
    if chance.random() < 0.5:
        return chance.choice(CALLS).format(predicate(chance, depth + 1))
    return f"{predicate(chance, depth + 1)} {chance.choice(SIGNS)} {predicate(chance, depth + 1)}"


def fuzz(archive: SmallArchive, seed: int, count: int) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        where = predicate(chance)
        answer = forgotten(archive, where, "--dry-run")
        assert answer.exit_code in (0, 2), f"seed {seed}: {where!r}\n{answer.output}"
        assert not answer.exit_code or "what to do: " in answer.stderr, f"seed {seed}: {where!r}\n{answer.output}"
    assert archive.snapshot().version == 1


def test_random_predicates(archive: SmallArchive) -> None:
    fuzz(archive, 1, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_random_predicates(archive: SmallArchive, seed: int) -> None:
    fuzz(archive, seed, 300)
