"""How far an archive carries: logs and ledgers of up to a million files, whose data files are only named.

    python -m benchmarks scale          10^4, 10^5 and 10^6 files, and 2,000 commits in one log (a quarter of an hour)
    python -m benchmarks scale quick    10^4 files only

1. `paper` makes an archive: the log, its checkpoint and the ledger as the product writes them.
2. `steps` carries out one step in a process of its own: open, plan, probe, status, audit, expire, checkpoint.
3. `life` commits again and again into one archive: what grows with the number of commits.
4. `view` asks the SQL view that reads the log itself, over a thousand real files.
5. `report` makes docs/scale.md and its figure of results/scale.json.
"""
