"""Answers, plans and grids as pictures."""
