"""What every test shares."""

import platform
import subprocess
from importlib.metadata import version

SHOWN = ("pyspark", "delta-spark", "deltalake", "duckdb", "pyarrow")


def pytest_report_header() -> list[str]:
    """The versions a failure report needs."""
    try:
        java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    except FileNotFoundError:
        java = "none"
    packages = ", ".join(f"{name} {version(name)}" for name in SHOWN)
    return [f"Python {platform.python_version()}, Java: {java.partition(chr(10))[0]}", packages]
