"""When periodic queries run: together or apart, in time or late."""
