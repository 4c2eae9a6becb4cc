"""The table as it lies on disk: log, state, ledger, lease."""
