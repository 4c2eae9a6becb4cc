"""Partial rows in memory: those of each file, of each tree, and as a grid."""
