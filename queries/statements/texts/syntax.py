"""The parts of a CQL text as it is written, before any column is looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidewheel.queries.statements.statement import Output
from tidewheel.queries.statements.texts.words import Words

FOLDS = ("count", "sum", "min", "max", "avg")
STREAMS = {"istream": Output.ISTREAM, "dstream": Output.DSTREAM, "rstream": Output.RSTREAM}
SIGNS = ("<=", ">=", "<>", "!=", "=", "<", ">")


@dataclass(frozen=True)
class WindowText:
    """RANGE (`length`) or ROWS; neither is an unbounded stream."""

    length: int | None = None
    rows: int | None = None
    per: tuple[str, ...] = ()
    internal: bool | None = None  # None: not said
    slide: int | None = None


@dataclass(frozen=True)
class SourceText:
    """`kind` is stream, nrr or rel."""

    name: str
    alias: str
    window: WindowText
    kind: str = "stream"


@dataclass(frozen=True)
class ConditionText:
    column: str
    sign: str
    value: int | str
    with_column: bool


@dataclass(frozen=True)
class AbsentText:
    """NOT EXISTS (SELECT * FROM source WHERE conditions)."""

    source: SourceText
    where: tuple[ConditionText, ...]


@dataclass(frozen=True)
class Item:
    """A column, or an aggregate of one; `*` is all columns."""

    column: str
    function: str = ""


@dataclass(frozen=True)
class ListText:
    """The list that is selected. `outer` folds the values that the Wstream of an inner aggregate keeps."""

    items: tuple[Item, ...]
    output: Output = Output.ANSWER
    restore: bool = False
    rows: int | None = None
    length: int | None = None
    outer: str = ""


@dataclass(frozen=True)
class SelectText:
    distinct: bool
    chosen: ListText
    sources: tuple[SourceText, ...]
    where: tuple[ConditionText, ...]
    absent: tuple[AbsentText, ...]
    by: tuple[str, ...]


def read_select(words: Words) -> SelectText:
    """Take one SELECT."""
    words.take("select")
    distinct = words.takes("distinct")
    chosen = _list(words)
    words.take("from")
    sources = [_source(words)]
    while words.takes(","):
        sources.append(_source(words))
    where: list[ConditionText] = []
    absent: list[AbsentText] = []
    while words.takes("where") or ((where or absent) and words.takes("and")):
        if words.takes("not", "exists"):
            absent.append(_absent(words))
        else:
            where.append(_condition(words))
    by = words.names() if words.takes("group", "by") else ()
    return SelectText(distinct, chosen, tuple(sources), tuple(where), tuple(absent), by)


def _list(words: Words) -> ListText:
    stream = words.peek().removesuffix("-restore")
    if stream in STREAMS and words.peek(1) == "(":
        restore = words.name().lower().endswith("-restore")
        return replace(_in_brackets(words), output=STREAMS[stream], restore=restore)
    if stream == "wstream":
        return _output_window(words)
    if stream in FOLDS and words.peek(1) == "(" and words.peek(2).startswith("wstream"):
        function = words.name().lower()
        words.take("(")
        found = replace(_output_window(words), outer=function)
        words.take(")")
        return found
    return ListText(_items(words))


def _in_brackets(words: Words) -> ListText:
    words.take("(")
    found = ListText(_items(words))
    words.take(")")
    return found


def _output_window(words: Words) -> ListText:
    """Take Wstream(...)[ROWS n] or [RANGE t]."""
    restore = words.name().lower().endswith("-restore")
    found = replace(_in_brackets(words), output=Output.WSTREAM, restore=restore)
    words.take("[")
    found = replace(found, rows=words.number()) if words.takes("rows") else _length(words, found)
    words.take("]")
    return found


def _length(words: Words, found: ListText) -> ListText:
    words.take("range")
    return replace(found, length=words.time())


def _items(words: Words) -> tuple[Item, ...]:
    found = [_item(words)]
    while words.takes(","):
        found.append(_item(words))
    return tuple(found)


def _item(words: Words) -> Item:
    if words.takes("*"):
        return Item("*")
    name = words.name()
    if name.lower() not in FOLDS or not words.takes("("):
        return Item(name)
    column = "" if words.takes("*") else words.name()
    words.take(")")
    return Item(column, name.lower())


def _source(words: Words) -> SourceText:
    if words.peek() in ("nrr", "rel") and words.peek(1) == "(":
        kind = words.name().lower()
        words.take("(")
        name = words.name()
        words.take(")")
        return SourceText(name, "", WindowText(), kind)
    name = words.name()
    window = _window(words) if words.takes("[") else WindowText()
    following = words.peek()
    is_alias = following.isidentifier() and following not in ("where", "group", "except", "union", "and")
    alias = words.name() if words.takes("as") or is_alias else ""
    return SourceText(name, alias, window)


def _window(words: Words) -> WindowText:
    found = _extent(words)
    if words.peek() in ("internal", "external"):
        found = replace(found, internal=words.name().lower() == "internal")
    if words.takes("slide"):
        found = replace(found, slide=words.time())
    words.take("]")
    return found


def _extent(words: Words) -> WindowText:
    if words.takes("now"):
        return WindowText(length=1)
    if words.takes("unbounded"):
        return WindowText()
    per = words.names() if words.takes("partition", "by") else ()
    if per or words.peek() == "rows":
        words.take("rows")
        return WindowText(rows=words.number(), per=per)
    words.take("range")
    return WindowText(length=words.time())


def _condition(words: Words) -> ConditionText:
    column = words.name()
    sign = next((one for one in SIGNS if words.takes(one)), None)
    if sign is None:
        words.fail("a comparison")
    sign = "<>" if sign == "!=" else sign
    if words.is_constant():
        return ConditionText(column, sign, words.constant(), False)
    return ConditionText(column, sign, words.name(), True)


def read_conditions(words: Words) -> tuple[ConditionText, ...]:
    """Take conditions joined by AND."""
    found = [_condition(words)]
    while words.takes("and"):
        found.append(_condition(words))
    return tuple(found)


def _absent(words: Words) -> AbsentText:
    words.take("(", "select", "*", "from")
    source = _source(words)
    words.take("where")
    where = read_conditions(words)
    words.take(")")
    return AbsentText(source, where)
