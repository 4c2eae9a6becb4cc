"""docker-compose.yml, read for machines without Docker: its services as plain processes of this machine.

Only what this project's file uses is understood. Three things are put in place of what containers have:

    a service's name   this machine's loopback address
    a volume           a folder below the cluster's home, or the folder that is mounted
    a variable         its value in the environment file, by the rules of Compose
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LOOPBACK = "127.0.0.1"
_START = re.compile(r"\$(?:(\$)|\{(\w+)(:?[-?+])?)")


@dataclass(frozen=True)
class Service:
    """One service, ready to be started here; `waits_for` are services with what they must have reached."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    healthcheck: tuple[str, ...]
    waits_for: Mapping[str, str]
    replicas: int
    folders: Mapping[str, Path]


def read_environment_file(path: Path) -> dict[str, str]:
    """Return the variables of NAME=value lines; comments and empty lines are skipped."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def read_services(path: Path, variables: Mapping[str, str], home: Path) -> dict[str, Service]:
    """Return the services of the file's active profiles, in the order of their needs."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    profiles = set(variables.get("COMPOSE_PROFILES", "").split(","))
    active = {
        name: given
        for name, given in document["services"].items()
        if not given.get("profiles") or profiles & set(given["profiles"])
    }
    translation = _Translation(path.parent, variables, home, frozenset(document["services"]))
    services = {name: translation.service(name, given, active.keys()) for name, given in active.items()}
    return {name: services[name] for name in _in_order(services)}


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables replaced as Compose does.

    It knows ${NAME}, ${NAME:-default}, ${NAME:?message}, ${NAME:+instead} and $$. A default or a replacement may hold
    further variables.

    >>> interpolated("http://${HOST:-store}:$$", {"HOST": ""})
    'http://store:$'
    >>> interpolated("${HOST:+at ${PORT:?which port}}", {})
    ''
    """
    parts, at = [], 0
    while start := _START.search(text, at):
        dollar, name, sign = start.groups()
        end = start.end() if dollar else _end_of_braces(text, start.end())
        inner = text[start.end() : end - 1]
        parts += [text[at : start.start()], "$" if dollar else _value(name, sign or "", inner, variables)]
        at = end
    return "".join([*parts, text[at:]])


def _end_of_braces(text: str, at: int) -> int:
    """Return the place behind the brace that closes the open one."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def _value(name: str, sign: str, rest: str, variables: Mapping[str, str]) -> str:
    given = variables.get(name)
    there = bool(given) or (given == "" and not sign.startswith(":"))
    if sign.endswith("+"):
        return interpolated(rest, variables) if there else ""
    if there:
        return given or ""
    if sign.endswith("?"):
        raise ValueError(f"{name} is not set: {rest}")
    return interpolated(rest, variables) if sign else ""


@dataclass(frozen=True)
class _Translation:
    """The translation from a container's words to this machine's."""

    root: Path
    variables: Mapping[str, str]
    home: Path
    names: frozenset[str]

    def service(self, name: str, given: Mapping[str, Any], active: Any) -> Service:
        folders = dict(self._folder(name, str(volume)) for volume in given.get("volumes", ()))
        environment = {
            key: self._native(str(self.variables.get(key) if value is None else value), folders)
            for key, value in given.get("environment", {}).items()
            if value is not None or key in self.variables
        }
        waits_for = {
            needed: str(condition["condition"])
            for needed, condition in given.get("depends_on", {}).items()
            if needed in active
        }
        return Service(
            name,
            self._command(given.get("command", ()), folders),
            environment,
            self._command(given.get("healthcheck", {}).get("test", ("CMD",))[1:], folders),
            waits_for,
            int(given.get("deploy", {}).get("replicas", 1)),
            folders,
        )

    def _command(self, parts: Sequence[object], folders: Mapping[str, Path]) -> tuple[str, ...]:
        """Return the command; the program's own name stays as it is, even where it is also a service's."""
        words = [str(part) for part in parts]
        return (*words[:1], *(self._native(word, folders) for word in words[1:]))

    def _folder(self, service: str, volume: str) -> tuple[str, Path]:
        """Return a mount's path in the container, and its folder here."""
        parts = interpolated(volume, self.variables).removesuffix(":ro").split(":")
        inside = parts[-1]
        if len(parts) == 1:
            return inside, self.home / "volumes" / service
        if parts[0].startswith((".", "/")):
            return inside, (self.root / parts[0]).resolve()
        return inside, self.home / "volumes" / parts[0]

    def _native(self, text: str, folders: Mapping[str, Path]) -> str:
        text = interpolated(text, self.variables)
        for inside, folder in folders.items():
            text = re.sub(rf"{re.escape(inside)}(?=$|[/ \"])", str(folder), text)
        names = "|".join(map(re.escape, self.names))
        return re.sub(rf"(?:^|(?<=//)|(?<=@))(?:{names})(?=$|:\d)", LOOPBACK, text)


def _in_order(services: Mapping[str, Service]) -> Iterator[str]:
    """Return the names in an order that starts everything a service waits for before it."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name not in done:
            for needed in services[name].waits_for:
                visit(needed)
            done.append(name)

    for name in services:
        visit(name)
    yield from done
