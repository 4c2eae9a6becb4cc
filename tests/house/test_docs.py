"""The documentation is run: the README's blocks in order, and every link of every page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


def test_the_readme_works_as_written(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
    }
    printed = ""
    for language, text in BLOCK.findall((ROOT / "README.md").read_text()):
        if language == "text":
            assert text in printed, f"the README shows\n{text}\nbut this was printed:\n{printed}"
            continue
        command = {"bash": ["bash", "-euc", text], "python": [sys.executable, "-c", text]}[language]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        found = (page.parent / target).resolve()
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, f"{target}#{anchor}"


def test_no_page_or_example_teaches_a_column_that_needs_quotes() -> None:
    """As `at` does since DuckDB 2.0."""
    texts = [*PAGES, *(ROOT / "examples").glob("*/*.toml")]
    schemas = [one for path in texts for one in re.findall(r'^schema = "(.*)"$', path.read_text(), re.MULTILINE)]
    columns = {column.split()[0] for schema in schemas for column in re.sub(r"[(<].*?[)>]", "", schema).split(", ")}
    assert {"sensor", "visitor", "person"} <= columns
    for column in sorted(columns):
        assert duckdb.connect().execute(f'select {column} from (select 1 as "{column}")').fetchall() == [(1,)], column


def test_every_page_of_the_manual_is_in_the_navigation_of_the_site() -> None:
    """Which otherwise the build of the site finds out, at night."""
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f": docs/{page.name}\n" in navigation, page.name
