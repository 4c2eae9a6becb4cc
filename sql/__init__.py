"""Read: DuckDB over the live records."""
