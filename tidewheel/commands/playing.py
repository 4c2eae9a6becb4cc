"""The demonstration."""

from __future__ import annotations

import click

from tidewheel.commands.common import command
from tidewheel.output import Output


@command
@click.option(
    "--slots",
    type=click.IntRange(min=6),
    default=80,
    show_default=True,
    metavar="N",
    help="How many slots of five minutes to stream.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), default=3000, show_default=True, metavar="N", help="Records in a slot."
)
@click.option("--quick", is_flag=True, help="A few small slots, for a first look or a test.")
def demo(output: Output, slots: int, rows: int, quick: bool) -> None:
    """Stream network flows into an archive, and watch it turn, expire, answer, forget and stand an audit.

    Uses the archive file archives/netflow.toml, and leaves the archive behind to play with.

    \b
    Examples:
      tidewheel demo --quick
    """
    from tidewheel.demo.script import run_demo

    run_demo(output, slots=12 if quick else slots, rows=300 if quick else rows)
