"""Operators at work over windows: one algorithm a file."""
