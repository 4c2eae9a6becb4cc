"""Every key an archive file may hold, in one table.

The parser, the known keys in its messages, and the reference manual are all made from this table, so a key is
added here and nowhere else; the keys of [source] are in `source_fields`. Rules between keys are in `rules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidewheel.indexing.archive_file import column_kinds, source_kinds
from tidewheel.indexing.archive_file.source_fields import SOURCE_FIELDS
from tidewheel.indexing.core.definition import Clock, Verdict
from tidewheel.indexing.core.layouts import LayoutKind, Strategy
from tidewheel.indexing.core.slots import INTERVAL_MAX_US
from tidewheel.indexing.durations import DURATION_MAX_US
from tidewheel.indexing.toml import kinds
from tidewheel.indexing.toml.kinds import choice, duration, whole
from tidewheel.indexing.toml.page import Absent, Field, Form

SECTIONS: Mapping[str, str] = {
    "archive": "What the archive holds and where it lies.",
    "time": "How time is cut into slots, and how long a record may live.",
    "layout": "How slots are spread over sub-indices, and how an update treats each of them. A later "
    "change of this section is carried out by a migration.",
    "source": "Where the batch of a slot comes from: exactly one of `path`, `time_column`, `callable` and `topic`.",
    "policy": "What happens to a record that breaks a rule. `quarantine` sets it aside and counts it, "
    "`reject` fails the run before anything is stored.",
    "retention": "How long things are kept after they are no longer in use.",
    "schedule": "When updates run.",
    "queries": "How the archive's standing queries are refreshed.",
}

NODES_MAX = 64
_TIME_MAX = duration(1, DURATION_MAX_US)
_CAP_NOTE = {"cap": "cap shortens a life that is too long, there is nothing else to cap"}
_VERDICT = choice(Verdict.QUARANTINE, Verdict.REJECT, notes=_CAP_NOTE)
_DERIVED = Absent.DECIDED_BY_RULE

FIELDS: tuple[Field, ...] = (
    Field(
        "archive", "name", kinds.NAME,
        "What commands, schedules and views call the archive.",
        "sessions", fixed=True,
    ),
    Field(
        "archive", "path", source_kinds.ARCHIVE_PATH,
        "Where the table lies; a relative path starts at the folder of this file.",
        "s3a://archives/sessions",
    ),
    Field(
        "archive", "key", column_kinds.COLUMNS,
        "The columns that a probe looks records up by, the most selective first.",
        ["customer", "device"], fixed=True,
    ),
    Field(
        "archive", "expires_at", column_kinds.EXPRESSION,
        "The moment from which a record is no longer valid: a timestamp column, or an SQL expression over "
        "the record's columns that gives the same result on each call.",
        "inserted_at + make_interval(0, 0, 0, keep_days)",
    ),
    Field(
        "archive", "inserted_at", column_kinds.EXPRESSION,
        "The moment a record came to be, against which its lifetime is judged: a timestamp column or an "
        "SQL expression. Without it, the start of the slot counts.",
        "inserted_at", default=_DERIVED, default_note="the start of the slot",
    ),
    Field(
        "archive", "clock", choice(*Clock),
        "What \"now\" is when nobody names a moment: the time of day, or for historic data the end of what "
        "was applied. While nothing is stored yet, `tidewheel migrate` takes a change over.",
        "wall", default="wall", fixed=True,
    ),
    Field(
        "time", "interval", duration(1, INTERVAL_MAX_US, "choose 7 days or less; a run may cover many slots"),
        "The length of a slot.",
        "1h", fixed=True,
    ),
    Field(
        "time", "max_lifetime", _TIME_MAX,
        "The longest life a record may have, from its insertion.",
        "30d", fixed=True,
    ),
    Field(
        "time", "epoch", kinds.MOMENT,
        "A moment at which a slot starts.",
        "2026-01-01T00:00:00Z", default="1970-01-01T00:00:00Z", fixed=True,
    ),
    Field(
        "layout", "kind", choice(*LayoutKind),
        "How slots are dealt out to classes.",
        "round_robin", default="round_robin",
    ),
    Field(
        "layout", "strategy", choice(*Strategy),
        "Which sub-indices are rewritten: those that receive or lose records, those that lose some, or none.",
        "expire_rebuild", default="expire_rebuild",
    ),
    Field(
        "layout", "insertion_classes", whole(1, 4096),
        "Rows of sub-indices, by insertion slot. Under `expire_rebuild` more than one gains nothing.",
        1, default=1,
    ),
    Field(
        "layout", "expiration_classes", whole(1, 4096),
        "Columns of sub-indices, by expiration slot: more of them, less to rewrite, more files to probe.",
        4, default=_DERIVED, default_note="4, or 1 for `wave_by_insertion`",
    ),
    Field(
        "layout", "seed", whole(0, 2**31 - 1),
        "What the `randomized` layout draws its classes from.",
        0, default=0,
    ),
    Field(
        "layout", "dead_share_max", kinds.SHARE,
        "The share of expired rows above which a sub-index is rewritten.",
        0.5, default=0.5,
    ),
    Field(
        "layout", "runs_max", whole(1, 100_000),
        "The number of sorted runs of a sub-index above which its young ones are joined.",
        16, default=16,
    ),
    Field(
        "layout", "target_file_mb", whole(1, 16_384),
        "The size in MiB above which a sub-index is split into files by key; sooner if tasks are evener then.",
        128, default=128,
    ),
    *SOURCE_FIELDS,
    Field(
        "policy", "malformed", choice(Verdict.QUARANTINE, Verdict.REJECT, Verdict.STORE),
        "A part of the record is no JSON or CSV, or no value of its column's type; `store` takes the rest of it, with "
        "NULL there. What is quarantined keeps its original text.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "null_expiry", _VERDICT,
        "The expiry is NULL.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "null_insertion", _VERDICT,
        "`inserted_at` is NULL.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "expired_on_arrival", _VERDICT,
        "The expiry is not after the insertion.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "too_long", choice(Verdict.QUARANTINE, Verdict.REJECT, Verdict.CAP),
        "The life is longer than `max_lifetime`; `cap` shortens it to that.",
        "cap", default="quarantine",
    ),
    Field(
        "policy", "null_key", _VERDICT,
        "A key column is NULL.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "future", _VERDICT,
        "The insertion lies after the end of the slot.",
        "quarantine", default="quarantine",
    ),
    Field(
        "policy", "late", choice(Verdict.STORE, Verdict.QUARANTINE, Verdict.REJECT, notes=_CAP_NOTE),
        "The insertion lies before the start of the slot: the record came late. `store` takes it into the slot that "
        "brings it, with the life that it has left.",
        "store", default="store",
    ),
    Field(
        "policy", "new_column", choice("reject", "add"),
        "The batch has a column that the table has not: fail, or add it. A batch without an added column brings NULL.",
        "add", default="reject",
    ),
    Field(
        "policy", "shrink_max", kinds.SHARE,
        "The share of a slot's rows that a replay may lose without a confirmation.",
        0.5, default=0.5,
    ),
    Field(
        "policy", "set_aside_max", kinds.SHARE,
        "The share of a slot's records that may break rules, 20 at least, without a confirmation. Above it the batch "
        "is refused, and nothing of it is stored or set aside.",
        0.5, default=0.5,
    ),
    Field(
        "retention", "grace", _TIME_MAX,
        "How long replaced files stay, for readers that still use them and for `undo`. No attempt may take "
        "longer.",
        "24h", default="24h", fixed=True,
    ),
    Field(
        "retention", "vacuum_period", _TIME_MAX,
        "How often files past their grace are deleted.",
        "6h", default="6h", fixed=True,
    ),
    Field(
        "retention", "log", _TIME_MAX,
        "How long the table's log is kept; not shorter than the grace.",
        "7d", default="7d", fixed=True,
    ),
    Field(
        "retention", "quarantine", _TIME_MAX,
        "How long quarantined records are kept.",
        "30d", default="30d", fixed=True,
    ),
    Field(
        "retention", "hold", duration(0, DURATION_MAX_US),
        "By how much a reader may prolong the grace of the version it reads (`tidewheel sql --hold`); the deadline of "
        "all bytes moves by as much.",
        "6h", default="0s", fixed=True,
    ),
    Field(
        "schedule", "cron", kinds.CRON,
        "When a run starts; it applies the slots since the one before, so it must hold whole slots. Slots that start "
        "at half past, by the epoch, need `30 * * * *`; days that start at nine `0 9 * * *`. `@never`: only by hand.",
        "@hourly", default=_DERIVED,
        default_note="the first of hourly, daily and weekly whose runs hold whole slots, shifted as the epoch is",
    ),
    Field(
        "schedule", "start", kinds.MOMENT,
        "Where the first run begins. Without it, runs begin with the newest complete one, and missed ones are not "
        "made up for.",
        "2026-01-01T00:00:00Z", default=_DERIVED, default_note="the newest complete run",
    ),
    Field(
        "schedule", "catchup", kinds.FLAG,
        "Whether runs that were missed since `start` are made up for.",
        True, default=True,
    ),
    Field(
        "schedule", "pool", kinds.TEXT,
        "The scheduler's pool that runs share.",
        "spark", default="",
    ),
    Field(
        "schedule", "freshness", duration(0, DURATION_MAX_US),
        "How old the newest batch may get before the archive is late; if that is less than the time to the next "
        "run, it counts from that run on. `0s` is never. Written, it also sets an alarm for each run.",
        "2h", default=_DERIVED, default_note="three runs of the schedule, without an alarm for each run",
    ),
    Field(
        "queries", "planner", kinds.TEXT,
        "Who decides which queries share partials: a name that `tidewheel plan ARCHIVE --compare` shows. It decides "
        "about queries that are new or were changed; partials that are there stay as they are.",
        "By Group", default="Settle",
    ),
    Field(
        "queries", "nodes", whole(1, NODES_MAX),
        "How many mapped tasks of a run refresh side by side; trees of partials are shared out among them by cost.",
        4, default=1,
    ),
)  # fmt: skip


FORM = Form(FIELDS, SECTIONS, "docs/archive-file.md")
