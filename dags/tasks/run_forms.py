"""The forms of runs that people start by hand: what a run's configuration may hold, and nothing else."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from airflow.sdk import Param

from tidewheel.indexing.errors import InvalidInput

if TYPE_CHECKING:
    from airflow.sdk import Context

CONFIRMATIONS = ("allow_shrink", "allow_jump", "allow_future", "allow_set_aside")
_MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$"


def flag(description: str, default: bool = False) -> Param:
    return Param(default, type="boolean", description=description)


def moment_param(description: str) -> Param:
    # The format makes the form show a calendar; that it holds is checked by the pattern.
    return Param(type="string", format="date-time", pattern=_MOMENT, description=description)


def confirmation_params() -> dict[str, Param]:
    """Return the confirmations of an update's form."""
    said = {
        "allow_shrink": "Confirm batches with far fewer records than those they replace.",
        "allow_jump": "Confirm a jump that expires all that is stored.",
        "allow_future": "Confirm slots that have not ended yet.",
        "allow_set_aside": "Confirm batches of which most records are set aside.",
    }
    return {name: flag(said[name]) for name in CONFIRMATIONS}


def refuse_unknown_keys(context: Context) -> None:
    """Airflow checks the values of a run's configuration, and takes any other key without a word."""
    known = sorted(context["dag"].params)
    unknown = [str(key) for key in context["dag_run"].conf or {} if key not in known]
    if not unknown:
        return
    close = get_close_matches(unknown[0], known, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise InvalidInput(
        f"run {context['dag_run'].run_id} was given {', '.join(unknown)}, which {context['dag'].dag_id} does not know. "
        "Nothing was changed",
        f"{meant}it takes {', '.join(known)}; trigger it again",
    )
