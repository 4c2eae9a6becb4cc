"""What every other operation decides by: audit, undo, vacuum, as-of, deadline, status, changes."""
