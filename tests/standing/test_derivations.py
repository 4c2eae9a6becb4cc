"""The definitions of partials and answers as a value: read by whoever needs a part of them, written as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.archives.asked_archive import asked_archive
from tests.support.archives.local_archive import LocalArchive
from tests.support.archives.refreshed_archive import TOTAL, refresh
from tidewheel.cli import main
from tidewheel.commits.archive import ArchiveJob
from tidewheel.indexing.core.derivation import ANSWERS, PARTIALS, Derivation
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.rules.deadline import longest_life
from tidewheel.local.answers.owed_slots import owed_of, with_owed, without_owed
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.derived.put import redefine
from tidewheel.local.standing.derived_audit import derived_findings
from tidewheel.storage.ledger_store import ledger_of


@pytest.fixture
def derived(tmp_path: Path) -> tuple[LocalArchive, dict[str, ArchiveJob]]:
    archive = asked_archive(tmp_path)
    refresh(archive.job, [TOTAL])
    return archive, {kind: derived_job(archive.job, kind) for kind in (PARTIALS, ANSWERS)}


def test_definitions_are_written_as_they_were_read(derived: tuple[LocalArchive, dict[str, ArchiveJob]]) -> None:
    archive, jobs = derived
    for kind, job in jobs.items():
        definition = job.snapshot().definition
        read = Derivation.from_text(definition.derived)
        assert read.to_text() == definition.derived
        assert (read.kind, read.sources) == (kind, (archive.job.location.uri,))
        assert read.slots_alive == longest_life(definition)
        owing = with_owed(definition.derived, [TOTAL.part], {TOTAL.part: 7})
        assert Derivation.from_text(owing).to_text() == owing
        assert (owed_of(owing, [TOTAL.part]), without_owed(owing)) == ({TOTAL.part: 7}, definition.derived)


def test_words_are_those_of_before(derived: tuple[LocalArchive, dict[str, ArchiveJob]]) -> None:
    """Programs before this value read and wrote these keys, so both read each other's archives."""
    found = {kind: set(json.loads(job.snapshot().definition.derived)) for kind, job in derived[1].items()}
    assert found[PARTIALS] == {"of", "trees", "tree_of", "parts", "slots_alive"}
    assert found[ANSWERS] == {"of", "queries", "texts", "files", "slots_alive"}


def test_another_kind_has_several_sources_and_keeps_what_it_says() -> None:
    joined = Derivation("joins", ("one", "two"), slots_alive=4, content={"sql": "select 1"})
    assert Derivation.from_text(joined.to_text()) == joined
    assert Derivation.from_text("") == Derivation("")


def test_a_deep_audit_refuses_a_kind_that_it_cannot_derive(
    derived: tuple[LocalArchive, dict[str, ArchiveJob]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It passed such archives, as long as their rows had their hashes."""
    job = derived[1][ANSWERS]
    horizon = ledger_of(job.snapshot()).horizon
    redefine(job, lambda text: Derivation("joins", Derivation.from_text(text).sources).to_text(), (), horizon)
    with pytest.raises(InvalidInput, match="derived in a way that this program does not know \\(joins\\)"):
        derived_findings(job, job.snapshot(), job.snapshot().files)
    monkeypatch.setenv("TIDEWHEEL_ARCHIVES", str(tmp_path / "archives"))
    deep, quick = (CliRunner().invoke(main, ["audit", "m.answers", *more]) for more in (["--deep"], ["--quick"]))
    assert "does not know (joins)" in deep.output
    assert (deep.exit_code, quick.exit_code) == (2, 0), quick.output
