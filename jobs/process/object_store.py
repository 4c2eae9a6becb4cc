"""Spark's settings for the object store: its place, from the AWS_* environment; never a secret.

Spark passes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from the driver's environment to S3A by
itself, inside its Hadoop configuration; without them S3A asks the machine it runs on. So no key is ever a setting of
the session, where it would be on Java's command line.
"""

from __future__ import annotations

from collections.abc import Mapping

_PREFIX = "spark.hadoop.fs.s3a."


def object_store_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return session settings for s3a:// paths.

    >>> settings = object_store_settings({"AWS_ENDPOINT_URL": "http://127.0.0.1:7070"})
    >>> settings["spark.hadoop.fs.s3a.path.style.access"]
    'true'
    """
    settings = {
        # The reader that Hadoop 3.5 made the default keeps something of every object it opened until Spark ends.
        "input.stream.type": "classic",
        "endpoint.region": environment.get("AWS_REGION", "us-east-1"),
    }
    if endpoint := environment.get("AWS_ENDPOINT_URL"):
        # Stores other than Amazon's seldom have a host name for every bucket.
        settings |= {"endpoint": endpoint, "path.style.access": "true"}
    return {f"{_PREFIX}{key}": value for key, value in settings.items()}
