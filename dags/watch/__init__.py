"""Checks of what should have happened by now, and reports to people."""
