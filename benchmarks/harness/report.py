"""Everything made from results: ratios.json, medium.json, the figures and docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.archives.cost_check import medium_text, write_constants
from benchmarks.harness.goals import Ratio, ratios
from benchmarks.harness.page import page
from benchmarks.harness.results import Results
from benchmarks.harness.store import RESULTS, write_json
from benchmarks.standing import refresh_costs
from tidewheel.indexing.cost import model as costs

DOCS = Path(__file__).parents[2] / "docs"
MEDIUM = Path(costs.__file__).with_name("medium.py")
_MARKS = {True: "met", False: "NOT MET", None: "not measured"}


def write_report(folder: Path = RESULTS, docs: Path | None = None) -> Iterator[str]:
    """Write it all; a line for each goal. Figures and page only beside the results that belong to the repository."""
    results = Results(folder)
    if not results.stores:
        yield f"no results in {folder}"
        return
    found = ratios(results)
    write_json(folder / "ratios.json", [one.to_json() for one in found])
    medium = write_constants(results, folder / "medium.json")
    if docs is None and folder == RESULTS:
        docs = DOCS
    if docs is not None:
        from benchmarks.harness.plots import draw_all

        images = draw_all(results, docs / "images")
        (docs / "benchmarks.md").write_text(page(results, found, medium, images))
    for one in found:
        yield said(one)


def adopt(folder: Path = RESULTS) -> None:
    """The constants of both cost models become those that were fitted to the results."""
    results = Results(folder)
    values = write_constants(results, folder / "medium.json")
    constants = refresh_costs.known(folder)["constants_ns"]
    MEDIUM.write_text(medium_text(values, constants, results.stores[0].values["machine"]))


def said(ratio: Ratio) -> str:
    value = "-" if ratio.value is None else f"{ratio.value:.3g}"
    return f"{_MARKS[ratio.ok]:12} {value:>8} {ratio.goal:>8}  {ratio.name}  [{ratio.how}]"
