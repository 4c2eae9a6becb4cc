"""The documentation as a site: every page is there and in the search, and a broken link stops the build."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.services.browser import chromium, pictures_folder

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parent.parent.parent


def built(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "site"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built("--folder", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_every_page_is_there_and_found(site: Path) -> None:
    pages = [path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md")]
    assert pages
    found = {
        one["location"].partition("#")[0] for one in json.loads((site / "search/search_index.json").read_text())["docs"]
    }
    for page in pages:
        place = page.with_suffix("")
        assert (site / place / "index.html").is_file(), page
        assert f"{place}/" in found, page
    assert (site / "index.html").is_file()
    assert (site / "docs/images/grid.svg").is_file()


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert "fonts.g" not in page
    assert 'src="http' not in page


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for name in ("docs", "examples", "queries", "scripts"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml"):
        shutil.copy(path, tree)
    page = tree / "docs" / "promises.md"
    wrong = "[the page](nowhere.md), [the place](operations.md#nowhere), ![the picture](images/nowhere.png)"
    page.write_text(f"{page.read_text()}\n{wrong}\n")
    page.with_name("lost.md").write_text("# In no navigation\n")
    command = [sys.executable, str(tree / "scripts" / "site"), "--folder", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for said in ("nowhere.md", "#nowhere", "nowhere.png", "lost.md"):
        assert said in done.stderr


def test_it_looks_like_a_site(site: Path, tmp_path: Path) -> None:
    with served(site) as url, chromium(tmp_path / "profile") as browser:
        for dark in (False, True):
            browser.prefer(dark)
            browser.open(f"{url}/docs/operating-airflow/")
            assert "Operating archives under Airflow" in browser.text
            broken = "return [...document.images].filter(one => !one.naturalWidth).map(one => one.src)"
            assert browser.driver.execute_script(broken) == []
            assert browser.complaints == []
            browser.picture(
                pictures_folder(tmp_path) / f"site-{'dark' if dark else 'light'}.png", dark=dark, whole=False
            )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
