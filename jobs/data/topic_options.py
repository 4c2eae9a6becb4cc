"""A topic's broker for two clients that name options differently.

librdkafka asks the broker for offsets, and Spark's connector, which is Java, reads the messages. An archive file uses
the names of librdkafka.
"""

from __future__ import annotations

from tidewheel.indexing.core.definition import Source
from tidewheel.indexing.errors import InvalidInput
from tidewheel.jobs.data.source_options import with_environment

_SAME = (
    "bootstrap.servers", "security.protocol", "sasl.mechanism", "ssl.keystore.location", "ssl.keystore.password",
)  # fmt: skip
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def client_options(source: Source) -> dict[str, str]:
    """Return the options for librdkafka: as they are."""
    given = with_environment(source.options)
    _login_module(given)
    return given


def spark_options(source: Source) -> dict[str, str]:
    """Return the options for Spark's connector. It does not read messages of aborted transactions."""
    given = with_environment(source.options)
    options = {f"kafka.{name}": given[name] for name in _SAME if name in given}
    options["kafka.isolation.level"] = "read_committed"
    if module := _login_module(given):
        user, password = _in_quotes(given["sasl.username"]), _in_quotes(given["sasl.password"])
        options["kafka.sasl.jaas.config"] = f"{module} required username={user} password={password};"
    if "ssl.ca.location" in given:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.location"] = given["ssl.ca.location"]
    if "ssl.keystore.location" in given:
        options["kafka.ssl.keystore.type"] = "PKCS12"  # the only one that librdkafka reads
    return options


def _login_module(given: dict[str, str]) -> str:
    """Return the module that Java logs in by; nothing if nobody logs in."""
    if not given.get("security.protocol", "").upper().startswith("SASL_"):
        return ""
    module = _MODULES.get(given.get("sasl.mechanism", "").upper())
    if module is None or "sasl.username" not in given or "sasl.password" not in given:
        raise InvalidInput(
            "[source.options] security.protocol logs in, but sasl.mechanism, sasl.username and sasl.password do not "
            "say how",
            f"set all three; known mechanisms are {', '.join(_MODULES)}",
        )
    return module


def _in_quotes(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
