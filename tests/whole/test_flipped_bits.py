"""One flipped bit in any file of an archive, its partials or answers: each command does its work, or names the file."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import write_deltalake

import tidewheel
from tests.support.archives.asked_archive import asked_archive, events
from tests.support.archives.local_archive import LocalArchive
from tidewheel.cli import main
from tidewheel.commits.side_tables.quarantine import QUARANTINE
from tidewheel.indexing.errors import Damaged, InvalidInput
from tidewheel.local.derived.neighbours import derived_job
from tidewheel.local.derived.put import redefine
from tidewheel.storage.ledger_store import ledger_of
from tidewheel.storage.location import Location
from tidewheel.storage.snapshot import open_snapshot

KINDS = {
    "data": re.compile(r"run-.*/[^.][^/]*\.parquet"),
    "checksum": re.compile(r".*/\.[^/]*\.crc"),
    "log entry": re.compile(r"_delta_log/\d+\.json"),
    "checkpoint": re.compile(r"_delta_log/\d+\.checkpoint\.parquet"),
    "last checkpoint": re.compile(r".*_last_checkpoint"),
    "ledger": re.compile(r"_tidewheel/ledger/.*"),
    "other": re.compile(r".*"),
}
READING = (
    ("scan", "m", "--format", "csv"), ("probe", "m", "a", "--format", "csv"), ("scan", "m.answers", "--format", "csv"),
    ("sql", "m", "select k, r, v, x from live order by all", "--format", "csv"), ("ask", "m", "by_key", "--json"),
    ("sql", "m", "select * from answers.by_key order by all", "--format", "csv"), ("query", "list", "m"),
    ("sql", "m.answers", "select * from live order by all", "--format", "csv"), ("query", "explain", "m", "by_key"),
)  # fmt: skip
WORKING = (
    ("refresh", "m"), ("audit", "m", "--quick"), ("audit", "m.answers"), ("audit", "m.partials"), ("status", "m"),
    ("history", "m"), ("expire", "m"), ("vacuum", "m"), ("forget", "m", "--key", "a", "--yes"), ("undo", "m", "--yes"),
    ("refresh", "m", "--from", "1970-01-01T00:00Z", "--to", "1970-01-01T00:06Z"), ("quarantine", "m"),
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LocalArchive:
    """Records, partials, answers and something for a refresh to do, with checkpoints and folded ledgers."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("whole")
        patch.setenv("TIDEWHEEL_ARCHIVES", str(folder / "archives"))
        archive = asked_archive(folder)
        assert said(("refresh", "m"))[0] == 0
        archive.update({6: events(6)})
        for name in ("table", "table.partials", "table.answers"):
            open_snapshot(Location.of(str(folder / name))).table.create_checkpoint()
    return archive


def said(command: tuple[str, ...]) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(command), env={"COLUMNS": "400"})
    return done.exit_code, done.stdout, done.stderr


def kind_of(path: Path) -> str:
    table, _, inside = path.as_posix().partition("/")
    return f"{table} {next(kind for kind, pattern in KINDS.items() if pattern.fullmatch(inside))}"


def play(whole: LocalArchive, folder: Path, patch: pytest.MonkeyPatch, seed: int, flips: int, commands: int) -> None:
    chance = random.Random(seed)
    files: dict[str, list[Path]] = {}
    for path in sorted(one.relative_to(whole.folder) for one in whole.folder.glob("table*/**/*") if one.is_file()):
        files.setdefault(kind_of(path), []).append(path)
    tally: Counter[str] = Counter()
    for number in range(flips):
        kind = chance.choice(sorted(files))
        file = chance.choice(files[kind])
        content = (whole.folder / file).read_bytes()
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        for command in chance.sample((*READING, *WORKING), commands):
            hit = folder / f"{number} {' '.join(command)[:20]}".replace("/", "")
            shutil.copytree(whole.folder, hit)
            (hit / file).write_bytes(content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :])
            patch.setenv("TIDEWHEEL_ARCHIVES", str(hit / "archives"))
            code, out, err = said(command)
            told = f"seed {seed}: bit {bit} of byte {at} of {file}, {command}: {code} {out[-800:]} {err[-800:]}"
            assert code in (0, InvalidInput.exit_code, Damaged.exit_code), told
            assert "\x1b" not in out + err, told
            if code == Damaged.exit_code and command[0] != "audit":
                assert "what to do: " in err or "remedy" in err, told
                assert kind.split()[1] != "data" or file.name in err + out, told
            if code == 0 and kind.startswith("table.answers data") and command in READING:
                patch.setenv("TIDEWHEEL_ARCHIVES", str(whole.folder / "archives"))
                assert out == said(command)[1], told
            tally[f"{kind}: {code}"] += 1
            shutil.rmtree(hit)
    print(json.dumps(dict(sorted(tally.items())), indent=1))


def test_a_flipped_bit_is_read_past_or_named(
    whole: LocalArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(whole, tmp_path, monkeypatch, random.randrange(10**6), flips=8, commands=1)


def test_a_damaged_file_of_a_side_table_is_named_in_plain_words(tmp_path: Path) -> None:
    """In place of what delta-rs says: its frames, its colours, and no file."""
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020d}.json").write_text("{}")
    archive = Location.of(str(tmp_path))
    place = QUARANTINE.location(archive)
    rows = {QUARANTINE.slot: pa.array(range(500), pa.int64()), QUARANTINE.attempt: pa.array(["x" * 9] * 500)}
    write_deltalake(place.delta_uri, pa.table(rows))
    data, entry = (next(Path(place.uri).glob(pattern)) for pattern in ("*.parquet", "_delta_log/*.json"))
    for file in (data, entry):
        content = file.read_bytes()
        flipped = content[:60] + bytes([content[60] ^ 128]) + content[61:]
        for damaged in (b"", content[: len(content) // 2], *([flipped] if file == entry else ())):
            file.write_bytes(damaged)
            with pytest.raises(Damaged) as raised:
                QUARANTINE.read(archive)
            assert file.name in raised.value.message
            assert "<unknown>" not in raised.value.message
        file.write_bytes(content)
    assert QUARANTINE.read(archive) is not None


def test_in_python_too_a_file_that_cannot_be_read_is_named(whole: LocalArchive, tmp_path: Path) -> None:
    """Only decoding its footer tells that it is damaged. An undo reads what the newest version does not name."""
    shutil.copytree(whole.folder, tmp_path / "hit")
    archive = tidewheel.open(tmp_path / "hit" / "archives" / "m.toml")
    archive.expire("1970-01-01T00:09Z", allow_jump=True)
    newest = {file.path for file in archive.snapshot().files}
    before = {file.path for file in open_snapshot(archive.location, archive.snapshot().version - 1).files}
    for path in before - newest:
        file = Path(archive.location.child(path))
        content = file.read_bytes()
        start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        file.write_bytes(content[:start] + b"\xff" * 20 + content[start + 20 :])
    with pytest.raises(Damaged) as raised:
        archive.undo()
    assert any(path in raised.value.message for path in before - newest)
    assert raised.value.remedy.endswith(archive.location.command("audit"))


def test_queries_that_cannot_be_unpacked_are_damage(whole: LocalArchive, tmp_path: Path) -> None:
    shutil.copytree(whole.folder, tmp_path / "hit")
    job = derived_job(tidewheel.open(tmp_path / "hit" / "archives" / "m.toml").job, "answers")

    def flipped(derived: str) -> str:
        told = json.loads(derived)
        return json.dumps({**told, "queries": told["queries"][:20] + "A" + told["queries"][21:]})

    redefine(job, flipped, (), ledger_of(job.snapshot()).horizon)
    with pytest.raises(Damaged) as raised:
        tidewheel.open(tmp_path / "hit" / "archives" / "m.toml").queries.refresh()
    assert "_delta_log" in raised.value.message or "Delta log" in raised.value.message
    assert "&& tidewheel refresh m" in raised.value.remedy


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_many_flipped_bits(whole: LocalArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    play(whole, tmp_path, monkeypatch, seed, flips=60, commands=6)
