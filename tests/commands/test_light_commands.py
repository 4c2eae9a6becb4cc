"""Commands that compute nothing start nothing: no Java, and not a line of PySpark is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.archives import SmallArchive
from tests.support.copies import copied

HEAVY = ("pyspark", "py4j", "pandas")
PROGRAM = f"""
import json, sys
from tidewheel.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    loaded = sorted({{name.partition(".")[0] for name in sys.modules}} & set({HEAVY!r}))
    print(json.dumps([ended.code, loaded]), file=sys.stderr)
"""


LIGHT = (
    "status", "history", "audit --quick", "expire --through", "undo --yes", "vacuum", "forget --key k0 --yes",
    "migrate --stop-and-rebuild --expiration-classes 3",
)  # fmt: skip


@pytest.mark.parametrize("command", LIGHT)
def test_no_spark_is_imported(five_slots_built: SmallArchive, tmp_path: Path, command: str) -> None:
    archive = copied(five_slots_built, tmp_path)
    words = command.split()
    if words[-1] == "--through":
        # Everything that is stored is gone by then: files are dropped, none is rewritten.
        words += [archive.axis.name(50), "--allow-future", "--allow-jump"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, words[0], archive.job.location.uri, *words[1:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(done.stderr.splitlines()[-1]) == [0, []], done.stdout + done.stderr
