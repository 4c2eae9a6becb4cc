"""Models in memory, streams and histories."""
