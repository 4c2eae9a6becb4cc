"""The fault simulator: whole histories of an archive in memory, decided by the real pure core, checked by the oracle.

    world.py       what lies in the store: data files, log, checkpoints, ledger, quarantine, a clock
    attempts.py    writers, one durable step at a time, as commits/attempt.py decides
    undoing.py     undo, one step at a time, as commits/undo.py does it
    cleaning.py    vacuum, one step at a time, as commits/vacuum.py decides
    steps.py       random histories as plain lists of steps, of which any part can be played
    playing.py     plays steps in a world; shrinks a history that fails
    invariants.py  what must hold after every commit, vacuum and read
    faults.py      one planted bug for each invariant

`python -m tests.simulate --seed 7 --steps 100000` plays; a failure prints the command that repeats it.
"""
