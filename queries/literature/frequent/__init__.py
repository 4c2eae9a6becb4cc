"""Frequent items of sliding windows as published, and what they are compared with."""
