"""Partial aggregates of batches: how they are folded from records, typed, stored and read back."""
