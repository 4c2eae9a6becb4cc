"""The commands, in the order in which `tidewheel --help` lists them."""

from __future__ import annotations

import click

from tidewheel.commands.asking import ask
from tidewheel.commands.beginning import completion, new
from tidewheel.commands.changing import forget, migrate, undo, vacuum
from tidewheel.commands.isolation import isolation
from tidewheel.commands.layout_advice import advise, forecast
from tidewheel.commands.looking import audit, changes, history, metrics, quarantine, status
from tidewheel.commands.playing import demo
from tidewheel.commands.query_plan import plan
from tidewheel.commands.querying import query, refresh
from tidewheel.commands.reading import probe, scan, sql
from tidewheel.commands.tracing import derive
from tidewheel.commands.writing import backfill, expire, init, update

COMMANDS: tuple[click.Command, ...] = (
    new,
    init,
    update,
    backfill,
    expire,
    probe,
    scan,
    sql,
    status,
    history,
    changes,
    quarantine,
    audit,
    metrics,
    advise,
    forecast,
    migrate,
    forget,
    undo,
    vacuum,
    query,
    plan,
    refresh,
    ask,
    isolation,
    derive,
    demo,
    completion,
)


def _leaves() -> dict[str, click.Command]:
    """Every command that does something, by the words that name it; those of a group behind the group's."""
    found: dict[str, click.Command] = {}
    for one in COMMANDS:
        inner = one.commands if isinstance(one, click.Group) else {}
        found |= {f"{one.name} {name}": leaf for name, leaf in inner.items()} or {one.name or "": one}
    return found


LEAVES = _leaves()
