"""The fault simulator: whole histories of an archive in memory, by the real protocol, checked by the oracle.

    world.py       what lies in the store: data files, log, checkpoints, ledger, quarantine, a clock
    memory.py      what the protocol of commits/ works on, in that world: Location, Snapshot, Table
    quarantine.py  the side table in it
    hand.py        who reads and writes data files there
    actors.py      update, expire, forget, migrate, undo and vacuum of commits/, stopped where others may come between
    steps.py       random histories as plain lists of steps, of which any part can be played
    playing.py     plays steps in a world; shrinks a history that fails
    invariants.py  what must hold after every commit, vacuum and read
    faults.py      one planted bug for each invariant

`python -m tests.simulate --seed 7 --steps 100000` plays; a failure prints the command that repeats it.
"""
