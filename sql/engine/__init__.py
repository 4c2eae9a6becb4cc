"""DuckDB as this room uses it: connections, quoting, statements, types."""
