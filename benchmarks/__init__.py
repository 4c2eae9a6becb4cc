"""Benchmarks: every contender runs the same stream, is checked against the same oracle, and is measured alike.

    python -m benchmarks quick        under five minutes
    python -m benchmarks standard     under three quarters of an hour, 1 GB live
    python -m benchmarks full         the sizes of the thesis: 500 MB and 5 GB

1. `stream` writes one Parquet file per slot, once, from a seed; all contenders read those files.
2. `race` drives one contender: load, settle, then measured updates with probes, checks and sizes in between.
3. `store` keeps every sample in results/<profile>.json; a contender that is in there is not run again.
4. `goals` turns samples into ratios, `cost_check` holds the cost model against them, `plots` and `page` show them.
"""
