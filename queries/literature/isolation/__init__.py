"""Isolation of queries over windows that slide while they are read (Golab 2006, chapter 7)."""
