"""The demonstration: a stream, an archive that turns, and what one does with it, each step with its command.

1. Write the stream, create the archive.
2. Update it for more than two spans, with one slot left out; the first slots in groups.
3. Read: probes and queries, with their times; three standing queries.
4. Backfill the slot left out; replay one with corrected data; forget an address; each time, answers follow.
5. Audit, look what vacuum would do, show the status.

Everything but the times is the same every time. What an earlier demonstration made is replaced, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from tidewheel.archive import Archive
from tidewheel.demo import demo_answers
from tidewheel.demo.flow_stream import FORGOTTEN, PROBED, FlowStream, write_batch
from tidewheel.demo.places import Places
from tidewheel.demo.stage import Stage
from tidewheel.indexing.extras import needed
from tidewheel.output import Output
from tidewheel.resolve import Target
from tidewheel.views.figures import count, seconds, size, slot_name
from tidewheel.writing import groups

START = "2026-11-18T04:00Z"
_PROBES = 50
_PLANS_QUERY = "select plan, count(*) as flows, sum(bytes) as bytes from live group by plan order by flows desc"


@dataclass(frozen=True)
class Script:
    """The plot of the demonstration: the slots that come in groups, the one left out at first, the one corrected."""

    slots: range
    grouped: int

    @property
    def skipped(self) -> int:
        return self.slots[len(self.slots) * 3 // 4]

    @property
    def corrected(self) -> int:
        return self.slots[len(self.slots) - 4]

    def batches(self) -> Iterator[Sequence[int]]:
        """The first slots in groups, the others one by one."""
        yield from groups(self.slots[: self.grouped], 12)
        yield from ([slot] for slot in self.slots[self.grouped :] if slot != self.skipped)


def run_demo(output: Output, *, slots: int, rows: int) -> None:
    """The whole demonstration."""
    _require_spark()
    began = perf_counter()
    places = Places.of("netflow", output)
    stage = Stage(output, places.name)
    archive = Archive(Target(places.file.path, places.file), progress=stage.progress)
    first = archive.slots(START)[0]
    # Two thirds of a long stream come in groups, so that the single updates are left to watch.
    script = Script(range(first, first + slots), grouped=max(2, slots * 5 // 8 // 12 * 12))
    stream = FlowStream(archive.axis, rows)
    with stage:
        places.clear(output)
        _write_stream(stage, places, stream, script)
        _create(stage, archive, script)
        demo_answers.stand(stage, archive)
        _update(stage, archive, script)
        _read(stage, archive)
        demo_answers.give(stage, archive)
        _backfill(stage, archive, script)
        demo_answers.follow(stage, archive, "backfilled")
        _replay(stage, archive, places, stream, script)
        demo_answers.follow(stage, archive, "replayed")
        _forget(stage, archive)
        demo_answers.follow(stage, archive, "forgotten")
        demo_answers.check_forgotten(stage, archive)
        _check(stage, archive)
        stage.end(archive, perf_counter() - began)


def _require_spark() -> None:
    """Before anything is written."""
    with needed("for the demonstration"):
        import pyspark  # noqa: F401

        from tidewheel.jobs.process.java_needs import require_java
    require_java()


def _write_stream(stage: Stage, places: Places, stream: FlowStream, script: Script) -> None:
    stage.chapter("A stream of network flows", "")
    rows = 0
    with stage.output.counting("writing slots", len(script.slots)) as advance:
        for slot in script.slots:
            batch = stream.batch(slot)
            write_batch(batch, places.slot_folder(slot))
            rows += batch.num_rows
            advance()
    stage.say(
        f"{count(rows)} flows in {len(script.slots)} slots of 5 minutes, one Parquet file each, in {places.source}\n"
        "Each flow is kept as long as its customer's plan says: free 10 minutes, paid 90 minutes, audit 3 hours."
    )
    stage.number("rows", rows)


def _create(stage: Stage, archive: Archive, script: Script) -> None:
    stage.chapter("An empty archive", f"init {{}} --slot {slot_name(archive.axis, script.slots[0])}")
    snapshot = archive.create(_at(archive, script.slots[0]))
    stage.definition(archive.path, snapshot.definition)


def _update(stage: Stage, archive: Archive, script: Script) -> None:
    name = slot_name(archive.axis, script.slots[script.grouped])
    spans = len(script.slots) / archive.axis.span(archive.job.require_file().max_lifetime_us)
    stage.chapter(f"Updates of {spans:.1f} spans, each one commit", f"update {{}} --slot {name}")
    stage.say(
        "A batch is appended to the columns in which its records will expire. When time reaches a column, it turns:\n"
        "it is rewritten without what has expired, or dropped unread where all has. The slot "
        f"{slot_name(archive.axis, script.skipped)} is left out for now."
    )
    with stage.turning(archive) as show:
        for batch in script.batches():
            started = perf_counter()
            outcome = archive.update(_at(archive, batch[0]), _at(archive, batch[-1] + 1))
            show(outcome, perf_counter() - started)


def _read(stage: Stage, archive: Archive) -> None:
    stage.chapter("Ask for one address", f"probe {{}} {PROBED}")
    started = perf_counter()
    records = archive.probe(PROBED).arrow().num_rows
    first = perf_counter() - started
    times = []
    for _ in range(_PROBES):
        started = perf_counter()
        archive.probe(PROBED).arrow()
        times.append(perf_counter() - started)
    stage.say(
        f"{records} live records, the first time in {seconds(first)}; with the handle open, a probe takes "
        f"{seconds(median(times))} (median of {_PROBES})"
    )
    stage.chapter("Ask in SQL", f'sql {{}} "{_PLANS_QUERY}"')
    started = perf_counter()
    result = archive.sql(_PLANS_QUERY)
    stage.rows(result)
    stage.say(f"in {seconds(perf_counter() - started)}")


def _backfill(stage: Stage, archive: Archive, script: Script) -> None:
    stage.chapter("Fill the gap", "backfill {} --missing")
    for outcome in archive.backfill(missing=True):
        receipt = outcome.receipt
        assert receipt is not None
        one = receipt.slots[0]
        stage.say(
            f"slot {slot_name(archive.axis, script.skipped)} comes late: of {count(one.rows_in)} flows, "
            f"{count(one.stored)} are still valid and stored, {count(one.short_lived + one.dead_on_arrival)} have "
            "expired meanwhile, so they never come in"
        )
        stage.number("backfilled", one.stored)


def _replay(stage: Stage, archive: Archive, places: Places, stream: FlowStream, script: Script) -> None:
    name = slot_name(archive.axis, script.corrected)
    stage.chapter("A collector had counted bits for bytes: correct a slot", f"update {{}} --slot {name}")
    before = _slot_sums(archive, script.corrected)
    write_batch(stream.batch(script.corrected, corrected=True), places.slot_folder(script.corrected))
    archive.update(_at(archive, script.corrected))
    after = _slot_sums(archive, script.corrected)
    stage.say(
        f"the slot is replaced, not added: {count(before[0])} live flows of {size(before[1])} before, "
        f"{count(after[0])} of {size(after[1])} now"
    )
    stage.number("replaced", {"rows": [before[0], after[0]], "bytes": [before[1], after[1]]})


def _forget(stage: Stage, archive: Archive) -> None:
    stage.chapter("Somebody asks to be forgotten", f"forget {{}} --key {FORGOTTEN} --yes")
    before = archive.probe(FORGOTTEN).arrow().num_rows
    outcome = archive.forget([(FORGOTTEN,)])
    after = archive.probe(FORGOTTEN).arrow().num_rows
    rewritten, stored = len(outcome.plan.rewritten), len(archive.snapshot().files)
    stage.say(
        f"{before} live records of {FORGOTTEN} before, {after} now; {rewritten} of {stored} files were rewritten. "
        "A replay or a backfill will not bring them back"
    )
    stage.number("forgotten_before", before)
    stage.number("forgotten_after", after)


def _check(stage: Stage, archive: Archive) -> None:
    stage.chapter("Is everything there, once, and nothing else?", "audit {}")
    stage.audit(archive.audit())
    stage.chapter("What could be deleted now?", "vacuum {} --dry-run")
    stage.vacuum(archive.vacuum(dry_run=True))
    stage.chapter("How it stands", "status {}")
    stage.status(archive.status())


def _slot_sums(archive: Archive, slot: int) -> tuple[int, int]:
    """Live records of a slot, and the bytes they speak of."""
    query = f"select count(*), coalesce(sum(bytes), 0)::bigint from live where ins_slot = {slot}"
    rows, total = archive.sql(query).rows()[0]
    return int(rows), int(total)


def _at(archive: Archive, slot: int) -> str:
    return archive.axis.name(slot)
