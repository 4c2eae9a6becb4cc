"""The address of an archive: its names for delta-rs, pyarrow, Spark and people. It touches no file."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

# Side files live under a name that starts with an underscore: Delta's vacuum and Spark's readers pass it by.
SIDE_FOLDER = "_tidewheel"
_GLOB_SIGNS = re.compile(r"([\\\[\]{}*?])")


@dataclass(frozen=True)
class Address:
    """The address of the root of an archive's table."""

    uri: str

    @property
    def is_local(self) -> bool:
        return "://" not in self.uri

    def command(self, verb: str) -> str:
        """Return a command line that names the archive by its place.

        >>> Address("/data/of today").command("audit")
        "tidewheel audit '/data/of today'"
        """
        return shlex.join(["tidewheel", verb, self.uri])

    def aside_command(self) -> str:
        """Return a command line that moves all that lies here out of the way; on object stores it is the AWS CLI's.

        >>> Address("s3a://bucket/m.answers").aside_command()
        'aws s3 mv --recursive s3://bucket/m.answers/ s3://bucket/m.answers.damaged/'
        """
        if self.is_local:
            return shlex.join(["mv", self.uri, f"{self.uri}.damaged"])
        return shlex.join(["aws", "s3", "mv", "--recursive", f"{self.delta_uri}/", f"{self.delta_uri}.damaged/"])

    @property
    def delta_uri(self) -> str:
        return self.uri.replace("s3a://", "s3://", 1)

    @property
    def spark_uri(self) -> str:
        # Not percent-encoded: Spark and Hadoop would take the escapes for part of the name.
        return f"file://{self.uri}" if self.is_local else self.uri

    @property
    def root(self) -> str:
        """Return the root as the pyarrow file system names it."""
        return self.uri if self.is_local else self.uri.removeprefix("s3a://")

    def child(self, relative: str) -> str:
        return f"{self.root}/{relative}"

    def side(self, relative: str) -> str:
        return self.child(f"{SIDE_FOLDER}/{relative}")

    def spark_paths(self, relatives: list[str]) -> list[str]:
        """Return paths of files for Spark to read, which takes every path for a pattern."""
        return [_GLOB_SIGNS.sub(r"\\\1", f"{self.spark_uri}/{relative}") for relative in relatives]

    def relative(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/")
