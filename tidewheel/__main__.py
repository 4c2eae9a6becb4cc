"""The program `tidewheel`, which is also `python -m tidewheel`."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # as tidewheel.output says it, which is not there yet


def run() -> None:
    """The command line; interrupted where it is not yet there, or is there no more, it ends without a traceback."""
    try:
        from tidewheel.cli import main

        main(prog_name="tidewheel")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
