"""Approximate counts in little space: of a window, of distinct values, of frequencies."""
