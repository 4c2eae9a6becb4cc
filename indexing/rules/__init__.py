"""Rules that other operations decide by: audit, undo, vacuum, as-of, deadline, status, changes."""
