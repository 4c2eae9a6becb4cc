"""The fault simulator: whole histories of an archive in memory, by the real protocol, checked by the oracle.

    world.py       what lies in the store: data files, log, checkpoints, ledger, side tables, a clock
    location.py    what the protocol of commits/ works on, in that world: the Location,
    memory.py      the Snapshot, the Table and the queue of its writers,
    side_tables.py and the side tables
    hand.py        who reads and writes data files there
    actors.py      the operations of commits/, vacuum and readers' holds, stopped where others may come between
    steps.py       random histories as plain lists of steps, of which any part can be played
    playing.py     plays steps in a world; shrinks a history that fails
    invariants.py  what must hold after every commit, vacuum and read:
                   of_content.py, of_commits.py, of_store.py, by what looking.py finds
    faults.py      one planted bug for each invariant

`python -m tests.simulate --seed 7 --steps 100000` plays; a failure prints the command that repeats it.
"""
