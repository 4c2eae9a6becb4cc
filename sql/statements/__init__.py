"""SQL that people write: what may run, what it says, and its types."""
