"""The nodes of a plan: what all of them tell, streams, and the checks that every operator makes of its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tidewheel.indexing.errors import InvalidInput

Pairs = tuple[tuple[str, str], ...]  # (column of the left input, column of the right one)


class Operator(ABC):
    """A node of a plan. `title` is how people are told of it."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Operator, ...]: ...

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def title(self) -> str: ...

    @abstractmethod
    def over(self, *inputs: Operator) -> Operator:
        """Return the same operator over other inputs."""


@dataclass(frozen=True)
class Stream(Operator):
    """An unbounded stream: its tuples never expire."""

    name: str
    fields: tuple[str, ...]
    alias: str = ""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{self.alias or self.name}.{field}" for field in self.fields)

    @property
    def title(self) -> str:
        return f"stream {self.name}" + (f" as {self.alias}" if self.alias else "")

    def over(self, *inputs: Operator) -> Operator:
        return self


@dataclass(frozen=True)
class Unary(Operator, ABC):
    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    def over(self, *inputs: Operator) -> Operator:
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Binary(Operator, ABC):
    left: Operator
    right: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    def over(self, *inputs: Operator) -> Operator:
        return replace(self, left=inputs[0], right=inputs[1])


def operators(plan: Operator) -> Iterator[Operator]:
    """Give every operator of the plan, each before its inputs."""
    yield plan
    for one in plan.inputs:
        yield from operators(one)


def check_columns(one: Unary, columns: Iterable[str]) -> None:
    unknown = sorted(set(columns) - set(one.input.columns))
    if unknown:
        raise InvalidInput(
            f"{one.title} names {', '.join(unknown)}, which its input has not",
            f"there are {', '.join(one.input.columns)}",
        )


def check_pairs(one: Operator, left: Operator, right: tuple[str, ...], on: Pairs) -> None:
    for ours, theirs in on:
        if ours not in left.columns or theirs not in right:
            raise InvalidInput(
                f"{one.title} compares {ours} with {theirs}, which are no columns of its inputs",
                f"left there are {', '.join(left.columns)}; right there are {', '.join(right)}",
            )


def check_names(one: Operator) -> None:
    if len(set(one.columns)) < len(one.columns):
        twice = sorted({name for name in one.columns if one.columns.count(name) > 1})
        raise InvalidInput(f"{one.title}: {', '.join(twice)} is in both inputs", "give one of the streams an alias")


def pairs_text(on: Pairs) -> str:
    return " and ".join(f"{ours} = {theirs}" for ours, theirs in on)
