"""Final aggregation: one technique of the literature per file, all of them exact to their operation counts."""
