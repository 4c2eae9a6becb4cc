"""Decide: the pure core, standard library only."""
