"""Time spent waiting for the JVM, told apart from our own: every call of py4j goes through one method.

What is left of an update's time is Python: planning, delta-rs, reading back footers and narrow columns.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from py4j.java_gateway import GatewayClient


class JavaTime:
    """Counts calls into the JVM and how long they took, while it is entered.

    Worker threads may call too; an update of ours uses one.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    def __enter__(self) -> JavaTime:
        self._client = _client_class()
        self._original = self._client.send_command
        original = self._original

        def send_command(client: Any, *arguments: Any, **named: Any) -> Any:
            start = perf_counter()
            try:
                return original(client, *arguments, **named)
            finally:
                self.seconds += perf_counter() - start
                self.calls += 1

        self._client.send_command = send_command
        return self

    def __exit__(self, *error: object) -> None:
        self._client.send_command = self._original

    def figures(self) -> dict[str, float]:
        return {"java_ms": self.seconds * 1000, "java_calls": self.calls}


def _client_class() -> Any:
    """The class whose calls Spark's gateway makes: py4j's own or its client for pinned threads."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return GatewayClient if gateway is None else type(gateway._gateway_client)
