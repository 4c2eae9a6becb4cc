"""Structures that hold an operator's live records, each with the steps its authors count."""
