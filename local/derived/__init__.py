"""Archives that are derived of others: how they are defined, read, written, undone and removed from."""
