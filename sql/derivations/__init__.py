"""Statements of derived archives: parsed by DuckDB, and rewritten with ends and slots."""
