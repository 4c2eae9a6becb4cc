"""A commit whose answer is lost, and the look into the log too: what is raised, the command that looks, the way on."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.support.archives.local_archive import Event, LocalArchive
from tests.support.archives.lost_answers import lost_answer
from tests.support.archives.toml_archives import TomlArchive
from tests.support.services.dag_runs import K, context_of, dags_of, tide
from tests.support.services.dag_runs import pytestmark as of_airflow
from tidewheel.cli import main
from tidewheel.indexing.errors import OutcomeUnknown

__all__ = ["tide"]  # fixtures of that module, for this one as well
pytestmark = of_airflow


def typed(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def attempt_in(said: str) -> str:
    found = re.search(r"run-\w+-\w+", said)
    assert found is not None, said
    return found[0]


def looked_for(said: str) -> list[str]:
    """What the command of the message finds, once the table is in reach: the attempts that were committed."""
    [command] = re.findall(r"tidewheel (history \S+)", said)
    done = typed(*shlex.split(command), "--json")
    assert done.exit_code == 0, done.output
    return [one["receipt"]["attempt"] for one in json.loads(done.stdout)["history"]]


@pytest.fixture
def fed(tmp_path: Path) -> LocalArchive:
    """Slots 0 to 2, one record in each, which the expiry through slot 2 takes away."""
    archive = LocalArchive(tmp_path).create()
    for slot in range(3):
        start_us = archive.axis.start_us(slot)
        archive.update({slot: [Event(f"k{slot}", slot, start_us, start_us + 2 * archive.axis.interval_us)]})
    return archive


@pytest.mark.parametrize("carried_out", [True, False])
def test_the_command_that_looks_tells_and_the_same_command_goes_on(fed: LocalArchive, carried_out: bool) -> None:
    before = fed.job.snapshot().version
    uri = fed.job.location.uri
    words = ("expire", uri, "--through", fed.axis.name(3), "--allow-future", "--allow-jump")
    with lost_answer(Path(uri), carried_out=carried_out) as mount:
        done = typed(*words)
        assert mount.carried_out == [carried_out]
        mount.mount()
    assert done.exit_code == OutcomeUnknown.exit_code, done.output
    assert "look for the attempt before anything else" in done.output
    attempt = attempt_in(done.output)
    assert (attempt in looked_for(done.output)) == carried_out
    assert fed.job.snapshot().version == before + carried_out
    # Whatever the look told, the same command does what is still to be done, and no more.
    assert typed(*words).exit_code == 0
    snapshot = fed.job.snapshot()
    assert (snapshot.version, snapshot.watermark) == (before + 1, 3)
    assert typed("audit", uri, "--quick").exit_code == 0


def test_what_was_written_is_kept_as_long_as_nobody_knows(fed: LocalArchive) -> None:
    """The files may belong to the archive by now: whoever does not know deletes nothing."""
    uri = fed.job.location.uri
    with lost_answer(Path(uri)) as mount:
        start_us = fed.axis.start_us(3)
        with pytest.raises(OutcomeUnknown) as caught:
            fed.update({3: [Event("k3", 3, start_us, start_us + 3 * fed.axis.interval_us)]})
        mount.mount()
    snapshot = fed.job.snapshot()
    assert any(fact.path.startswith(caught.value.values["attempt"]) for fact in snapshot.files)
    assert all(Path(uri, fact.path).is_file() for fact in snapshot.files)
    assert typed("audit", uri, "--quick").exit_code == 0


# In Airflow.


def task_of(archive: TomlArchive, context: dict[str, Any]) -> Any:
    operator = dags_of(archive)["tide"].task_dict["update"]
    context["dag"] = operator.dag
    return operator


@pytest.mark.usefixtures("spark")
def test_the_task_looks_until_the_log_can_be_read(tide: TomlArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidewheel.dags.tasks import updating

    tide.write_batches([K])
    tide.open().create(tide.axis.name(K))
    context = context_of(tide, K)
    with lost_answer(Path(tide.open().location.uri)) as mount:

        def waits() -> Iterator[int]:
            yield 0  # this look finds nothing in reach
            mount.mount()
            yield 0

        monkeypatch.setattr(updating, "LOOKS_S", waits())
        assert task_of(tide, context).execute(context)["version"] == 1
    assert tide.content() == tide.expected([K])


@pytest.mark.usefixtures("spark")
def test_the_next_try_looks_for_the_attempt_of_the_last(tide: TomlArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidewheel.dags.tasks import updating

    tide.write_batches([K])
    tide.open().create(tide.axis.name(K))
    monkeypatch.setattr(updating, "LOOKS_S", (0,))
    context = context_of(tide, K)
    with lost_answer(Path(tide.open().location.uri)) as mount:
        with pytest.raises(OutcomeUnknown) as caught:
            task_of(tide, context).execute(context)
        mount.mount()
    context["ti"].try_number = 2
    receipt = task_of(tide, context).execute(context)
    assert (receipt["version"], receipt["attempt"]) == (1, caught.value.values["attempt"])
    assert tide.open().snapshot().version == 1
