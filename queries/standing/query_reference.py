"""The manual page of query files, `docs/query-file.md`, written from the table of their fields."""

from __future__ import annotations

from tidewheel.indexing.toml.manual_pages import section_table
from tidewheel.queries.aggregates import HOLISTIC, MAKERS, ArgumentKind
from tidewheel.queries.standing.query_fields import FORM

_OPENING = """\
# The query file

A file `archives/queries/<name>.toml` holds one standing query or several. After each update a refresh brings
their answers up to date; [standing queries](standing-queries.md) says what that means. All faults of a file are
reported at once, each with its line, the value and the remedy:

    q.toml:5 [query] slide = 5: a number without a unit; use a duration such as "90s", "15m", "1h" or "7d"

This page is generated from the table of fields that files are checked against. So is what editors know of the file:
`tidewheel query schema > query.schema.json` writes a JSON schema, which TOML editors take in the file's first line as
`#:schema ../../query.schema.json`.

"""
_VALUES = """\
## How values are written

- **duration**: whole numbers with units, the largest first: `"90s"`, `"15m"`, `"1h30m"`, `"7d"`.
- **column**: a column of the archive, as `tidewheel query new` lists them.
- **SQL expression**: as DuckDB writes it. `where`, `group_by` and the arguments of aggregates are over the record's
  columns; `having` and `order_by` over the names of `select` and `group_by`. An output without a name is named after
  its aggregate and column. What another call may answer otherwise is refused in each of them: the clock, chance,
  settings, files, subqueries and window functions.
- A **slide** that is shorter than the archive's interval needs a column as time: the query's `time`, or else the
  archive's `inserted_at`. Without either, insertion is known by slots.
  What is alive is known at ends of slots: with `counts = "live"` the slide is a multiple of the interval.
- `order_by` and `limit` go together: an answer is a set of groups, and these keys say which of them are kept.
- `keep` is at least as long as `revise`.

"""
_EXAMPLES = """\
## Examples

The largest senders of the last six hours, every five minutes, kept for ninety days:

```toml
[query]
name = "top_talkers"
of = "netflow"
select = "sum(bytes) as bytes, count(*) as flows"
group_by = ["src_ip"]
order_by = "bytes desc"
limit = 10
window = "6h"
slide = "5m"
```

What is alive, by plan; of moments to come, what will be alive of what is stored:

```toml
[query]
name = "alive_by_plan"
of = "netflow"
select = "count(*) as flows"
group_by = ["plan"]
window = "live"
```

Two queries in one file, the second with a test, which `tidewheel query test netflow` runs:

```toml
[[query]]
name = "large_flows"
of = "netflow"
select = "count(*) filter (where bytes > 1000000) as large, count(*) as flows"
where = "protocol = 'tcp'"
window = "1h"
slide = "15m"

[[query]]
name = "spread_of_sizes"
of = "netflow"
select = "stddev(bytes) / avg(bytes) as spread"
group_by = ["lower(protocol) as protocol"]
having = "spread > 1"
window = "1d"
slide = "1h"
revise = "6h"
keep = "30d"

[[query.test]]
report = 2026-11-18T11:00:00Z
rows = [
    { flow_start = 2026-11-18T10:10:00Z, protocol = "TCP", bytes = 1 },
    { flow_start = 2026-11-18T10:20:00Z, protocol = "tcp", bytes = 9 },
]
answers = [{ protocol = "tcp", spread = 1.131370849898476 }]
```
"""

_APPROXIMATE = """`approx_quantile(x, 0.99)` is one of the records' values, at most 0.2 % of the records from the place
asked for; of up to 500 different values in each part of a window it is exact. `approx_count_distinct(x)` is within
1.6 %, 95 times of 100, `kll_quantile(x, 0.99)` within 1.3 % of the records, 99 times of 100: these two keep sketches
of a library, which other engines read as well: `pip install 'tidewheel[sketches]'`. A sketch of KLL tosses coins: where
partials are made anew of equal records, answers may differ within that error; an audit compares what sketches tell, not
their bytes. `tidewheel ask` tells the error beside the answer, and `tidewheel query explain` that of each aggregate.

`first_n`, `last_n` and `concatenate` list by the time of the records, late ones where they belong; what is of one
time, by its value. Without `time` they go by the archive's `inserted_at`, and where it has none, by the slot.

`first_n` and `last_n` keep so many values and pass over the rest. `concatenate`, `count_distinct` and
`collect_distinct` would be wrong without the rest: where one group of one window has more values than the limit, a
refresh answers the whole query no further. It names the query and ends with 2, and the answers stay as they were.
Raise the limit, or take `approx_count_distinct`."""


def query_file_reference() -> str:
    """The whole page, in Markdown."""
    sections = "".join(section_table(FORM, name) for name in FORM.sections)
    return f"{_OPENING}{sections}{_VALUES}{_aggregates()}{_EXAMPLES}"


def _aggregates() -> str:
    rows = "".join(f"| `{_call(name)}` | {_takes(maker.kinds)} |\n" for name, maker in MAKERS.items())
    refused = ", ".join(f"`{name}`" for name in HOLISTIC)
    return (
        "## Aggregates\n\nSums of whole numbers and decimals are exact, and an overflow is an error; those of floating "
        "point are within 1e-12 of the exactly rounded sum. NULL is passed over.\n\n| aggregate | takes |\n|---|---|\n"
        f"{rows}\n{_APPROXIMATE}\n\nThose that cannot be put together from parts of bounded size ({refused}) are "
        "refused: ask the records with `tidewheel sql`.\n\n"
    )


def _call(name: str) -> str:
    if name == "count_rows":
        return "count(*)"
    arguments = {"arg_min": "x, by", "arg_max": "x, by"}.get(name, "x")
    if MAKERS[name].fractional:
        return f"{name}({arguments}, fraction)"
    return f"{name}({arguments}, limit)" if MAKERS[name].limited else f"{name}({arguments})"


def _takes(kinds: tuple[ArgumentKind, ...]) -> str:
    return "anything" if len(kinds) == len(ArgumentKind) else ", ".join(kinds)
