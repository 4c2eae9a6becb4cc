"""Planners, one file each, all with one interface: a loom in, a partition of its requests out."""
