"""Joins of sliding windows: Golab, Waterloo 2006, chapter 5, each algorithm in a file of its own."""
