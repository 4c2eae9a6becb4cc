"""Kinds of value that say where data lies: paths, formats, functions, and options without secrets in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tidewheel.indexing.archive_file.source_paths import check_template
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.toml.kinds import IDENTIFIER, WHOLE_MAX, ValueKind, check_each, kind_name, some_text

# Whom a topic is read from, as the two clients that ask for it agree on; secrets by ${ENV:NAME} only.
CLIENT_OPTIONS = (
    "bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password", "ssl.ca.location",
    "ssl.keystore.location", "ssl.keystore.password",
)  # fmt: skip
_ENV_REFERENCE = re.compile(r"\$\{ENV:[A-Za-z_][A-Za-z0-9_]*\}")
_ENV_REMEDY = "keep secrets out of the file: write ${ENV:NAME}, which is read from the environment at run time"
_SECRET_WORD = r"(?:pass(?:word|wd|phrase)|secret|token(?!s|iz)|(?:access|account|api|private)[._-]?key)"
_SECRET_NAME = re.compile(_SECRET_WORD, re.IGNORECASE)
# Options about a secret that do not hold it: where it lies, who provides it, how long it lives.
_ABOUT_SECRETS = re.compile(
    r"(?:url|uri|endpoint|location|path|file|provider|class|type|name|ms|seconds|timeout)$", re.IGNORECASE
)
# `password=...` within a longer value, and `user:password@host` within a URL.
_SECRET_IN_VALUE = re.compile(rf"{_SECRET_WORD} *= *[\"']?[^\s\"'&;]|://[^/@:\s]+:[^/@\s;]+@", re.IGNORECASE)


def _archive_path(value: object) -> str:
    checked = some_text(value)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", checked)
    if scheme and scheme[1].lower() in ("s3", "s3n"):
        raise InvalidInput(f"{scheme[1]} is not how Spark names S3", f"write s3a:{checked[len(scheme[0]) :]}")
    if scheme and not re.match(r"s3a://[^/]+/.+", checked):
        raise InvalidInput("neither a local path nor s3a://bucket/path", "give one of these two")
    if checked.startswith("~"):
        raise InvalidInput("~ is not expanded", "write the whole path, or one relative to this file")
    return checked


def _template(value: object) -> str:
    checked = some_text(value)
    check_template(checked)
    return checked


def _callable(value: object) -> str:
    checked = some_text(value)
    if not re.fullmatch(rf"{IDENTIFIER}(\.{IDENTIFIER})*:{IDENTIFIER}", checked):
        raise InvalidInput("not a function's place", 'write "package.module:function"')
    return checked


def _spark_format(value: object) -> str:
    checked = some_text(value)
    if not re.fullmatch(rf"{IDENTIFIER}([.-][A-Za-z0-9_]+)*", checked):
        raise InvalidInput("not the name of a Spark format", 'write, for example, "parquet", "json" or "jdbc"')
    return checked


def _topic(value: object) -> str:
    checked = some_text(value)
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", checked) or checked in (".", ".."):
        raise InvalidInput("not a name that Kafka takes", "give letters, digits, dots, underscores and hyphens")
    return checked


def _options(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{kind_name(value)}, not a table", "write [source.options] with one line per option")
    set_so_far: set[str] = set()
    return dict(check_each(partial(_option, path, given, set_so_far) for path, given in _flat(value)))


def _flat(table: dict[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Return options by their key paths: TOML reads `kafka.topic = ...` as a table, Spark wants the dotted name."""
    left: list[tuple[tuple[str, ...], object]] = [((name,), value) for name, value in reversed(table.items())]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left.extend(((*path, name), one) for name, one in reversed(value.items()))
        else:
            yield path, value


def _option(path: tuple[str, ...], value: object, set_so_far: set[str]) -> tuple[str, str]:
    name = ".".join(path)
    wrong, remedy = _option_fault(name, value, set_so_far)
    if wrong:
        raise InvalidInput(wrong, remedy, within=path)
    set_so_far.add(name)
    return name, str(value).lower() if isinstance(value, bool) else str(value)


def _option_fault(name: str, value: object, set_so_far: set[str]) -> tuple[str, str]:
    """Return the fault of an option and its remedy; the option's value may be a secret, so neither holds it."""
    if not name or not name.isprintable():
        return "an option has no name that can be seen", "give it the name that Spark knows"
    if name in set_so_far:
        return f"option {name} is set twice", "set it once"
    if not isinstance(value, str | int | float) or (isinstance(value, int) and abs(value) > WHOLE_MAX):
        return f"option {name} is {kind_name(value)} that Spark does not take", "write its value as a string"
    written = str(value)
    literal = _ENV_REFERENCE.sub("", written)
    if "${" in literal:
        return f"option {name} holds a ${{ that is no environment reference", "write ${ENV:NAME}"
    names_secret = _SECRET_NAME.search(name) and not _ABOUT_SECRETS.search(name)
    if (names_secret and literal == written) or _SECRET_IN_VALUE.search(_ENV_REFERENCE.sub(";", written)):
        return f"option {name} holds a secret", _ENV_REMEDY
    return "", ""


ARCHIVE_PATH = ValueKind("local path or s3a://", _archive_path)
PATH_TEMPLATE = ValueKind("path template", _template)
CALLABLE = ValueKind("package.module:function", _callable)
TOPIC = ValueKind("name of a topic", _topic)
SPARK_FORMAT = ValueKind("Spark format", _spark_format)
OPTIONS = ValueKind("table of strings", _options)
