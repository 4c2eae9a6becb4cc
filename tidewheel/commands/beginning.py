"""Commands before there is an archive: its file, and a shell that knows the commands."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tidewheel.commands.common import command
from tidewheel.indexing.errors import InvalidInput
from tidewheel.output import Output
from tidewheel.resolve import archives_folder

SHELLS = ("bash", "zsh", "fish")


@command
@click.argument("name")
@click.option(
    "--from",
    "sample",
    required=True,
    metavar="PATH",
    help="The batch of one slot, a file or a folder of them: Parquet, CSV or JSON.",
)
@click.option("--no-trial", is_flag=True, help="Write the draft without trying it on the sample, which takes Spark.")
def new(output: Output, name: str, sample: str, no_trial: bool) -> None:
    """Write an archive file from a sample: columns, candidates for key and expiry, how much will be alive.

    The file is written to archives/NAME.toml (or the folder $TIDEWHEEL_ARCHIVES), never over another. It passes every
    check; comments that say CHECK mark what only you can know.

    Before it is written, an update of a small archive of its own tries it on the sample. Records that would be set
    aside are counted in the file, with the rule that they break.

    \b
    Examples:
      tidewheel new flows --from data/netflow/2026-11-18T0400
    """
    from tidewheel.commits.clock import now_us
    from tidewheel.indexing.archive_file.archive_draft import TRIAL, new_archive_file
    from tidewheel.indexing.archive_file.read import parse_archive_file
    from tidewheel.indexing.archive_file.sample import guessed
    from tidewheel.jobs.process.quick_start import kept, use_quick_compiler
    from tidewheel.sql.samples import read_sample
    from tidewheel.trial import trial_lines

    target = archives_folder() / f"{name}.toml"
    path = Path(sample).expanduser().absolute()
    found = read_sample(path, os.path.relpath(path, target.absolute().parent))
    guess = guessed(found, now_us())
    draft = new_archive_file(name, found, guess)
    parse_archive_file(draft, str(target))
    _refuse_taken(target)
    trial = [TRIAL]
    if not no_trial:
        with output.working("trying the draft on the sample"), kept(os.environ):
            use_quick_compiler(os.environ, found.rows)
            trial = trial_lines(draft, str(target), path, found.rows, guess)
    text = draft.replace(TRIAL, "\n".join(trial), 1)
    _write_new(target, text)
    document = {"file": str(target), "text": text, "key_candidates": list(guess.keys), "live_rows": guess.live_rows,
                "live_bytes": guess.live_bytes, "trial": trial}  # fmt: skip
    output.show(document, lambda: f"{text}\nwritten to {target}")


def _refuse_taken(target: Path) -> None:
    """Refuse before Spark starts for nothing; the writing itself refuses once more."""
    if target.exists():
        raise _taken(target)


def _taken(target: Path) -> InvalidInput:
    return InvalidInput(f"there is an archive file {target} already", "choose another name, or move it")


def _write_new(target: Path, text: str) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                target.unlink()
                raise
    except FileExistsError:
        raise _taken(target) from None
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}", "choose another folder") from error


@command
@click.argument("shell", type=click.Choice(SHELLS))
def completion(output: Output, shell: str) -> None:
    """Print what makes a shell complete commands, options and the names of archives.

    \b
    Where it goes:
      bash   echo 'eval "$(tidewheel completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(tidewheel completion zsh)"' >> ~/.zshrc
      fish   tidewheel completion fish > ~/.config/fish/completions/tidewheel.fish

    \b
    Examples:
      tidewheel completion bash
    """
    from click.shell_completion import get_completion_class

    from tidewheel.cli import COMPLETE_VARIABLE, main

    known = get_completion_class(shell)
    assert known is not None  # of SHELLS
    source = known(main, {}, "tidewheel", COMPLETE_VARIABLE).source()
    output.show({"shell": shell, "script": source}, lambda: source)
