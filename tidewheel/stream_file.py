"""A file that describes streams and their joins: TOML, or JSON by its ending."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import one_line
from tidewheel.queries.literature.optimiser.description import Described, described


def read_stream_file(path: Path) -> Described:
    """Read a description; what is wrong with it is told with the file's name."""
    try:
        document = _document(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {one_line(str(error))}", "name a file that can") from None
    except ValueError as error:
        raise InvalidInput(f"{path} cannot be parsed: {one_line(str(error))}", "mend the file") from None
    try:
        return described(document)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", error.remedy) from None


def _document(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
