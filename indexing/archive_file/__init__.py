"""The archive file: its fields, their kinds and rules, when its updates run."""
