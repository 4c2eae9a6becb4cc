"""An archive file to begin with, made from a sample: it passes every check, and its comments say what to decide."""

from __future__ import annotations

from tidewheel.indexing.archive_file.sample import Guess, Sample, nice_duration, spark_name
from tidewheel.indexing.durations import duration_text, parse_duration
from tidewheel.indexing.errors import InvalidInput
from tidewheel.indexing.printable import counted, printable
from tidewheel.indexing.toml.kinds import NAME
from tidewheel.indexing.toml.text import toml_text

REFERENCE = "docs/archive-file.md"
# Below this much an update rewrites everything in a moment, and probes open one file.
_SMALL_BYTES = 64 * 2**20
# Where a trial of the draft on its sample writes what it found.
TRIAL = "# (not tried)"


def new_archive_file(name: str, sample: Sample, guess: Guess) -> str:
    """Return the text of the file."""
    NAME.check(name)
    if not guess.keys:
        raise InvalidInput(
            f"no column of {sample.path} could be a key: a whole number or a text that is there in nearly all "
            "records, and not the same in all of them",
            "write the archive file by hand; docs/archive-file.md names its keys",
        )
    return f"""\
# The archive {name}, drafted from {printable(sample.path)}: {counted(sample.rows, "record")}.
# Columns: {", ".join(f"{column.name} {column.type or '(no type)'}" for column in sample.columns)}
# Every key of this file is explained in {REFERENCE}. Look at what says CHECK, then: {_first_command(name, sample)}
{TRIAL}

[archive]
name = {toml_text(name)}
path = {toml_text(f"../data/archives/{name}")}
{_key_text(guess)}
{_life_text(guess)}{_clock_text(guess)}

[time]
# A slot is what one run brings; it can never change in place.
interval = {toml_text(guess.interval)}
# Records that want to live longer are set aside ([policy] too_long can cap them). {_longest_text(guess)}
max_lifetime = {toml_text(nice_duration(max(guess.longest_us, parse_duration(guess.interval))))}

# Alive at any time, if every slot is like the sample: about {counted(guess.live_rows, "record")}, {_size_text(guess)}.
# `tidewheel advise {name}` compares strategies and numbers of classes for such a stream.
[layout]
strategy = "expire_rebuild"
expiration_classes = {1 if guess.live_bytes < _SMALL_BYTES else 4}

[source]
{_source_text(sample, guess)}
"""


def _first_command(name: str, sample: Sample) -> str:
    """Return the command that creates the archive. Parquet files hold their own columns: it reads one slot's."""
    return f"tidewheel init {name}" + (" --slot START, of a slot that has data" if sample.format == "parquet" else "")


def _key_text(guess: Guess) -> str:
    first, *others = guess.keys
    said = [f"#   {name}: {guess.said[name]}" for name in (first, *others[:4])]
    opening = "# CHECK: what probes ask for; records lie sorted by it. Candidates, the likeliest first:"
    return "\n".join([opening, *said, f"key = {toml_text([first])}"])


def _life_text(guess: Guess) -> str:
    begins = guess.inserted_at
    lines = ["# CHECK: when a record came to be" + _because(guess, "inserted_at")]
    lines.append(f"inserted_at = {toml_text(begins)}" if begins else '# inserted_at = "..."   # none: the slot began')
    if guess.is_measured:
        lines.append("# CHECK: from when on nobody may see it" + _because(guess, "expires_at"))
        lines.append(f"expires_at = {toml_text(guess.expires_at)}")
    else:
        lines.append("# CHECK: no column ends after its record began; a fixed life, or an expression such as")
        lines.append("#   flow_start + CASE plan WHEN 'free' THEN INTERVAL '10' MINUTE ELSE INTERVAL '3' HOUR END")
        lines.append(f"expires_at = {toml_text(_fixed_life(guess))}")
    return "\n".join(lines)


def _clock_text(guess: Guess) -> str:
    if not guess.is_history:
        return ""
    return (
        "\n# CHECK: the sample lies far back, so the end of what was applied is the present. For a stream that goes on:"
        '\n# clock = "wall"\nclock = "data"'
    )


def _fixed_life(guess: Guess) -> str:
    return f"{guess.inserted_at or 'timestamp_column'} + INTERVAL '{guess.mean_us // parse_duration('1d')}' DAY"


def _because(guess: Guess, setting: str) -> str:
    return f"; {guess.said[setting]}." if setting in guess.said else "."


def _longest_text(guess: Guess) -> str:
    if not guess.is_measured:
        return "Assumed."
    return f"In the sample: {duration_text(guess.mean_us)} on average, at most {duration_text(guess.longest_us)}."


def _size_text(guess: Guess) -> str:
    mb = guess.live_bytes / 2**20
    return f"{mb:,.0f} MiB" if mb >= 1 else f"{guess.live_bytes / 1024:,.0f} KiB"


def _source_text(sample: Sample, guess: Guess) -> str:
    lines = [*_path_lines(sample, guess), f"format = {toml_text(sample.format)}"]
    if sample.format != "parquet":
        lines += _schema_lines(sample)
    if sample.renames:
        lines.append("# The archive has columns of these names itself, or cannot have such names.")
        lines.append(f"rename = {toml_text(dict(sample.renames))}")
    if sample.options:
        lines.append(f"options = {toml_text(dict(sample.options))}")
    return "\n".join(lines)


def _path_lines(sample: Sample, guess: Guess) -> list[str]:
    if guess.path:
        return [f"# The path of each slot's batch, {guess.said['path']}.", f"path = {toml_text(guess.path)}"]
    folder, _, file = sample.path.rpartition("/")
    end = f".{file.partition('.')[2]}" if "." in file else ""
    template = f"{folder or '.'}/{{start:%Y-%m-%dT%H%M}}{end}"
    return [
        "# CHECK: the path of each slot's batch; the sample's name does not say which slot it is.",
        f"path = {toml_text(template)}",
    ]


def _schema_lines(sample: Sample) -> list[str]:
    given = {new: old for old, new in sample.renames.items()}
    typed = [f"{spark_name(given.get(one.name, one.name))} {one.type}" for one in sample.columns if one.type]
    untyped = ", ".join(one.name for one in sample.columns if not one.type)
    check = f"# CHECK: the schema has no type for {printable(untyped)}, which would be left out."
    return [*([check] if untyped else []), f"schema = {toml_text(', '.join(typed))}"]
