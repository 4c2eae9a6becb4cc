"""Streams and archives that the races are run on."""
