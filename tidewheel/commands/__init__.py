"""The commands, in the order in which `tidewheel --help` lists them."""

from __future__ import annotations

import click

from tidewheel.commands.changing import forget, migrate, undo, vacuum
from tidewheel.commands.looking import audit, changes, history, status
from tidewheel.commands.planning import advise, forecast
from tidewheel.commands.playing import demo
from tidewheel.commands.reading import probe, scan, sql
from tidewheel.commands.writing import backfill, expire, init, update

COMMANDS: tuple[click.Command, ...] = (
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
    audit,
    advise,
    forecast,
    migrate,
    forget,
    undo,
    vacuum,
    demo,
)
