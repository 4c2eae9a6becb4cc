"""Decisions about standing queries: operations, fragments, techniques. Pure; README.md is the catalogue."""
