"""`python -m tidewheel` is the command line."""

from tidewheel.cli import main

if __name__ == "__main__":
    main(prog_name="tidewheel")
