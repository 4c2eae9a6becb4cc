"""docs/scale.md and its figure, from results/scale.json alone; what follows from them is in limits.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness.plots import OURS

DOCS = Path(__file__).parent.parent.parent / "docs"
LIMITS = Path(__file__).with_name("limits.md")
FIGURE = "scale.png"
CPU = "processor_seconds"
Found = dict[str, Any]


def _sum(found: Found, step: str, *parts: str, of: str = "seconds") -> float:
    return sum(float(found[step][part][of]) for part in parts)


def _took(step: str, *parts: str) -> Callable[[Found], str]:
    """Processor seconds, and in brackets what passed meanwhile."""

    def told(found: Found) -> str:
        processor, wall = _sum(found, step, *parts, of=CPU), _sum(found, step, *parts)
        return f"{processor:.3g} ({wall:.3g})"

    return told


_OPENED = ("open", "files", "ledger", "plan")
# What is told of an archive: the words, and what stands in its column.
ROWS: tuple[tuple[str, Callable[[Found], str]], ...] = (
    ("files", lambda one: f"{one['files']:,}"),
    ("slots", lambda one: f"{one['slots']:,}"),
    ("data, on paper", lambda one: f"{one['files'] / 1e6:g} PB"),
    ("open: the log, every file's name hashed, s", _took("plan", "open", "files")),
    ("the ledger, s", _took("plan", "ledger")),
    ("plan of the next update, s", _took("plan", "plan")),
    ("**open and plan, s**", _took("plan", *_OPENED)),
    ("memory then, at most", lambda one: f"{one['plan']['peak_bytes'] / 1e9:.2f} GB"),
    ("**probe pruned, open handle, s**", _took("probe", "pruned")),
    ("files that may have the key", lambda one: f"{one['probe']['admitted']:,}"),
    ("`status`, s", _took("look", "status")),
    ("`audit`, before the first file, s", _took("audit", "ledger", "log", "list", "cells")),
    ("an `expire` that drops files, whole, s", _took("commit", "expire")),
    ("a ledger file, s", _took("keep", "fold")),
    ("a checkpoint, written and read back, s", _took("keep", "checkpoint")),
    ("memory then, at most", lambda one: f"{one['keep']['peak_bytes'] / 1e9:.2f} GB"),
    ("size of a ledger file", lambda one: f"{one['ledger_bytes'] / 1e6:.1f} MB"),
    ("size of a checkpoint", lambda one: f"{one['checkpoint_bytes'] / 1e6:.1f} MB"),
)


def write_report(values: Found) -> None:
    _draw(values, DOCS / "images" / FIGURE)
    (DOCS / "scale.md").write_text("\n".join(_page(values)) + "\n")


def _page(values: Found) -> Iterator[str]:
    machine, papers = values["machine"], values["papers"]
    yield "# How far an archive carries"
    yield ""
    yield "Written by `python -m benchmarks scale`; do not edit. Measured on"
    yield f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gb']:.0f} GB, local disk."
    yield ""
    yield "Logs, checkpoints and ledgers are real, written by the product; the data files are only named, 1 GB each. A"
    yield "slot brings records of five lives, and all are alive. Each step runs in a process of its own, open, plan and"
    yield "probe three times, of which the quickest is told. Seconds are the processor's; in brackets what passed"
    yield "meanwhile."
    yield ""
    yield f"| | {' | '.join(papers)} |"
    yield f"|---|{'---|' * len(papers)}"
    for words, told in ROWS:
        yield f"| {words} | {' | '.join(told(one) for one in papers.values())} |"
    yield ""
    yield f"![Processor seconds by the number of files; milliseconds by the number of commits](images/{FIGURE})"
    yield ""
    if life := values.get("life"):
        yield from _life(life)
    if view := values.get("view"):
        yield from _view(view)
    yield LIMITS.read_text().rstrip()


def _life(life: list[Found]) -> Iterator[str]:
    yield "## A long log"
    yield ""
    yield "One archive of 2,500 files, commit after commit, and no vacuum in between. Each is an expiry; after 900"
    yield "no file is left, and what a commit costs is what the log's length makes it cost. Medians of 50 commits:"
    yield ""
    picked = [life[round(at * (len(life) - 1) / 4)] for at in range(5)]
    yield "| | " + " | ".join(f"commit {one['version']:,.0f}" for one in picked) + " |"
    yield f"|---|{'---|' * len(picked)}"
    rows = (
        ("open", "open_ms", "{:.1f} ms"), ("state, with the ledger", "state_ms", "{:.1f} ms"),
        ("expire, whole", "expire_ms", "{:.1f} ms"), ("processor, all three", "processor_ms", "{:.1f} ms"),
        ("files of the log", "log_files", "{:,.0f}"), ("files of the ledger", "ledger_files", "{:,.0f}"),
    )  # fmt: skip
    for words, name, form in rows:
        yield f"| {words} | {' | '.join(form.format(one[name]) for one in picked)} |"
    yield ""


def _view(view: Found) -> Iterator[str]:
    yield "## The view that reads the log itself"
    yield ""
    yield f"`tidewheel sql --view duckdb_log` over {view['files']:,} real files with {view['records']:,} records,"
    yield "asked by plain DuckDB; beside it the view that lists the files of one version. The quickest of five times."
    yield ""
    yield "| | lists its files | reads the log |"
    yield "|---|---|---|"
    for words, name in (("count of all records", "count"), ("a key that every file has", "probe")):
        of_one, of_log = (view[f"{dialect}_{name}_seconds"] for dialect in ("duckdb", "duckdb_log"))
        yield f"| {words} | {of_one:.2f} s | {of_log:.2f} s |"
    yield ""


def _draw(values: Found, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    papers = [one for name, one in values["papers"].items() if "large" not in name]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    lines: dict[str, Callable[[Found], float]] = {
        "open and plan": lambda one: _sum(one, "plan", *_OPENED, of=CPU),
        "of it the ledger": lambda one: _sum(one, "plan", "ledger", of=CPU),
        "status": lambda one: _sum(one, "look", "status", of=CPU),
        "expire, whole": lambda one: _sum(one, "commit", "expire", of=CPU),
        "checkpoint": lambda one: _sum(one, "keep", "checkpoint", of=CPU),
        "probe pruned": lambda one: _sum(one, "probe", "pruned", of=CPU),
    }
    for name, value in lines.items():
        left.plot([one["files"] for one in papers], [value(one) for one in papers], "o-", ms=3.5, lw=1.4, label=name)
    left.set(xscale="log", yscale="log", xlabel="files", title="processor seconds")
    left.legend(frameon=False, fontsize=7)
    life = values.get("life", [])
    right.plot([one["version"] for one in life], [one["processor_ms"] for one in life], color=OURS)
    title = "open, state and expire: processor milliseconds"
    right.set(xlabel="commits in one log, of which 900 take out files", title=title, ylim=(0, None))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
