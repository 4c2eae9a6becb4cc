"""Results on disk: results/<profile>.json, every sample of every contender; written after each one."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "results"
PACKAGES = (
    "tidewheel", "pyspark", "delta-spark", "deltalake", "duckdb", "pyarrow", "numpy", "chdb", "polars", "pandas",
    "bottleneck", "scipy",
)  # fmt: skip


class Store:
    """The results of one profile: races → contenders → samples, and experiments beside them."""

    def __init__(self, profile: str, folder: Path = RESULTS) -> None:
        self.path = folder / f"{profile}.json"
        self.values: dict[str, Any] = {"profile": profile, "machine": machine(), "races": {}, "experiments": {}}
        if self.path.exists():
            self.values = json.loads(self.path.read_text())

    def has(self, race: str, contender: str, fingerprint: str) -> bool:
        """Whether a finished result for exactly this is there."""
        result = self.race(race).get(contender, {})
        return result.get("fingerprint") == fingerprint and "updates" in result

    def race(self, name: str) -> dict[str, Any]:
        contenders: dict[str, Any] = self.values["races"].get(name, {}).get("contenders", {})
        return contenders

    def put(self, race: str, stream: dict[str, Any], contender: str, result: dict[str, Any]) -> None:
        entry = self.values["races"].setdefault(race, {"stream": stream, "contenders": {}})
        entry["stream"] = stream
        entry["contenders"][contender] = {**result, "measured_at": now()}
        self.save()

    def keep(self, contenders: Mapping[str, Sequence[str]]) -> None:
        """Drop what is of no race of the profile, or was once: a page must not compare across runs."""
        races = {name: race for name, race in self.values["races"].items() if name in contenders}
        for name, race in races.items():
            race["contenders"] = {one: race["contenders"][one] for one in contenders[name] if one in race["contenders"]}
        self.values["races"] = races

    def experiment(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.values["experiments"].get(name, {})
        return found

    def put_experiment(self, name: str, result: dict[str, Any]) -> None:
        self.values["experiments"][name] = {**result, "measured_at": now()}
        self.save()

    def finish_experiment(self, unfinished: str, name: str, result: dict[str, Any]) -> None:
        """What was kept while it ran is a result now."""
        self.values["experiments"].pop(unfinished, None)
        self.put_experiment(name, result)

    def results(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Every finished result: race, contender, samples."""
        for race in self.values["races"]:
            for name, result in self.race(race).items():
                if "updates" in result:
                    yield race, name, result

    def save(self) -> None:
        self.values["machine"] = machine()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.path, self.values)


def write_json(path: Path, values: Any) -> None:
    """Whole or not at all; numbers short, one sample a line, so that files stay readable and small."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(_text(values, 0) + "\n")
    unfinished.replace(path)


def machine() -> dict[str, Any]:
    """Where this ran and with what."""
    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
    }


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.processor())


def _text(value: Any, depth: int) -> str:
    """JSON with nested objects on lines of their own down to the samples, each of which is one line."""
    if isinstance(value, dict) and depth < 5 and value:
        inner = ",\n".join(f"{' ' * (depth + 1)}{json.dumps(k)}: {_text(v, depth + 1)}" for k, v in value.items())
        return f"{{\n{inner}\n{' ' * depth}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        inner = ",\n".join(f"{' ' * (depth + 1)}{json.dumps(_rounded(one))}" for one in value)
        return f"[\n{inner}\n{' ' * depth}]"
    return json.dumps(_rounded(value))


def _rounded(value: Any) -> Any:
    """Numbers to six significant digits; more is noise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    return value
