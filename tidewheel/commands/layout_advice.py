"""Look ahead: advise, forecast. Both compute, neither touches a file of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidewheel.commands.common import ARCHIVE, archive_argument, command, opened
from tidewheel.indexing.errors import InvalidInput
from tidewheel.output import Output

if TYPE_CHECKING:
    from tidewheel.indexing.cost.advisor import Advice, Constraints
    from tidewheel.indexing.cost.workloads import Lifetimes

LIFETIMES = ("uniform", "constant", "bimodal", "heavy")


@command
@archive_argument(required=False)
@click.option("--rows-per-interval", "rows", type=float, metavar="N", help="Records that come in an interval.")
@click.option("--row-bytes", type=float, default=100, show_default=True, metavar="N", help="Bytes of a stored record.")
@click.option("--span", type=int, metavar="P", help="The longest lifetime, in intervals.")
@click.option(
    "--lifetimes", type=click.Choice(LIFETIMES), default="uniform", show_default=True, help="How long records live."
)
@click.option(
    "--long-share",
    type=float,
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Of bimodal lifetimes: how many live the whole span, the others a tenth of it.",
)
@click.option("--last", default=36, show_default=True, metavar="N", help="Of an archive: how many slots to learn from.")
@click.option("--probes", type=float, default=100, show_default=True, metavar="N", help="Probes between two updates.")
@click.option(
    "--probe-rows", type=float, default=1, show_default=True, metavar="N", help="How many records a probe answers."
)
@click.option("--scans", type=float, default=0, show_default=True, metavar="N", help="Scans between two updates.")
@click.option("--probe-ms-max", type=float, metavar="MS", help="A probe may take no longer.")
@click.option("--files-max", type=float, metavar="N", help="The archive may have no more files.")
@click.option("--dead-share-max", type=float, metavar="SHARE", help="No more of the bytes may be dead.")
def advise(
    output: Output,
    archive: str | None,
    rows: float | None,
    row_bytes: float,
    span: int | None,
    lifetimes: str,
    long_share: float,
    last: int,
    probes: float,
    probe_rows: float,
    scans: float,
    probe_ms_max: float | None,
    files_max: float | None,
    dead_share_max: float | None,
) -> None:
    """Say which layout and strategy suit a workload: one described here, or what an archive received.

    \b
    Examples:
      tidewheel advise --rows-per-interval 14000 --row-bytes 1000 --span 36 --probes 200
      tidewheel advise --rows-per-interval 1e6 --span 288 --lifetimes heavy --dead-share-max 0
      tidewheel advise netflow --probes 1000 --probe-rows 50
    """  # fmt: skip
    from tidewheel.indexing.cost.advisor import Constraints

    limits = Constraints(None if probe_ms_max is None else probe_ms_max / 1000, files_max, dead_share_max)
    if archive is not None:
        with opened(output, archive, "simulating") as opened_archive:
            advice = opened_archive.advise(
                last=last, probes=probes, scans=scans, probe_rows=probe_rows, constraints=limits
            )
    else:
        if rows is None or span is None:
            raise InvalidInput(
                "a workload needs rows per interval and a span",
                "give --rows-per-interval and --span, or an archive to learn from",
            )
        with output.working("simulating"):
            reads = (probes, scans, probe_rows)
            advice = _advice(rows, row_bytes, _lifetimes(lifetimes, span, long_share), reads, limits)
    _show_advice(output, advice)


@command
@ARCHIVE
@click.option(
    "--updates",
    type=click.IntRange(min=1, max=10_000),
    default=12,
    show_default=True,
    metavar="N",
    help="How many updates to look ahead.",
)
@click.option(
    "--assume-last",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Assume batches like the mean of the last N slots; 0: nothing more arrives.",
)
def forecast(output: Output, archive: str, updates: int, assume_last: int) -> None:
    """Say what the coming updates will expire, rewrite and leave.

    What is stored is forecast exactly, since every record carries its expiry; what is rewritten is an
    estimate, and what arrives an assumption, which the answer states.

    \b
    Examples:
      tidewheel forecast netflow --updates 6
      tidewheel forecast netflow --updates 6 --assume-last 12
    """  # fmt: skip
    with opened(output, archive, "looking ahead") as opened_archive:
        told = opened_archive.forecast(updates, assume_last=assume_last)

    from tidewheel.views.planning import forecast_view

    output.show(told.to_json(), lambda: forecast_view(told, opened_archive.axis))


def _advice(
    rows: float, row_bytes: float, lifetimes: Lifetimes, reads: tuple[float, float, float], limits: Constraints
) -> Advice:
    from tidewheel.indexing.cost.advisor import advise
    from tidewheel.indexing.cost.workloads import Workload

    return advise(Workload(rows, rows * row_bytes, lifetimes, *reads), limits)


def _lifetimes(kind: str, span: int, long_share: float) -> Lifetimes:
    from tidewheel.indexing.cost import workloads

    if kind == "bimodal":
        return workloads.bimodal(max(1, span // 10), span, long_share)
    return {"uniform": workloads.uniform, "constant": workloads.constant, "heavy": workloads.heavy_tailed}[kind](span)


def _show_advice(output: Output, advice: Advice) -> None:
    from tidewheel.views.planning import advice_view

    output.show(advice.to_json(), lambda: advice_view(advice))
