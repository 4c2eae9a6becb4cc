"""What commands say: the same moment by the same word, one thing in the singular, the true reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.copies import copied
from tests.support.archives.small_archive import SmallArchive
from tidewheel.archive import open
from tidewheel.cli import main
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.sql.reader import Reader

WITHOUT_SPARK = "import sys; sys.modules['pyspark'] = None; from tidewheel.cli import main; main()"


@pytest.fixture(scope="module")
def archive(five_slots_built: SmallArchive, tmp_path_factory: pytest.TempPathFactory) -> SmallArchive:
    return copied(five_slots_built, tmp_path_factory.mktemp("words"))


def said(archive: SmallArchive, command: str, *options: str) -> str:
    return CliRunner().invoke(main, [command, archive.job.location.uri, *options]).output


def test_every_command_names_the_same_end_of_the_watermark(archive: SmallArchive) -> None:
    watermark = archive.snapshot().watermark
    assert watermark is not None
    through = archive.axis.name(watermark + 1).replace(":00Z", "Z")
    assert f"through {through}" in said(archive, "status")
    slot = archive.axis.name(watermark)
    assert f"applied through {through}, as it is" in said(archive, "expire", "--through", slot, "--dry-run")
    assert f"applied through {through};" in said(archive, "forecast", "--updates", "1")
    assert through in said(archive, "changes", "--since", "0")


def test_before_the_first_batch_nothing_had_expired(archive: SmallArchive) -> None:
    first = min(record for record, _ in archive.oracle.batches.items())
    with Reader.open(archive.job.location, now_us=lambda: 0) as reader, pytest.raises(InvalidInput) as caught:
        reader.probe("a", as_of_us=archive.axis.start_us(first) - 1)
    assert f"its first batch begins at {archive.axis.name(first)}" in caught.value.message
    assert "expired" not in caught.value.message
    earliest = re.search(r"from (\S+) on", caught.value.remedy)
    assert earliest is not None
    open(archive.job.location.uri).probe("a", as_of=earliest[1])


def test_a_result_shows_what_it_is(archive: SmallArchive) -> None:
    found = open(archive.job.location.uri)
    version = archive.snapshot().version
    assert re.fullmatch(rf"<Result of .*version {version} as of \S+: \d+ rows? of key, .*>", repr(found.probe("k1")))
    assert ": a stream of key, " in repr(found.scan())


def test_one_finding_in_lines_of_a_readable_length(archive: SmallArchive, tmp_path: Path) -> None:
    broken = copied(archive, tmp_path)
    path = Path(broken.job.location.child(broken.snapshot().files[0].path))
    path.write_bytes(path.read_bytes()[:-9])
    told = said(broken, "audit", "--quick")
    assert re.search(r"\b1 findings\b", told) is None
    assert path.name in told
    assert max(map(len, told.splitlines())) < 500


def test_without_pyspark_what_needs_none_works_and_the_rest_says_what_is_missing(archive: SmallArchive) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_SPARK, words[0], archive.job.location.uri, *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("status").returncode == 0
    done = run("forget", "--key", "nobody", "--yes")
    assert done.returncode == 0, done.stderr
    done = run("forget", "--where", "key = 'k1'", "--yes")
    assert done.returncode == 7, done.stderr
    assert "pyspark is needed for this (a predicate, or keys of this type, are Spark's)" in done.stderr
    assert "pip install 'tidewheel[spark]'" in done.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Binder Error: no column x\nDid you mean y?\n\nLINE 1: select x\n               ^",
            "Binder Error: no column x Did you mean y?",
        ),
        ("\x1b[31mKernel error\n \x1b[31m↳\x1b[0m Connection refused", "Kernel error Connection refused"),
    ],
)
def test_other_programs_are_quoted_in_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_reader_of_a_pipe_that_has_gone_is_no_fault() -> None:
    """As of any program whose output goes through `head`."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "tidewheel.cli", "--help"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
